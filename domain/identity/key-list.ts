import { createPublicKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import type { EventKind } from '../../contracts/event-kinds.js';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import { sha256Hex, uuidFromDigest } from '../crypto/digest.js';
import { GateError } from '../errors.js';
import { fittingRow } from '../ledger/fitting-row.js';
import { OWN_TENANT } from '../ledger/own-rows.js';
import { publicJwkOf } from './signer.js';

/** What keys of lists sign: the proxy's authorizations and receipts, and the ledger's checkpoints and bundles. */
export const listedUse = z.enum(['authorizations', 'checkpoints', 'exports']);
export type ListedUse = z.infer<typeof listedUse>;

const time = z.iso.datetime();
const listedKey = z.strictObject({
  /** The `kid` of its public key; of exports `<name>:v<version>`. */
  id: z.string().min(1).max(128),
  public_key_pem: z.string().min(80).max(4_096),
  /** In PEM, or where it lies; `null` where it signs no more. */
  private: z.string().min(1).nullable(),
  /** The rotation by which it came; `null`, as the times, for the key that signed before there was a list. */
  request_id: z.uuid().nullable(),
  announced_at: time.nullable(),
  signs_from: time.nullable(),
  withdrawn_at: time.nullable(),
  /** Who asked for it, as his machine knows him. */
  by: z.string().max(128).nullable(),
});
const keyList = z.strictObject({
  format: z.literal('gate.key-list/1'),
  use: listedUse,
  /** The oldest first. */
  keys: z.array(listedKey).min(1).max(1_000),
});
export type ListedKey = z.infer<typeof listedKey>;
export type KeyList = z.infer<typeof keyList>;
export type ListedState = 'announced' | 'signing' | 'retiring' | 'withdrawn';

/** Whether the text of a key file is a list, and no key alone. */
export const isKeyList = (text: string): boolean => text.trimStart().startsWith('{');

/** Reads a list of keys of that use (docs/architecture/identity.md#lists-of-keys). Throws where it is none, naming no key. */
export function readKeyList(text: string, use: ListedUse): KeyList {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw new Error('the list of keys is no JSON');
  }
  const read = keyList.safeParse(given);
  if (!read.success)
    throw new Error(`the list of keys: ${read.error.issues[0]?.path.join('.')} is not as it has to be`);
  const list = read.data;
  if (list.use !== use) throw new Error(`the list of keys is of ${list.use}, not of ${use}`);
  if (new Set(list.keys.map(({ id }) => id)).size !== list.keys.length)
    throw new Error('the list of keys has one twice');
  let beforeMs = Number.NEGATIVE_INFINITY;
  for (const [at, key] of list.keys.entries()) {
    if (key.signs_from === null ? at > 0 || key.announced_at !== null : key.announced_at === null)
      throw new Error(`the key ${key.id} does not say when it came`);
    if (signsFromMs(key) <= beforeMs && at > 0) throw new Error('the keys of the list are not the oldest first');
    beforeMs = signsFromMs(key);
    if (use !== 'exports' && publicJwkOf(publicKeyOf(key)).kid !== key.id)
      throw new Error(`the key ${key.id} has the id of another one`);
  }
  return list;
}

export const writtenKeyList = (list: KeyList): string => `${JSON.stringify(list, null, 2)}\n`;

/** Throws unless it is an Ed25519 key. */
export function publicKeyOf({ id, public_key_pem: pem }: Pick<ListedKey, 'id' | 'public_key_pem'>): KeyObject {
  const key = createPublicKey(pem);
  if (key.asymmetricKeyType !== 'ed25519') throw new Error(`the key ${id} is not Ed25519`);
  return key;
}

const signsFromMs = ({ signs_from: from }: ListedKey): number =>
  from === null ? Number.NEGATIVE_INFINITY : Date.parse(from);
const wasWithdrawn = ({ withdrawn_at: at }: ListedKey, nowMs: number): boolean =>
  at !== null && Date.parse(at) <= nowMs;
/** One that was withdrawn while it was announced never signed. */
const everSigned = (key: ListedKey): boolean =>
  key.withdrawn_at === null || signsFromMs(key) < Date.parse(key.withdrawn_at);

/** The key that signs now. Throws where there is none. */
export function signingKeyOf({ keys }: KeyList, nowMs: number): ListedKey {
  const signing = keys.findLast((key) => !wasWithdrawn(key, nowMs) && signsFromMs(key) <= nowMs);
  if (!signing) throw new Error('no key of the list signs');
  return signing;
}

/** At which stage a key is: by the list and the clock alone, so that every process that has the list says the same. */
export function stageOf(list: KeyList, key: ListedKey, nowMs: number): ListedState {
  if (wasWithdrawn(key, nowMs)) return 'withdrawn';
  if (signsFromMs(key) > nowMs) return 'announced';
  return key.id === signingKeyOf(list, nowMs).id ? 'signing' : 'retiring';
}

