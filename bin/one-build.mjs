import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** A build on a slow machine takes minutes. */
const LONGEST_MS = 1_800_000;

/**
 * Runs `build` when no other process builds in this folder: two first starts would write over one another's files. The lock is one of SQLite, which
 * the system lets go when its holder ends in whatever way. Who waits is told so.
 */
export async function oneBuildAtATime(build, root = ROOT) {
  const { DatabaseSync } = await import('@photostructure/sqlite');
  mkdirSync(`${root}/.cache`, { recursive: true });
  const lock = new DatabaseSync(`${root}/.cache/build.lock`);
  try {
    const take = (ms) => lock.exec(`PRAGMA busy_timeout = ${ms}; BEGIN EXCLUSIVE`);
    try {
      take(0);
    } catch (error) {
      if (!/locked/.test(error.message)) throw error;
      process.stderr.write('gate: waiting for another start, which is building in this folder …\n');
      take(LONGEST_MS);
    }
    return build();
  } finally {
    lock.close();
  }
}
