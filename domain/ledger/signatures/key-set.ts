import { createPublicKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import type { Json } from '../../../contracts/json.js';
import { canonicalJson, sha256Hex } from '../../crypto/digest.js';

const hex64 = z.string().regex(/^[0-9a-f]{64}$/);
const time = z.iso.datetime();

/**
 * Every key that ever signed rows or bundles, newest first (docs/architecture/ledger-rows.md#signatures).
 */
const historicalKeySet = z.strictObject({
  contract: z.literal('gate.historical-signing-keys/v1'),
  issuer: z.string().min(1).max(512),
  audience: z.union([z.string().min(1), z.array(z.string().min(1)).min(1).max(8)]),
  sequence: z.number().int().min(1),
  generated_at: time,
  expires_at: time,
  lineage_sha256: hex64,
  keys: z
    .array(
      z.strictObject({
        kid: z.string().regex(/^[A-Za-z0-9._:-]+:v[1-9][0-9]*$/),
        algorithm: z.literal('Ed25519'),
        public_key_pem: z.string().min(80).max(4096),
        public_key_sha256: hex64,
        activated_at: time,
        state: z.enum(['active', 'historical_trusted', 'retired', 'untrusted']),
      }),
    )
    .min(1)
    .max(4096),
});
export type KeySetDocument = z.infer<typeof historicalKeySet>;
type KeyDocument = KeySetDocument['keys'][number];

const MAX_LIFE_MS = 120_000;
/** How far the clocks of issuer and ledger may differ. */
const SKEW_MS = 5_000;

/** What a report states about the keys it was made with. */
export type KeySetSummary = Pick<
  KeySetDocument,
  'issuer' | 'audience' | 'sequence' | 'generated_at' | 'expires_at' | 'lineage_sha256'
>;

/** Why a key set or a key cannot be used; values of `first_failure.reason` (docs/architecture/ledger-rows.md#verification). */
export type KeyFault =
  | 'key_set_unavailable'
  | 'key_set_stale'
  | 'key_set_rollback'
  | 'key_missing'
  | 'key_retired'
  | 'key_untrusted'
  | 'key_not_yet_active'
  | 'key_substituted';

export class KeySetError extends Error {
  override readonly name = 'KeySetError';
  constructor(
    readonly fault: KeyFault,
    detail: string,
  ) {
    super(detail);
  }
}

/** A checked key set: complete, current, and not older than one accepted before. */
export interface KeySet {
  readonly summary: KeySetSummary;
  /** The key, if it is trusted for something signed at that time; otherwise the reason why not. */
  key(kid: string, signedAt: string): KeyObject | KeyFault;
}

/** SHA-256 over what a key set states about its keys; independent of when it was issued. */
export const lineageOf = ({
  audience,
  issuer,
  keys,
  sequence,
}: Pick<KeySetDocument, 'audience' | 'issuer' | 'keys' | 'sequence'>): string =>
  sha256Hex(canonicalJson({ audience, issuer, keys, sequence } as unknown as Json));

/** The last accepted key set. An older one, in which a lost key was still valid, is refused. */
export interface AcceptedKeySet {
  readonly sequence: number;
  readonly lineage: string;
}

/**
 * Checks a key set by the rules of docs/architecture/ledger-rows.md#signatures. Throws KeySetError: `key_set_unavailable` when it is
 * malformed, `key_set_stale` outside its period of validity, `key_set_rollback` for a lower sequence or the same sequence with other keys,
 * `key_substituted` when a key does not match its digest.
 */
export function checkKeySet(value: unknown, nowMs: number, accepted: AcceptedKeySet | null): KeySet {
  const parsed = historicalKeySet.safeParse(value);
  const refuse = (fault: KeyFault, detail: string) => new KeySetError(fault, detail);
  if (!parsed.success)
    throw refuse(
      'key_set_unavailable',
      `the key set has not the documented shape: ${parsed.error.issues[0]?.path.join('.')}`,
    );
  const { keys, contract: _, ...rest } = parsed.data;
  refuseStale(rest, nowMs);
  if (lineageOf(parsed.data) !== rest.lineage_sha256)
    throw refuse('key_substituted', 'lineage_sha256 is not that of the keys');
  const versions = keys.map(({ kid }) => Number(/(?<![0-9])[0-9]+$/.exec(kid)?.[0]));
  if (versions.some((version, index) => index > 0 && version >= (versions[index - 1] as number)))
    throw refuse('key_set_unavailable', 'the keys are not strictly descending by version');
  if (versions[0] !== rest.sequence)
    throw refuse('key_set_unavailable', 'the sequence is not the greatest key version');
  if (keys.filter(({ state }) => state === 'active').length !== 1)
    throw refuse('key_set_unavailable', 'exactly one key is active');
  if (
    accepted &&
    (rest.sequence < accepted.sequence ||
      (rest.sequence === accepted.sequence && rest.lineage_sha256 !== accepted.lineage))
  )
    throw refuse('key_set_rollback', `sequence ${rest.sequence} after ${accepted.sequence}`);
  const byId = new Map(keys.map((key) => [key.kid, { ...key, publicKey: publicKeyOf(key) }]));
  return {
    summary: rest,
    key(kid, signedAt) {
      const key = byId.get(kid);
      if (!key) return 'key_missing';
      if (key.state === 'retired') return 'key_retired';
      if (key.state === 'untrusted') return 'key_untrusted';
      if (Date.parse(signedAt) < Date.parse(key.activated_at)) return 'key_not_yet_active';
      return key.publicKey;
    },
  };
}

function refuseStale({ generated_at, expires_at }: KeySetSummary, nowMs: number): void {
  const refuse = (detail: string) => new KeySetError('key_set_stale', detail);
  const [generated, expires] = [Date.parse(generated_at), Date.parse(expires_at)];
  if (expires - generated > MAX_LIFE_MS || expires <= generated)
    throw refuse(`a key set lives for at most ${MAX_LIFE_MS / 1000} seconds`);
  if (nowMs > expires + SKEW_MS || nowMs < generated - SKEW_MS)
    throw refuse(`the key set was good from ${generated_at} to ${expires_at}`);
}

function publicKeyOf(key: KeyDocument): KeyObject {
  if (sha256Hex(key.public_key_pem) !== key.public_key_sha256)
    throw new KeySetError('key_substituted', `${key.kid}: the key is not the one its digest names`);
  let publicKey: KeyObject;
  try {
    publicKey = createPublicKey(key.public_key_pem);
  } catch {
    throw new KeySetError('key_set_unavailable', `${key.kid}: not a public key`);
  }
  if (publicKey.asymmetricKeyType !== 'ed25519')
    throw new KeySetError('key_set_unavailable', `${key.kid}: not an Ed25519 key`);
  return publicKey;
}

/**
 * Where key sets come from. An unchanged key set must be returned as the same object; it is then checked once. Throws when there is none.
 */
export type KeySetSource = () => Promise<unknown>;

/** Fetches and checks key sets, and remembers the highest sequence it accepted. */
export interface TrustedKeys {
  /** A current key set. Throws KeySetError. */
  current(): Promise<KeySet>;
}

export function trustedKeys(source: KeySetSource, clock: () => number): TrustedKeys {
  let accepted: AcceptedKeySet | null = null;
  let last: { readonly document: unknown; readonly keySet: KeySet } | null = null;
  return {
    async current() {
      let document: unknown;
      try {
        document = await source();
      } catch (error) {
        throw new KeySetError('key_set_unavailable', error instanceof Error ? error.message : String(error));
      }
      if (last !== null && last.document === document) {
        refuseStale(last.keySet.summary, clock());
        return last.keySet;
      }
      const keySet = checkKeySet(document, clock(), accepted);
      last = { document, keySet };
      accepted = { sequence: keySet.summary.sequence, lineage: keySet.summary.lineage_sha256 };
      return keySet;
    },
  };
}
