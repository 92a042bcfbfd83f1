import { createHash, createPublicKey } from 'node:crypto';
import { sql, type Kysely, type Migration } from 'kysely';
import { dialectOf, hasColumn } from './dialect.js';

interface Row {
  readonly credential_id: string;
  readonly public_key: string;
}

/**
 * 0023: one key is one person, in whatever encoding: the SHA-256 of a passkey's key in its one usual form (SubjectPublicKeyInfo, DER) under a
 * unique index; before, the bytes of COSE were compared, which can be put in another order. Of two rows with one key the later one goes, and
 * one whose key cannot be read goes too: its person registers again. Adds a column and reads the passkeys, a few for each approver.
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
      if (key === null || taken.has(key)) await sql`delete from passkeys where credential_id = ${id}`.execute(db);
      else await sql`update passkeys set key_sha256 = ${key} where credential_id = ${id}`.execute(db);
      if (key !== null) taken.add(key);
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

/** A map of integers to integers and byte strings (CBOR, RFC 8949), which is all that the key of a passkey is. Throws on anything else. */
function mapOf(bytes: Buffer): ReadonlyMap<number, number | Buffer> {
  let at = 0;
  const head = (): { readonly major: number; readonly value: number } => {
    const first = bytes.readUInt8(at);
    at += 1;
    const short = first & 0x1f;
    if (short < 24) return { major: first >> 5, value: short };
    const length = 2 ** (short - 24);
    if (length > 4) throw new RangeError('not a number of a key');
    const value = bytes.readUIntBE(at, length);
    at += length;
    return { major: first >> 5, value };
  };
  const item = (): number | Buffer => {
    const { major, value } = head();
    if (major === 0) return value;
    if (major === 1) return -1 - value;
    if (major !== 2 || at + value > bytes.length) throw new RangeError('not a value of a key');
    at += value;
    return bytes.subarray(at - value, at);
  };
  const { major, value: count } = head();
  if (major !== 5) throw new RangeError('not a map');
  const members = new Map<number, number | Buffer>();
  for (let n = 0; n < count; n += 1) {
    const name = item();
    if (typeof name !== 'number') throw new RangeError('not a name of a key');
    members.set(name, item());
  }
  return members;
}
