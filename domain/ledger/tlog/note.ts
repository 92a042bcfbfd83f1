import { createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto';
import { type HeldKey, heldKey } from '../../identity/held-key.js';

/** Signature types of C2SP signed-note: an Ed25519 signature over the text, and a witness's timestamped cosignature. */
const TYPES = { ed25519: 0x01, cosignature: 0x04 } as const;
type SignatureType = keyof typeof TYPES;

/** A key that verifies notes: a "vkey" of C2SP signed-note. */
export interface NoteKey {
  readonly name: string;
  /** 8 hex digits. */
  readonly id: string;
  readonly type: SignatureType;
  readonly key: KeyObject;
}

/** A parsed note: text that ends in a line feed, and signature lines that are not verified yet. */
export interface Note {
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}
export interface NoteSignature {
  readonly name: string;
  readonly id: string;
  /** The bytes after the key id. */
  readonly bytes: Buffer;
  /** The line without its line feed. */
  readonly line: string;
}

/** Far above what a log with a dozen witnesses needs. Limits the work that a stranger's note can cause. */
const MAX_NOTE_BYTES = 65_536;
const MAX_SIGNATURES = 64;
const KEY_NAME = /^[^\s+\p{Cc}]{1,255}$/u;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Decodes standard base64 in its only canonical spelling; `null` for anything else. */
export function decodeBase64(text: string): Buffer | null {
  if (!BASE64.test(text)) return null;
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
}

/** The first four bytes of SHA-256 over name, line feed, type and public key, as hex. */
const keyIdOf = (name: string, type: SignatureType, publicKey: Uint8Array): string =>
  hash('sha256', Buffer.concat([Buffer.from(`${name}\n`, 'utf8'), Buffer.of(TYPES[type]), publicKey]), 'hex').slice(
    0,
    8,
  );

const rawPublicKey = (key: KeyObject): Buffer => {
  const { x } = createPublicKey(key.export({ type: 'spki', format: 'pem' })).export({ format: 'jwk' });
  return Buffer.from(x ?? '', 'base64url');
};

/** An Ed25519 public key under a name. Throws on names that signed notes do not allow, and on other kinds of keys. */
export function noteKey(name: string, publicKey: KeyObject, type: SignatureType = 'ed25519'): NoteKey {
  if (!KEY_NAME.test(name)) throw new Error(`not a key name: "${name}" (no spaces, no +)`);
  if (publicKey.asymmetricKeyType !== 'ed25519' || publicKey.type !== 'public')
    throw new Error(`the key of ${name} is not an Ed25519 public key`);
  return { name, id: keyIdOf(name, type, rawPublicKey(publicKey)), type, key: publicKey };
}

/** `<name>+<8 hex>+<base64>` of C2SP signed-note. */
export const formatVkey = ({ name, id, type, key }: NoteKey): string =>
  `${name}+${id}+${Buffer.concat([Buffer.of(TYPES[type]), rawPublicKey(key)]).toString('base64')}`;

/** Parses a vkey of either type. Throws with what is wrong. */
export function parseVkey(text: string): NoteKey {
  const [name, id, encoded, ...more] = text.trim().split('+');
  // The base64 part may contain `+` itself.
  const bytes = decodeBase64([encoded ?? '', ...more].join('+'));
  if (name === undefined || id === undefined || bytes === null || bytes.length !== 33)
    // Never quoted: what is given by mistake may be a secret.
    throw new Error(
      text.includes('PRIVATE KEY')
        ? 'not a verifier key (name+8 hex digits+base64) but a private key, which signs and does not verify'
        : 'not a verifier key (name+8 hex digits+base64)',
    );
  const type = (Object.keys(TYPES) as SignatureType[]).find((candidate) => TYPES[candidate] === bytes[0]);
  if (type === undefined) throw new Error(`the key of ${name} has signature type ${bytes[0]}; 1 and 4 are known`);
  const key = createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: bytes.subarray(1).toString('base64url') },
    format: 'jwk',
  });
  const read = noteKey(name, key, type);
  if (read.id !== id) throw new Error(`the key id of ${name} is ${read.id}, not ${id}`);
  return read;
}

