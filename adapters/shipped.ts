import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Finds a file or folder that ships with Gate by its path in the project. Works from the sources, from `dist` and in the executable. */
export function shippedPath(...path: readonly string[]): string {
  let folder = fileURLToPath(new URL('.', import.meta.url));
  while (!existsSync(join(folder, ...path))) {
    const parent = join(folder, '..');
    if (parent === folder) throw new Error(`${join(...path)}, which ships with Gate, was not found above this file`);
    folder = parent;
  }
  return join(folder, ...path);
}
