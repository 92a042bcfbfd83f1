import { canonicalDigest } from '../crypto/digest.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { rowContent } from '../crypto/row-content.js';
import { errorText, GateError } from '../errors.js';
import { EVERYBODY } from './library-ports.js';

/** The columns that a row's MAC covers, by table and in this order: all that calls are judged by, or that a change is planned on. */
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
} as const;
/** Not covered: the place in the ledger comes later and judges nothing; the bytes of a module are what `wasm_sha256` says. */
export const POLICY_NOT_AUTHENTICATED = { policy_versions: ['chain_seq'], policy_modules: ['wasm'] } as const;

export type SealedTable = keyof typeof POLICY_AUTHENTICATED;
export const SEALED_TABLES = Object.keys(POLICY_AUTHENTICATED) as readonly SealedTable[];
type Column<Table extends SealedTable> = (typeof POLICY_AUTHENTICATED)[Table][number];

const NUMBERS = ['id', 'generation', 'active', 'current_version', 'version'];
const MAC_USE = 'policy-row';

/** Somebody wrote to the store beside Gate. */
export const edited = (what: string): GateError => new GateError('policy_tampered', `edited in the store: ${what}`);
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
      // A set's version is a text.
      const isText = (column: string): boolean => column === 'version' && table !== 'policy_versions';
      return [
        table,
        rowContent(
          columns,
          columns.filter((column) => NUMBERS.includes(column) && !isText(column)),
        ),
      ];
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
    /** Why the row is not what Gate wrote; null where it is. A row whose key is missing cannot be told from an edited one. */
    fault<Table extends SealedTable>(
      table: Table,
      { mac, ...row }: Readonly<Record<Column<Table>, unknown>> & { readonly mac: string | null },
    ): string | null {
      if (mac === null) return 'it has no mac';
      try {
        return keys.authentic(mac, message(table, row), MAC_USE) ? null : 'its mac does not hold';
      } catch (error) {
        return errorText(error);
      }
    },
  };
}

/** Every policy with its MAC: none can be taken away, put there or put back alone. */
export const policiesDigest = (macs: ReadonlyMap<string, string | null>): string =>
  canonicalDigest([...macs].toSorted(([one], [other]) => (one < other ? -1 : 1)));
/** A policy's key in that map. */
export const policyKey = (tenant: string, name: string): string => JSON.stringify([tenant, name]);
