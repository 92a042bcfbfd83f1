import { mkdirSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';

const MEMORY = '/dev/shm';
/** What the databases, engines and stacks of a run hold at one time, several times over. */
const ROOM_BYTES = 4 * 2 ** 30;
const NAME = /^gate-tests-(\d+)$/;

/**
 * A folder in memory for what the tests of this run write, or `null` where the machine has none that large. Each commit of a store is synced,
 * and on a disk tests wait for that longer than for anything else. A crash of a process loses nothing there; only one of the machine would,
 * and no test can cause that.
 */
export function folderInMemory() {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    if (bavail * bsize < ROOM_BYTES || !runsPrograms()) return null;
    for (const name of readdirSync(MEMORY)) if (isLeft(name)) rmSync(`${MEMORY}/${name}`, { recursive: true });
    const folder = `${MEMORY}/gate-tests-${process.pid}`;
    // Postgres has its folders there as another user.
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
    return folder;
  } catch {
    return null;
  }
}

/** Some tests run programs that they wrote. */
const runsPrograms = () =>
  readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .some(([, at, , options = '']) => at === MEMORY && !options.split(',').includes('noexec'));

/** The folder of a run that was killed. */
function isLeft(name) {
  const pid = Number(NAME.exec(name)?.[1]);
  if (!pid) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch ({ code }) {
    return code === 'ESRCH';
  }
}
