import { cpSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** The files of a SQLite store of this name, while nobody has it open: a copy that can be put in their place. */
export function copyOfStore(folder: string, name: string): { putBack: () => void } {
  const mine = (): string[] => readdirSync(folder).filter((file) => file === name || file.startsWith(`${name}-`));
  const copy = join(folder, 'copy');
  for (const file of mine()) cpSync(join(folder, file), join(copy, file));
  return {
    putBack() {
      for (const file of mine()) rmSync(join(folder, file));
      for (const file of readdirSync(copy)) cpSync(join(copy, file), join(folder, file));
    },
  };
}
