import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import type { Json } from '../../contracts/json.js';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { type KeySetDocument, lineageOf } from '../../domain/ledger/signatures/key-set.js';
import { SIGNED_FIELDS, signedDigest, type SignedFields } from '../../domain/ledger/signatures/row-signature.js';
import { testRow } from './ledger.js';

type KeyState = KeySetDocument['keys'][number]['state'];

/** Keys of an issuer, oldest first, and what they sign. */
export interface RowSigner {
  readonly privateKey: (version: number) => KeyObject;
  /** A row with a signature that holds, unless changed afterwards. */
  row(timestamp: string, change?: Partial<NewLedgerRow>, version?: number): NewLedgerRow;
  /** The key set of one moment; `change` breaks it, and the lineage is computed before that. */
  document(nowMs: number, change?: Partial<KeySetDocument>): KeySetDocument;
}

export function rowSigner(
  states: readonly KeyState[] = ['active'],
  activatedAt = '2026-01-01T00:00:00.000Z',
): RowSigner {
  const pairs = states.map(() => generateKeyPairSync('ed25519'));
  const keyId = (version: number) => `gate-identity:v${version}`;
  const keys = pairs.map(({ publicKey }, index) => {
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    return {
      kid: keyId(index + 1),
      algorithm: 'Ed25519' as const,
      public_key_pem: pem,
      public_key_sha256: sha256Hex(pem),
      activated_at: activatedAt,
      state: states[index] as KeyState,
    };
  });
  const privateKey = (version: number) => (pairs[version - 1] as (typeof pairs)[number]).privateKey;
  return {
    privateKey,
    row(timestamp, change = {}, version = states.length) {
      const row = { id: randomUUID(), timestamp, ...testRow(change) };
      const fields = Object.fromEntries(
        SIGNED_FIELDS.map((field) => [field, (row as Record<string, Json>)[field] ?? null]),
      );
      const signature = sign(null, signedDigest(fields as SignedFields), privateKey(version)).toString('base64');
      return { ...row, signature, key_id: keyId(version), ...(change.signature && { signature: change.signature }) };
    },
    document(nowMs, change = {}) {
      const lineage = {
        issuer: 'spiffe://gate.local/service/identity',
        audience: ['spiffe://gate.local/service/ledger', 'spiffe://gate.local/service/deep-review'],
        sequence: states.length,
        keys: [...keys].reverse(),
      };
      return {
        contract: 'gate.historical-signing-keys/v1',
        generated_at: new Date(nowMs).toISOString(),
        expires_at: new Date(nowMs + 120_000).toISOString(),
        lineage_sha256: lineageOf({ ...lineage, ...change }),
        ...lineage,
        ...change,
      };
    },
  };
}
