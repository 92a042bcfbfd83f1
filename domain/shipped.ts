import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A file or folder that ships with Gate, by its path in the project, whether this runs from the sources, from `dist` or from the executable. */
export function shippedPath(...path: readonly string[]): string {
  let folder = fileURLToPath(new URL('.', import.meta.url));
  while (!existsSync(join(folder, ...path))) {
    const parent = join(folder, '..');
    if (parent === folder) throw new Error(`${join(...path)}, which ships with Gate, was not found above this file`);
    folder = parent;
  }
  return join(folder, ...path);
}
