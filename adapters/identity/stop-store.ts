import type { Kysely, Selectable } from 'kysely';
import { STOPS_LISTED } from '../../contracts/identity.js';
import { GateError } from '../../domain/errors.js';
import type { StopEvent } from '../../domain/identity/identity-rows.js';
import type { RevokedBy } from '../../domain/identity/revoked-by.js';
import {
  type Stop,
  type StopState,
  type StopStore,
  stopIdOf,
  type Stopping,
  type ToldStop,
} from '../../domain/identity/stops.js';
import { changedMsOf, editedDetail } from './edited-rows.js';
import type { IdentityTables } from './identity-tables.js';
import type { NumberedRows } from './numbered-rows.js';
import type { NewReport } from './stop-report-store.js';
import { movedTo, NEVER_SUSPENDED, released, releaseOf, type Suspendable, suspended } from './suspension.js';

type Database = Kysely<IdentityTables>;
type Row = Selectable<IdentityTables['identity_stops']>;

/** What the store of identity has for what is stopped. */
export interface StopParts {
  readonly db: Database;
  readonly rows: Pick<NumberedRows<Row, ToldStop>, 'find' | 'asItIs' | 'changed'>;
  intact<Found extends { readonly mac: string }>(table: 'identity_stops', row: Found): Found;
  /** One after the other. */
  inTurn<Value>(work: (within: Database) => Promise<Value>): Promise<Value>;
  asked<Value>(work: () => Promise<Value>): Promise<Value>;
  told(within: Database, event: StopEvent): Promise<unknown>;
  /** Has what is running now be reported. */
  reported(within: Database, stopped: NewReport, by: RevokedBy): Promise<void>;
  /** Takes back what was left of the agents of a tenant that is stopped, where it can be by now. */
  takeBackLeft(tenant: string, by: RevokedBy): Promise<void>;
  /** Throws `tenant_offboarded`: its stop stays. */
  assertNotOffboarded(within: Database, tenant: string): Promise<void>;
  /** The same before a tool of it is stopped, whatever somebody edited. */
  assertMayBeStopped(within: Database, tenant: string): Promise<void>;
  /** Throws where certificates of the tenant's agents are still being taken back, and names an agent of which one could not be. */
  assertTakenBack(within: Database, tenant: string, nowMs: number): Promise<void>;
}

export interface Stops extends StopStore {
  /** The same as `stop` as a part of something else; also where it is stopped already, with what else was met edited, where `anew` is given. */
  stopWithin(within: Database, what: Stopping, by: RevokedBy, anew?: readonly (string | null)[]): Promise<Stop>;
}

/** Tools and tenants that somebody stopped (docs/architecture/identity.md#stops). */
export function openStopStore(parts: StopParts): Stops {
  const { db, rows: known, intact, inTurn, asked, told } = parts;
  async function changed(
    within: Database,
    was: Row,
    by: RevokedBy,
    to: Partial<Suspendable>,
    event: Pick<StopEvent, 'kind' | 'detail'>,
  ): Promise<Stop> {
    const row = await known.changed(within, was, to, by.nowMs);
    await told(within, {
      ...event,
      subject: `${was.id}/${Number(row.listed_generation)}`,
      id: was.id,
      tenant: was.tenant,
      tool: was.tool,
      by: by.by,
      reason: by.reason,
    });
    return stopOf(row, by.nowMs);
  }

  async function stopWithin(
    within: Database,
    what: Stopping,
    by: RevokedBy,
    anew?: readonly (string | null)[],
  ): Promise<Stop> {
    if (what.tool !== null) await parts.assertMayBeStopped(within, what.tenant);
    const id = stopIdOf(what);
    const found = await known.asItIs(within, id);
    // One that somebody edited is stopped anew, and written whole.
    const was =
      found?.fault === null
        ? found.row
        : { ...untouched(id, what), ...(found && { changed_ms: changedMsOf(found.row, by.nowMs) }) };
    const to = anew ? movedTo('suspended', by) : suspended(was, by);
    if (to === null) return stopOf(was, by.nowMs);
    const stop = await changed(within, was, by, to, {
      kind: 'stop.set',
      detail: editedDetail([found?.fault ?? null, ...(anew ?? [])], found ?? null),
    });
    await parts.reported(
      within,
      {
        kind: what.tool === null ? 'tenant' : 'tool',
        stoppedId: id,
        tenant: what.tenant,
        name: what.tool,
        stoppedMs: stop.changedMs,
        taken: what.tool === null ? null : { revoked: 0, left: [] },
      },
      by,
    );
    return stop;
  }

  return {
    stops: ({ tenant, state, after }, nowMs) =>
      asked(async () => {
        const rows = await db
          .selectFrom('identity_stops')
          .selectAll()
          .where('tenant', '=', tenant)
          .where('id', '>', after ?? '')
          .$if(state !== undefined, (query) => query.where('state', '=', state as StopState))
          .orderBy('id')
          .limit(STOPS_LISTED)
          .execute();
        return rows.map((row) => stopOf(intact('identity_stops', row), nowMs));
      }),
    stopWithin,
    stop: (what, by) => inTurn((within) => stopWithin(within, what, by)),
    async releaseStop(id, tenant, by) {
      const now = await asked(() => known.find(db, id));
      const isConfirmed = now !== undefined && (released(now, by)?.askedBy ?? null) !== null;
      if (isConfirmed && now.tenant === tenant && now.tool === null) await parts.takeBackLeft(tenant, by);
      return inTurn(async (within) => {
        const was = await known.find(within, id);
        if (was?.tenant !== tenant) throw new GateError('not_found');
        if (was.tool === null) await parts.assertNotOffboarded(within, tenant);
        const step = released(was, by);
        if (step === null) return stopOf(was, by.nowMs);
        const { to, askedBy } = step;
        // Otherwise it would take back what they get afterwards.
        if (askedBy !== null && was.tool === null) await parts.assertTakenBack(within, tenant, by.nowMs);
        return changed(
          within,
          was,
          by,
          to,
          askedBy === null
            ? { kind: 'stop.release_requested', detail: {} }
            : { kind: 'stop.released', detail: { requested_by: askedBy, confirmed_by: by.by } },
        );
      });
    },
  };
}

const untouched = (id: string, { tenant, tool }: Stopping): Row => ({
  id,
  tenant,
  tool,
  ...NEVER_SUSPENDED,
  changed_ms: 0,
  listed_generation: 0,
  mac: '',
});

export const toldStopOf = (row: Row): ToldStop => ({
  tenant: row.tenant,
  tool: row.tool,
  state: row.state as StopState,
  changedMs: Number(row.changed_ms),
});

const stopOf = (row: Row, nowMs: number): Stop => ({
  id: row.id,
  tenant: row.tenant,
  tool: row.tool,
  state: row.state as StopState,
  changedMs: Number(row.state_changed_ms),
  changedBy: row.state_changed_by ?? '',
  reason: row.state_reason,
  release: releaseOf(row, nowMs),
});
