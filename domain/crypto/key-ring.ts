import { createCipheriv, createDecipheriv, createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';

/**
 * Encryption at rest with AES-256-GCM (NIST SP 800-38D) and key ids. The first key seals and every key opens, so a key is rotated by adding
 * a new one at the start. Layout of a sealed value: 0x01, length of the key id, key id, 12-byte nonce, ciphertext, 16-byte tag.
 */
export interface KeyRing {
  readonly activeKeyId: string;
  /** `context` is authenticated but not stored: a value sealed for one row cannot be opened for another. */
  seal(plaintext: Uint8Array | string, context: string): Buffer;
  /** Throws when the key is unknown, the context differs, or the sealed value was changed. */
  open(sealed: Uint8Array, context: string): Buffer;
  /**
   * A tag over data that stays in clear text: the id of the active key, a colon, and HMAC-SHA-256 (RFC 2104) in hex. Each `use` has its own
   * derived key, so a tag made for one use is never accepted for another.
   */
  authenticate(message: string, use: string): string;
  /** Whether a key of this ring made the tag for this message. Throws when the ring lacks the key that the tag names. */
  authentic(tag: string, message: string, use: string): boolean;
  /**
   * Makes digests by which equal texts are found again and nothing is read: SHA-256 in base64 over a key derived for this use, and the text.
   * Cut it, so that nobody can go on from it. `null` where the ring lacks the key.
   */
  digesting(use: string, keyId: string): ((text: string) => string) | null;
}

/** Parses `id:64hex[,id:64hex…]`, where ids match `[A-Za-z0-9._-]{1,32}`. The error says what is wrong and never contains a key. */
export function parseKeyRing(text: string): KeyRing {
  const keys = new Map<string, Buffer>();
  for (const entry of text.split(',')) {
    const match = /^\s*([A-Za-z0-9._-]{1,32}):([0-9a-fA-F]{64})\s*$/.exec(entry);
    if (!match) throw new Error('a key is written id:64 hex digits, several separated by commas');
    const [, id, hex] = match as unknown as [string, string, string];
    if (/^(..)\1{31}$/.test(hex)) throw new Error(`key ${id} is a placeholder (one byte repeated)`);
    if (keys.has(id)) throw new Error(`key id ${id} appears twice`);
    keys.set(id, Buffer.from(hex, 'hex'));
  }
  return keyRing(keys);
}

const NONCE_BYTES = 12;
let nonces = Buffer.alloc(0);
let nextAt = 0;

/** Random bytes that are used only once, fetched from the system for 256 nonces at a time. */
function nextNonce(): Buffer {
  if (nextAt === nonces.length) {
    nonces = randomBytes(NONCE_BYTES * 256);
    nextAt = 0;
  }
  nextAt += NONCE_BYTES;
  return nonces.subarray(nextAt - NONCE_BYTES, nextAt);
}

const material = new WeakMap<KeyRing, ReadonlyMap<string, Buffer>>();

/** The raw keys of a ring, so that a thread of this process can rebuild the ring. Pass them nowhere else. */
export const keysOf = (ring: KeyRing): ReadonlyMap<string, Buffer> => {
  const keys = material.get(ring);
  if (!keys) throw new Error('this key ring was not made here');
  return keys;
};

/** A ring of raw 32-byte keys. The first entry of the map is the active key. */
export function keyRing(keys: ReadonlyMap<string, Buffer>): KeyRing {
  const [first] = keys;
  if (!first) throw new Error('a key ring needs at least one key');
  const [activeKeyId, activeKey] = first;
  const derived = new Map<string, Buffer>();
  /** One key per use, derived by a PRF keyed with the secret (as in NIST SP 800-108). */
  const keyFor = (id: string, key: Buffer, use: string): Buffer => {
    const name = `${id}/${use}`;
    const known = derived.get(name) ?? createHmac('sha256', key).update(`gate.mac/${use}`).digest();
    derived.set(name, known);
    return known;
  };
  const header = Buffer.concat([Buffer.from([1, activeKeyId.length]), Buffer.from(activeKeyId, 'latin1')]);
  const ring: KeyRing = {
    activeKeyId,
    seal(plaintext, context) {
      const nonce = nextNonce();
      const cipher = createCipheriv('aes-256-gcm', activeKey, nonce).setAAD(Buffer.from(context, 'utf8'));
      const body = typeof plaintext === 'string' ? cipher.update(plaintext, 'utf8') : cipher.update(plaintext);
      return Buffer.concat([header, nonce, body, cipher.final(), cipher.getAuthTag()]);
    },
    open(sealed, context) {
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
      const idLength = bytes[1] ?? 0;
      if (bytes[0] !== 1 || bytes.length < 2 + idLength + 12 + 16) throw new Error('not a sealed value');
      const id = bytes.toString('latin1', 2, 2 + idLength);
      const key = keys.get(id);
      if (!key) throw new Error(`no key ${id} in this ring`);
      const nonce = bytes.subarray(2 + idLength, 2 + idLength + 12);
      const decipher = createDecipheriv('aes-256-gcm', key, nonce)
        .setAAD(Buffer.from(context, 'utf8'))
        .setAuthTag(bytes.subarray(bytes.length - 16));
      const plaintext = decipher.update(bytes.subarray(2 + idLength + 12, bytes.length - 16));
      // Throws unless the tag is valid. `update` has already returned the whole plaintext, because a stream cipher holds nothing back.
      decipher.final();
      return plaintext;
    },
    authenticate: (message, use) =>
      `${activeKeyId}:${createHmac('sha256', keyFor(activeKeyId, activeKey, use))
        .update(message)
        .digest('hex')}`,
    authentic(tag, message, use) {
      const [id, hex, more] = tag.split(':');
      if (id === undefined || hex === undefined || more !== undefined || !/^[0-9a-f]{64}$/.test(hex)) return false;
      const key = keys.get(id);
      if (!key) throw new Error(`no key ${id} in this ring`);
      const expected = createHmac('sha256', keyFor(id, key, use))
        .update(message)
        .digest();
      return timingSafeEqual(expected, Buffer.from(hex, 'hex'));
    },
    digesting(use, id) {
      const key = keys.get(id);
      if (!key) return null;
      const prefix = keyFor(id, key, use).toString('hex');
      return (text) => hash('sha256', prefix + text, 'base64');
    },
  };
  material.set(ring, keys);
  return ring;
}
