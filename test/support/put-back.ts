import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { backup, DatabaseSync } from '@photostructure/sqlite';

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

/** The same while the store is in use, as its owner's backup makes it. */
export async function backupOfStore(folder: string, name: string): Promise<{ putBack: () => void }> {
  const elsewhere = join(folder, 'backup');
  mkdirSync(elsewhere);
  const store = new DatabaseSync(join(folder, name), { readOnly: true });
  try {
    await backup(store, join(elsewhere, name));
  } finally {
    store.close();
  }
  return {
    putBack() {
      for (const file of readdirSync(folder))
        if (file === name || file.startsWith(`${name}-`)) rmSync(join(folder, file));
      cpSync(join(elsewhere, name), join(folder, name));
    },
  };
}