/** What a rotation adds. */
export interface ComingKey {
  readonly id: string;
  readonly publicPem: string;
  readonly private: string;
  readonly requestId: string;
  readonly announceMs: number;
  readonly by: string;
}

/** For a process that has not read the list again yet. */
const HALVES_STAY_MS = 600_000;

/**
 * The list with another key that will sign. Throws `rotation_active` while another one is announced. Private halves that sign no more are
 * left out of it.
 */
export function withComingKey(list: KeyList, key: ComingKey, nowMs: number): KeyList {
  assertNoneAnnounced(list, nowMs);
  const coming: ListedKey = {
    id: key.id,
    public_key_pem: key.publicPem,
    private: key.private,
    request_id: key.requestId,
    announced_at: new Date(nowMs).toISOString(),
    signs_from: new Date(nowMs + key.announceMs).toISOString(),
    withdrawn_at: null,
    by: key.by,
  };
  return withoutOldHalves({ ...list, keys: [...list.keys, coming] }, nowMs);
}

export function assertNoneAnnounced(list: KeyList, nowMs: number): void {
  const announced = list.keys.find((one) => stageOf(list, one, nowMs) === 'announced');
  if (announced) throw new GateError('rotation_active', undefined, { fields: { key_id: announced.id } });
}

/** The list with a key that counts no more. Throws `invalid_request` for the one that signs, and for one that is not there. */
export function withoutKey(list: KeyList, id: string, nowMs: number): KeyList {
  const key = list.keys.find((one) => one.id === id);
  if (!key) throw new GateError('invalid_request', `no key of ${list.use} has the id ${id}`);
  const stage = stageOf(list, key, nowMs);
  if (stage === 'signing') throw new GateError('invalid_request', `the key ${id} signs: let another one sign first`);
  if (stage === 'withdrawn') return list;
  // Whoever has those public keys verifies without Gate.
  if (stage === 'retiring' && list.use !== 'authorizations')
    throw new GateError(
      'invalid_request',
      `what the key ${id} signed is verified elsewhere: tell those who verify it that it counts no more`,
    );
  const withdrawn = { ...key, private: null, withdrawn_at: new Date(nowMs).toISOString() };
  return withoutOldHalves({ ...list, keys: list.keys.map((one) => (one === key ? withdrawn : one)) }, nowMs);
}

function withoutOldHalves(list: KeyList, nowMs: number): KeyList {
  const laterMs = nowMs - HALVES_STAY_MS;
  const needed = list.keys.findLastIndex((key) => !wasWithdrawn(key, laterMs) && signsFromMs(key) <= laterMs);
  return { ...list, keys: list.keys.map((key, at) => (at < needed ? { ...key, private: null } : key)) };
}

const EVENTS = {
  announced: 'signing_key.announced',
  signs: 'signing_key.signs',
  withdrawn: 'signing_key.withdrawn',
} as const satisfies Readonly<Record<string, EventKind>>;

/**
 * A row for each stage that a key of the list came to. They follow from the list alone, so that every process that has it writes the same
 * ones, and a repeat adds none.
 */
export function stageRows(list: KeyList, agent: string, nowMs: number): readonly NewLedgerRow[] {
  return list.keys.flatMap((key, at) => {
    const before = list.keys.slice(0, at).findLast(everSigned);
    const row = (stage: keyof typeof EVENTS, reasoning: string, when: string | null): NewLedgerRow =>
      fittingRow({
        id: uuidFromDigest('gate.signing-key', list.use, key.id, sha256Hex(key.public_key_pem), stage),
        agent_id: agent,
        method: EVENTS[stage],
        event_kind: EVENTS[stage],
        intent_category: 'Lifecycle',
        authorized: true,
        reasoning,
        policy_decision: {
          use: list.use,
          key_id: key.id,
          public_key_pem: publicKeyOf(key).export({ type: 'spki', format: 'pem' }).toString(),
          replaces: before?.id ?? null,
          ...(stage === 'announced' ? { signs_from: when, by: key.by } : { at: when }),
        },
        state_namespace: 'operator',
        tenant: OWN_TENANT,
      });
    const came = key.announced_at !== null;
    return [
      ...(came ? [row('announced', `a key of ${list.use} will sign`, key.signs_from)] : []),
      ...(came && everSigned(key) && signsFromMs(key) <= nowMs
        ? [row('signs', `a key of ${list.use} signs from now on`, key.signs_from)]
        : []),
      ...(wasWithdrawn(key, nowMs) ? [row('withdrawn', `a key of ${list.use} counts no more`, key.withdrawn_at)] : []),
    ];
  });
}
