import { readFile, stat } from 'node:fs/promises';
import type { KeySetSource } from '../../../domain/ledger/signatures/key-set.js';

/**
 * The key set in a file that identity's operator keeps up to date. While the file does not change, the same object is returned, so that it
 * is parsed and checked only once. Throws when the file cannot be read or is not JSON.
 */
export function keySetFile(path: string): KeySetSource {
  let kept: { readonly version: string; readonly document: unknown } | null = null;
  return async () => {
    const { ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    const version = [ino, size, mtimeNs, ctimeNs].join(' ');
    // The file's times are read before its content, so a change in between is noticed at the next call.
    if (kept?.version !== version) kept = { version, document: JSON.parse(await readFile(path, 'utf8')) as unknown };
    return kept.document;
  };
}
