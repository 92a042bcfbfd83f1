import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { getAsset, getRawAsset } from 'node:sea';
import { pathToFileURL } from 'node:url';
import { PROGRAM_FOLDER } from '../../adapters/threads/program-folder.js';
import { INDEX_ASSET } from './layout.js';

/**
 * Runs before everything else in the executable. Programs want files: the rules and personas are read, the database is a native library.
 * They are written to a folder of this start that nobody else may enter, and removed when the process ends; what looks for its files
 * beside itself is told that it lies there.
 */
const folder = mkdtempSync(join(tmpdir(), 'gate-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const name of JSON.parse(getAsset(INDEX_ASSET, 'utf8')) as string[]) {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, Buffer.from(getRawAsset(name) as ArrayBuffer));
}
(globalThis as { GATE_MODULE_URL?: string }).GATE_MODULE_URL = pathToFileURL(
  join(folder, PROGRAM_FOLDER, 'program.js'),
).href;
