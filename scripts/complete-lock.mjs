#!/usr/bin/env node
/**
 * Completes package-lock.json after `npm install`: native packages of other platforms that the registry in use could not look up get an
 * entry with their exact version and platform. Without them `npm ci` refuses the lock file; with them it skips what is not for this
 * machine. Run by `npm run lock`; running it again changes nothing.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const file = new URL('../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(file, 'utf8'));
const SYSTEMS = ['android', 'darwin', 'linux', 'win32', 'freebsd', 'netbsd', 'openbsd', 'sunos', 'aix', 'openharmony'];
const PROCESSORS = ['arm64', 'x64', 'ia32', 'ppc64', 's390x', 'riscv64', 'loong64', 'arm', 'wasm32'];

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
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
process.stdout.write(`package-lock.json: ${added} platform packages added\n`);