/** Splits a note into text and signatures. Throws on anything but a signed note. Does not verify signatures. */
export function parseNote(note: string): Note {
  if (Buffer.byteLength(note) > MAX_NOTE_BYTES) throw new Error('the note is too large');
  const at = note.lastIndexOf('\n\n');
  // Control characters other than the line feed are forbidden, and the text must be UTF-8.
  if (at < 0 || !note.endsWith('\n') || /[^\P{Cc}\n\x7f-\x9f]/u.test(note) || !note.isWellFormed())
    throw new Error('not a signed note');
  const lines = note.slice(at + 2, -1).split('\n');
  if (lines.length > MAX_SIGNATURES) throw new Error('the note has too many signatures');
  return { text: note.slice(0, at + 1), signatures: lines.map(parseSignature) };
}

function parseSignature(line: string): NoteSignature {
  const match = /^\u2014 (\S+) (\S+)$/u.exec(line);
  const [, name, encoded] = match ?? [];
  const bytes = encoded === undefined ? null : decodeBase64(encoded);
  if (name === undefined || bytes === null || bytes.length < 5 || !KEY_NAME.test(name))
    throw new Error('a signature line is malformed');
  return { name, id: bytes.toString('hex', 0, 4), bytes: bytes.subarray(4), line };
}

const signatureLine = (name: string, id: string, signature: Uint8Array): string =>
  `\u2014 ${name} ${Buffer.concat([Buffer.from(id, 'hex'), signature]).toString('base64')}`;

/** A note with one Ed25519 signature (C2SP signed-note). `text` must end in a line feed. */
export async function signNote(text: string, name: string, privateKey: KeyObject | HeldKey): Promise<string> {
  const held = heldKey(privateKey);
  const signature = await held.sign(Buffer.from(text, 'utf8'));
  return `${text}\n${signatureLine(name, noteKey(name, held.publicKey).id, signature)}\n`;
}

const cosigned = (text: string, seconds: bigint): Buffer =>
  Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`, 'utf8');

/** A witness's signature line for a checkpoint (C2SP tlog-cosignature, Ed25519). `seconds` is the Unix time of signing. */
export function cosign(text: string, name: string, privateKey: KeyObject, seconds: number): string {
  const stamp = Buffer.alloc(8);
  stamp.writeBigUInt64BE(BigInt(seconds));
  const { id } = noteKey(name, createPublicKey(privateKey), 'cosignature');
  return signatureLine(name, id, Buffer.concat([stamp, sign(null, cosigned(text, BigInt(seconds)), privateKey)]));
}

/** A verified signature: its key and, for a cosignature, its time. */
export interface VerifiedSignature {
  readonly key: NoteKey;
  readonly line: string;
  /** Unix time in seconds; `null` for a plain signature. */
  readonly time: number | null;
}

/**
 * The signatures of known keys, all of which verify. Lines of unknown keys are ignored, as the format demands. When a signature of a known
 * key does not verify, it throws and names the key.
 */
export function verifiedSignatures({ text, signatures }: Note, keys: readonly NoteKey[]): VerifiedSignature[] {
  return signatures.flatMap(({ name, id, bytes, line }) => {
    const key = keys.find((candidate) => candidate.name === name && candidate.id === id);
    if (!key) return [];
    const time = key.type === 'cosignature' ? timeOf(bytes) : null;
    const holds =
      key.type === 'ed25519'
        ? bytes.length === 64 && verify(null, Buffer.from(text, 'utf8'), key.key, bytes)
        : time !== null && verify(null, cosigned(text, BigInt(time)), key.key, bytes.subarray(8));
    if (!holds) throw new Error(`the signature of ${name} does not hold`);
    return [{ key, line, time }];
  });
}

/** Who signed a note beside its author, with the times they say. Nothing is verified: for a note of somebody who keeps verified lines alone. */
export const namedWitnesses = (
  { signatures }: Note,
  author: string,
): { readonly name: string; readonly time: number }[] =>
  signatures.flatMap(({ name, bytes }) => {
    const time = name === author ? null : timeOf(bytes);
    return time === null ? [] : [{ name, time }];
  });

function timeOf(bytes: Buffer): number | null {
  if (bytes.length !== 72) return null;
  const seconds = bytes.readBigUInt64BE();
  return seconds <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(seconds) : null;
}
