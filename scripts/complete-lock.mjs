#!/usr/bin/env node
/**
 * Completes package-lock.json after `npm install`: native packages of other platforms that the registry in use could not look up get an
 * entry with their exact version and platform. Without them `npm ci` refuses the lock file; with them it skips what is not for this
 * machine. Run by `npm run lock`; running it again changes nothing.
 *
 * Such an entry has no hash, so whoever installs it takes the registry's word. That is refused for what Gate is built and run
 * with on Linux with glibc: there every package is checked against the lock file, or the lock file is not written. Entries
 * without a hash are dropped first (`--forget`, before npm), so that a registry that has the package gives its hash.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const forget = process.argv.includes('--forget');
const file =
  process.argv.slice(2).find((argument) => !argument.startsWith('--')) ??
  new URL('../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(file, 'utf8'));
const SYSTEMS = ['android', 'darwin', 'linux', 'win32', 'freebsd', 'netbsd', 'openbsd', 'sunos', 'aix', 'openharmony'];
const PROCESSORS = ['arm64', 'x64', 'ia32', 'ppc64', 's390x', 'riscv64', 'loong64', 'arm', 'wasm32'];

const write = () => writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
/** Whether it is installed where Gate is built (Linux with glibc, x64) or run (also arm64, without what only tests need). */
const installed = ({ os, cpu, libc, dev }) =>
  (!os || os.includes('linux')) &&
  (!libc || libc.includes('glibc')) &&
  (!cpu || cpu.includes('x64') || (cpu.includes('arm64') && !dev));
/** What is not under node_modules is of this repository: the project itself, and its workspaces. */
const unproved = () =>
  Object.entries(lock.packages).filter(
    ([where, entry]) => where.includes('node_modules/') && !entry.link && !entry.integrity,
  );

if (forget) {
  for (const [where] of unproved()) delete lock.packages[where];
  write();
  process.exit(0);
}

let added = 0;
for (const [where, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(where === '' ? {} : (entry.optionalDependencies ?? {}))) {
    if (lock.packages[`${where}/node_modules/${name}`] || lock.packages[`node_modules/${name}`]) continue;
    const parts = name.split('/').pop().split('-');
    const os = SYSTEMS.find((system) => parts.includes(system));
    const cpu = PROCESSORS.find((processor) => parts.includes(processor));
    const libc = parts.some((part) => part.startsWith('musl'))
      ? 'musl'
      : os === 'linux' && parts.some((part) => part.startsWith('gnu'))
        ? 'glibc'
        : null;
    if (!/^\d+\.\d+\.\d+/.test(version) || (!os && cpu !== 'wasm32')) continue;
    lock.packages[`node_modules/${name}`] = {
      version,
      ...(cpu && { cpu: [cpu] }),
      ...(entry.dev && { dev: true }),
      ...(libc && { libc: [libc] }),
      optional: true,
      ...(os && { os: [os] }),
    };
    added += 1;
  }
}
const refused = unproved().filter(([, entry]) => !entry.optional || installed(entry));
if (refused.length > 0) {
  process.stderr.write(
    `package-lock.json is left as it was: no integrity for ${refused.map(([where, { version }]) => `${where}@${version}`).join(', ')}.\n` +
      'Gate is installed with these. Lock against a registry that serves them, then run `npm run lock` again.\n',
  );
  process.exit(1);
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
write();
process.stdout.write(`package-lock.json: ${added} platform packages added, without integrity\n`);
