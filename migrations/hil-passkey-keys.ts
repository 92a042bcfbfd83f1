import { createHash, createPublicKey } from 'node:crypto';
import { sql, type Kysely, type Migration } from 'kysely';
import { dialectOf, hasColumn } from './dialect.js';

interface Row {
  readonly credential_id: string;
  readonly public_key: string;
}

/**
 * 0023: one key is one person, in whatever encoding: the SHA-256 of a passkey's key in its one usual form (SubjectPublicKeyInfo, DER) under a
 * unique index; before, the bytes of COSE were compared, which can be put in another order. Of two rows with one key the later one goes: its
 * person has another passkey, or is let in again by another operator (recovery). A row whose key cannot be read verified nothing before and
 * stays as it is, without a digest. Adds a column and reads the passkeys, a few for each approver.
 */
export const passkeyKeys: Migration = {
  async up(db: Kysely<unknown>) {
    if (!(await hasColumn(db, 'passkeys', 'key_sha256')))
      await sql`alter table passkeys add column key_sha256 ${dialectOf(db).text}`.execute(db);
    const { rows } = await sql<Row>`
      select credential_id, public_key from passkeys order by created_ms, credential_id`.execute(db);
    const taken = new Set<string>();
    for (const { credential_id: id, public_key } of rows) {
      const key = keySha256(Buffer.from(public_key, 'base64url'));
      if (key === null) continue;
      if (taken.has(key)) await sql`delete from passkeys where credential_id = ${id}`.execute(db);
      else await sql`update passkeys set key_sha256 = ${key} where credential_id = ${id}`.execute(db);
      taken.add(key);
    }
    await sql`create unique index if not exists passkeys_key on passkeys (key_sha256)`.execute(db);
  },
};

/** The members of a COSE_Key (RFC 9052, 7; RFC 9053, 7). */
const [KTY, CURVE, X, Y] = [1, -1, -2, -3];
const [OKP, EC2, RSA] = [1, 2, 3];

function keySha256(coseKey: Buffer): string | null {
  try {
    const members = mapOf(coseKey);
    const text = (name: number) => {
      const value = members.get(name);
      if (!Buffer.isBuffer(value)) throw new TypeError('not the bytes of a key');
      return value.toString('base64url');
    };
    const kty = members.get(KTY);
    const jwk =
      kty === EC2
        ? { kty: 'EC', crv: 'P-256', x: text(X), y: text(Y) }
        : kty === OKP
          ? { kty: 'OKP', crv: 'Ed25519', x: text(X) }
          : kty === RSA
            ? { kty: 'RSA', n: text(CURVE), e: text(X) }
            : null;
    if (jwk === null) return null;
    const spki = createPublicKey({ key: jwk, format: 'jwk' }).export({ format: 'der', type: 'spki' });
    return createHash('sha256').update(spki).digest('hex');
  } catch {
    return null;
  }
}

type Value = number | Buffer | null;
const DEEPEST = 4;

/**
 * The members of a map with numbers as names (CBOR, RFC 8949). A text is its bytes, as Gate had taken it; what a key may have besides, names
 * that are texts, lists, maps and truth values, is stepped over. Throws on what is no such map.
 */
function mapOf(bytes: Buffer): ReadonlyMap<number, Value> {
  let at = 0;
  const head = (): { readonly major: number; readonly value: number } => {
    const first = bytes.readUInt8(at);
    at += 1;
    const short = first & 0x1f;
    if (short < 24) return { major: first >> 5, value: short };
    const length = 2 ** (short - 24);
    if (length > 8) throw new RangeError('of no length that is told');
    at += length;
    const value = length === 8 ? Number(bytes.readBigUInt64BE(at - length)) : bytes.readUIntBE(at - length, length);
    return { major: first >> 5, value };
  };
  const item = (depth = 0): Value => {
    const { major, value } = head();
    if (major === 0) return value;
    if (major === 1) return -1 - value;
    if (major === 2 || major === 3) {
      if (at + value > bytes.length) throw new RangeError('longer than the key');
      at += value;
      return bytes.subarray(at - value, at);
    }
    if (major === 7) return null;
    if (depth >= DEEPEST) throw new RangeError('deeper than a key is');
    if (major === 6) return item(depth + 1);
    for (let n = 0; n < value * (major === 5 ? 2 : 1); n += 1) item(depth + 1);
    return null;
  };
  const { major, value: count } = head();
  if (major !== 5) throw new RangeError('not a map');
  const members = new Map<number, Value>();
  for (let n = 0; n < count; n += 1) {
    const name = item();
    const value = item();
    if (typeof name === 'number') members.set(name, value);
  }
  return members;
}
