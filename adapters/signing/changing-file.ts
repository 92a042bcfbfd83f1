import { readFile, stat } from 'node:fs/promises';

/** A file that is read again when it is another one: whoever renews what it holds replaces it. */
export function changingFile(path: string): () => Promise<{ readonly version: string; readonly text: string }> {
  let kept: { readonly version: string; readonly text: string } | null = null;
  return async () => {
    const { ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    const version = [ino, size, mtimeNs, ctimeNs].join(' ');
    if (kept?.version !== version) kept = { version, text: await readFile(path, 'utf8') };
    return kept;
  };
}
