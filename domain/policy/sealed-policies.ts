import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { canonicalJson } from '../crypto/digest.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { rowContent } from '../crypto/row-content.js';
import { GateError } from '../errors.js';
import { EVERYBODY } from './library-ports.js';

/**
 * The columns that a row's MAC covers, by table and in this order: all that calls are judged by, that a change is planned on, that is signed in the
 * ledger, or by which a rule is recommended.
 */
export const POLICY_AUTHENTICATED = {
  policy_state: ['id', 'generation', 'set_macs', 'policies_sha256'],
  policies: [
    'tenant',
    'name',
    'content_type',
    'active',
    'current_version',
    'body_sha256',
    'header',
    'deleted_at',
    'created_at',
    'updated_at',
  ],
  policy_versions: [
    'tenant',
    'name',
    'version',
    'body',
    'body_sha256',
    'active',
    'reason',
    'actor_sub',
    'actor_idp',
    'event_kind',
    'created_at',
  ],
  policy_modules: ['sources_sha256', 'wasm_sha256', 'opa_version'],
  policy_sets: ['tenant', 'version', 'files', 'data', 'sources_sha256'],
  policy_past_sets: ['tenant', 'version', 'files', 'sources_sha256'],
  policy_outbox: ['generation', 'ordinal', 'tenant', 'name', 'version', 'content'],
  policy_suggestions: [
    'id',
    'tenant',
    'tool',
    'rule_name',
    'body',
    'body_sha256',
    'facts',
    'withdrawn_why',
    'checked_seq',
    'created_at',
  ],
} as const;
/** Not covered: the place in the ledger comes later and judges nothing; the bytes of a module are what `wasm_sha256` says. */
export const POLICY_NOT_AUTHENTICATED = { policy_versions: ['chain_seq'], policy_modules: ['wasm'] } as const;

export type SealedTable = keyof typeof POLICY_AUTHENTICATED;
export const SEALED_TABLES = Object.keys(POLICY_AUTHENTICATED) as readonly SealedTable[];
type Column<Table extends SealedTable> = (typeof POLICY_AUTHENTICATED)[Table][number];

/** Which of them hold numbers; the version of a set is a text. */
const NUMBERS: Readonly<Partial<Record<SealedTable, readonly string[]>>> = {
  policy_state: ['id', 'generation'],
  policies: ['active', 'current_version'],
  policy_versions: ['active', 'version'],
  policy_outbox: ['generation', 'ordinal', 'version'],
  policy_suggestions: ['checked_seq'],
};
/** Of a row that does not fit so many places are named. */
const PLACES_NAMED = 3;
const MAC_USE = 'policy-row';

/** Of a row whose key is not here. Nobody can tell whether it was edited: most often another process has a newer key first. */
const NO_KEY = ', which this process does not have';
/** Whether this is a fault of a row that another process may have written. */
export const lacksKey = (fault: string): boolean => fault.endsWith(NO_KEY);
/** What is wrong with a row, in words: that somebody edited it, or that nobody can tell. */
export const editedWords = (what: string): string => (lacksKey(what) ? what : `edited in the store: ${what}`);
/** Somebody wrote to the store beside Gate, or wrote it under a key that is not here. */
export const edited = (what: string): GateError => new GateError('policy_tampered', editedWords(what));
/**
 * What a row of the store says. One that does not fit is `policy_tampered` with its place: the store is not away, and nothing is wrong with who reads it.
 * Whatever else goes wrong is thrown as it is.
 */
export function readRow<Value>(what: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (error instanceof SyntaxError) throw edited(`${what}: it is no JSON`);
    if (error instanceof z.ZodError) throw edited(`${what}: it does not fit (${placesOf(error)})`);
    throw error;
  }
}
const placesOf = ({ issues }: z.ZodError): string =>
  issues
    .slice(0, PLACES_NAMED)
    .map(({ path, message }) => `${path.join('.') || 'all of it'}: ${message}`)
    .join('; ');
export const isEdited = (error: unknown): error is GateError =>
  error instanceof GateError && error.code === 'policy_tampered';

/** Whose a row is, in messages. */
export const ofWhom = (tenant: string): string => (tenant === EVERYBODY ? 'everybody' : tenant);

export type PolicySealing = ReturnType<typeof policySealing>;

/** MACs of rows of policies; the same in every store. The table's name is in the message, so that no row passes for one of another table. */
export function policySealing(keys: KeyRing) {
  const contents = new Map(
    SEALED_TABLES.map((table) => {
      const columns: readonly string[] = POLICY_AUTHENTICATED[table];
      return [table, rowContent(columns, NUMBERS[table] ?? [])];
    }),
  );
  const message = (table: SealedTable, row: Readonly<Record<string, unknown>>): string =>
    contents.get(table)?.messageOf(`gate.${table}/1`, row) ?? table;

  return {
    keys,
    macOf: <Table extends SealedTable>(table: Table, row: Readonly<Record<Column<Table>, unknown>>): string =>
      keys.authenticate(message(table, row), MAC_USE),
    withMac: <Table extends SealedTable, Row extends Readonly<Record<Column<Table>, unknown>>>(
      table: Table,
      row: Row,
    ): Row & { mac: string } => ({ ...row, mac: keys.authenticate(message(table, row), MAC_USE) }),
    /** Why the row is not what Gate wrote; null where it is. One whose key is missing cannot be told from an edited one. */
    fault<Table extends SealedTable>(
      table: Table,
      { mac, ...row }: Readonly<Record<Column<Table>, unknown>> & { readonly mac: string | null },
    ): string | null {
      if (mac === null) return 'it has no mac';
      try {
        return keys.authentic(mac, message(table, row), MAC_USE) ? null : 'its mac does not hold';
      } catch {
        return `it was written under the key ${mac.split(':')[0]}${NO_KEY}`;
      }
    },
  };
}

/** Policies that go into a digest within one turn of the event loop. */
const DIGESTED_AT_ONCE = 250;
/**
 * Every policy with its MAC: none can be taken away, put there or put back alone. SHA-256 over the canonical JSON of the pairs, in their order; of
 * thousands calls go on in between.
 */
export async function policiesDigest(macs: ReadonlyMap<string, string | null>): Promise<string> {
  const pairs = [...macs].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const digest = createHash('sha256').update('[');
  for (let at = 0; at < pairs.length; at += DIGESTED_AT_ONCE) {
    await nextTurn();
    const some = canonicalJson(pairs.slice(at, at + DIGESTED_AT_ONCE)).slice(1, -1);
    digest.update(at === 0 ? some : `,${some}`);
  }
  return `sha256:${digest.update(']').digest('hex')}`;
}
/** A policy's key in that map. */
export const policyKey = (tenant: string, name: string): string => JSON.stringify([tenant, name]);
