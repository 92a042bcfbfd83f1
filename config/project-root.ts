import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of package.json, whether this runs from the sources or from `dist`. */
export const PROJECT_ROOT: string = (() => {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) {
    if (folder === dirname(folder)) throw new Error('package.json was not found in any folder above this file');
    folder = dirname(folder);
  }
  return folder;
})();
