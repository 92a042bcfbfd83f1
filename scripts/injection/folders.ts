import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** The packages in a `node_modules` folder, those of scopes as `@scope/name`. */
export async function foldersIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!entry.isDirectory() || entry.name.startsWith('.')) continue;
    if (!entry.name.startsWith('@')) found.push(entry.name);
    else for (const inner of await readdir(join(folder, entry.name))) found.push(`${entry.name}/${inner}`);
  }
  return found.toSorted();
}
