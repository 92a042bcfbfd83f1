import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { encodeHistory, type RecordedHistory } from './histories.js';

/** Where recordings go. Each `file` is a path from the root. */
export interface Recordings {
  /**
   * Writes a history where none is recorded. One that is there is the proof that calls of its Gate go on, so it stays, unless it was named to
   * be replaced.
   */
  keep(file: string, history: RecordedHistory): void;
}

/** Throws where a file that is to be replaced is not there: a name that is mistyped would replace nothing. */
export function openRecordings(root: string, replaced: readonly string[], say: (line: string) => void): Recordings {
  const strange = replaced.find((file) => !file.endsWith('.pb') || !existsSync(join(root, file)));
  if (strange !== undefined)
    throw new Error(`--replace ${strange}: no such recording; name one by its path, workflows/…/histories/….pb`);
  return {
    keep(file, history) {
      const path = join(root, file);
      const anew = replaced.includes(file);
      mkdirSync(dirname(path), { recursive: true });
      try {
        writeFileSync(path, encodeHistory(history), { flag: anew ? 'w' : 'wx' });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        say(`kept ${file}, which was recorded before; --replace ${file} writes it anew`);
        return;
      }
      say(`${anew ? 'replaced' : 'recorded'} ${file}: ${history.events?.length ?? 0} events`);
    },
  };
}
