import { readFile, stat } from 'node:fs/promises';
import type { KeySetSource } from './key-set.js';

/**
 * The key set in a file that identity's operator keeps fresh. A file that did not change gives the very same document, so that nobody
 * parses and checks it again for each row. Throws when it cannot be read or is no JSON.
 */
export function keySetFile(path: string): KeySetSource {
  let kept: { readonly version: string; readonly document: unknown } | null = null;
  return async () => {
    const { ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    const version = [ino, size, mtimeNs, ctimeNs].join(' ');
    // The time is read before the content, so that a change in between is noticed next time.
    if (kept?.version !== version) kept = { version, document: JSON.parse(await readFile(path, 'utf8')) as unknown };
    return kept.document;
  };
}
