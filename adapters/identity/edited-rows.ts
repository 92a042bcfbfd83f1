import type { Kysely, Selectable } from 'kysely';
import { agentRecord } from '../../contracts/identity.js';
import type { JsonObject } from '../../contracts/json.js';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { GateError } from '../../domain/errors.js';
import type { MarkedTable } from './identity-marks.js';
import type { IdentityTables } from './identity-tables.js';

type Agent = Selectable<IdentityTables['identity_agents']>;
type Fault = (table: MarkedTable, row: { readonly mac: string }) => string | null;

/** A row as it stands in the store, and what is wrong with it. */
export interface AsItIs<Row> {
  readonly row: Row;
  /** `null` where Gate wrote it. */
  readonly fault: string | null;
}

/** An agent as a stop meets it: a row that somebody edited keeps nobody from being stopped. */
export interface StoppedAgent extends AsItIs<Agent> {
  /** Whose it is and how it is called by the rows that Gate wrote, and nothing else that could not be told of it. */
  readonly known: Agent;
}

/** What the ledger is told of rows that were met edited, and of the one that a stop wrote anew. */
export const editedDetail = (faults: readonly (string | null)[], replaced: AsItIs<object> | null): JsonObject => {
  const edited = faults.filter((fault) => fault !== null);
  return {
    ...(edited.length > 0 && { edited_rows: edited }),
    ...(replaced && replaced.fault !== null && { replaced_row_sha256: sha256Hex(JSON.stringify(replaced.row)) }),
  };
};

/** So far ahead of the clock of whoever stops, at most, a change may stand that was edited: a greater one would keep every later change unheard. */
const AHEAD_MS = 300_000;
/** When a row was changed that somebody edited; 0 where it cannot be. */
export function changedMsOf({ changed_ms: changed }: { readonly changed_ms: number | string }, nowMs: number): number {
  const ms = Number(changed);
  return Number.isSafeInteger(ms) && ms > 0 && ms <= nowMs + AHEAD_MS ? ms : 0;
}

/**
 * The agent of a row that somebody edited. Its tenant and its name are those that another row of the same agent has, which Gate wrote: a stop by a name
 * that was put in its place would stop somebody else.
 */
export async function stoppedAgentOf(
  within: Kysely<IdentityTables>,
  row: Agent,
  faultOf: Fault,
): Promise<StoppedAgent> {
  const fault = faultOf('identity_agents', row);
  if (fault === null) return { row, fault, known: row };
  const { tenant, agent_name } = (await namedElsewhere(within, row.id, faultOf)) ?? row;
  const createdMs = Number(row.created_ms);
  const known = {
    ...row,
    tenant,
    agent_name,
    created_ms: Math.abs(createdMs) <= LAST_INSTANT_MS ? createdMs : 0,
    svid_bootstrap_state: BOOTSTRAP.safeParse(row.svid_bootstrap_state).success ? row.svid_bootstrap_state : 'retired',
  };
  return { row, fault, known };
}

/** Throws `identity_tampered` where nothing says a name that an agent can have. */
export function assertNamed({ known, fault }: StoppedAgent): void {
  if (!LABEL.safeParse(known.tenant).success || !LABEL.safeParse(known.agent_name).success)
    throw new GateError('identity_tampered', `edited in the store: ${fault}, and nothing else says its name`);
}

const { agent_name: LABEL, svid_bootstrap_state: BOOTSTRAP } = agentRecord.shape;
/** Of a `Date`. */
const LAST_INSTANT_MS = 8.64e15;

/** What the row of its standing, a certificate or a request of it says that Gate wrote. */
async function namedElsewhere(
  within: Kysely<IdentityTables>,
  id: string,
  faultOf: Fault,
): Promise<Pick<Agent, 'tenant' | 'agent_name'> | null> {
  const standing = await within.selectFrom('identity_standings').selectAll().where('id', '=', id).executeTakeFirst();
  if (standing && faultOf('identity_standings', standing) === null) return standing;
  for (const table of ['identity_svids', 'identity_intents'] as const) {
    const rows = await within.selectFrom(table).selectAll().where('agent_id', '=', id).limit(LOOKED_AT).execute();
    const whole = rows.find((row) => faultOf(table, row) === null);
    if (whole) return whole;
  }
  return null;
}

/** Rows of each kind that are looked at for one that Gate wrote. */
const LOOKED_AT = 100;
