import type { KeyObject } from 'node:crypto';
import { HASH_BYTES } from './merkle.js';
import type { HeldKey } from '../../identity/held-key.js';
import { decodeBase64, type Note, parseNote, signNote } from './note.js';

/** The tree at one size; the content of a checkpoint (C2SP tlog-checkpoint). */
export interface TreeHead {
  /** The log's identity, which is also the name of its key. */
  readonly origin: string;
  readonly size: number;
  readonly root: Buffer;
}
export interface Checkpoint extends TreeHead {
  readonly note: Note;
}

/** The three lines that are signed. */
const checkpointText = ({ origin, size, root }: TreeHead): string => `${origin}\n${size}\n${root.toString('base64')}\n`;

/** A checkpoint signed by the log under its origin. */
export const signCheckpoint = (head: TreeHead, privateKey: KeyObject | HeldKey): Promise<string> =>
  signNote(checkpointText(head), head.origin, privateKey);

/** Parses a checkpoint without checking its signatures. Throws on anything else, also on extension lines, because Gate writes none. */
export function parseCheckpoint(text: string): Checkpoint {
  const note = parseNote(text);
  const [origin, size, encoded, end, ...more] = note.text.split('\n');
  const root = decodeBase64(encoded ?? '');
  if (!origin || !/^(?:0|[1-9][0-9]{0,15})$/.test(size ?? '') || root?.length !== HASH_BYTES)
    throw new Error('not a checkpoint');
  if (end !== '' || more.length > 0)
    throw new Error('the checkpoint has extension lines, which nothing here vouches for');
  if (!Number.isSafeInteger(Number(size))) throw new Error('the tree size is too large');
  return { origin, size: Number(size), root, note };
}
