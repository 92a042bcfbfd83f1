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
import { pagesOf } from '../store/pages.js';
import { AT_ONCE } from './identity-marks.js';
import type { IdentityTables } from './identity-tables.js';
import { NEVER_SUSPENDED, released, releaseOf, type Suspendable, suspended } from './suspension.js';

type Database = Kysely<IdentityTables>;
type Row = Selectable<IdentityTables['identity_stops']>;

/** What the store of identity has for what is stopped. */
export interface StopParts {
  readonly db: Database;
  intact<Found extends { readonly mac: string }>(table: 'identity_stops', row: Found): Found;
  marked<Values extends object>(table: 'identity_stops', values: Values): Values & { readonly mac: string };
  /** One after the other. */
  inTurn<Value>(work: (within: Database) => Promise<Value>): Promise<Value>;
  asked<Value>(work: () => Promise<Value>): Promise<Value>;
  told(within: Database, event: StopEvent): Promise<unknown>;
  /** The next number of the list of revocations, under which this stands. */
  number(within: Database, stop: ToldStop, nowMs: number): Promise<number>;
  /** Throws where a number is not one that the list has come to. */
  assertListed(what: string, listed: number): Promise<void>;
}

export interface Stops extends StopStore {
  /** Throws where one is not as Gate wrote it, or has a number that the list has not come to. */
  assertAllStops(): Promise<void>;
  /** Those whose last change has a number after the one and up to the other, in that order. */
  stopsBetween(
    within: Database,
    after: number,
    latest: number,
    most: number,
  ): Promise<readonly (ToldStop & { readonly generation: number })[]>;
}

/** Tools and tenants that somebody stopped (docs/architecture/identity.md#stops). */
export function openStopStore({ db, intact, marked, inTurn, asked, told, number, assertListed }: StopParts): Stops {
  const rowOf = async (within: Database, id: string): Promise<Row | undefined> => {
    const row = await within.selectFrom('identity_stops').selectAll().where('id', '=', id).executeTakeFirst();
    return row && intact('identity_stops', row);
  };

  async function changed(
    within: Database,
    was: Row,
    by: RevokedBy,
    to: Partial<Suspendable>,
    event: Pick<StopEvent, 'kind' | 'detail'>,
  ): Promise<Stop> {
    // A clock that was set back makes no change older than the one before.
    const next = { ...was, ...to, changed_ms: Math.max(by.nowMs, Number(was.changed_ms) + 1) };
    const generation = await number(within, toldOf(next), by.nowMs);
    const row = marked('identity_stops', { ...next, listed_generation: generation });
    const { id: _id, ...values } = row;
    await within
      .insertInto('identity_stops')
      .values(row)
      .onConflict((conflict) => conflict.column('id').doUpdateSet(values))
      .execute();
    await told(within, {
      ...event,
      subject: `${was.id}/${generation}`,
      id: was.id,
      tenant: was.tenant,
      tool: was.tool,
      by: by.by,
      reason: by.reason,
    });
    return stopOf(row, by.nowMs);
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
    stop: (what, by) =>
      inTurn(async (within) => {
        const id = stopIdOf(what);
        const known = await rowOf(within, id);
        const was = known ?? untouched(id, what);
        const to = suspended(was, by);
        return to === null ? stopOf(was, by.nowMs) : changed(within, was, by, to, { kind: 'stop.set', detail: {} });
      }),
    releaseStop: (id, tenant, by) =>
      inTurn(async (within) => {
        const was = await rowOf(within, id);
        if (was?.tenant !== tenant) throw new GateError('not_found');
        const step = released(was, by);
        if (step === null) return stopOf(was, by.nowMs);
        const { to, askedBy } = step;
        return changed(
          within,
          was,
          by,
          to,
          askedBy === null
            ? { kind: 'stop.release_requested', detail: {} }
            : { kind: 'stop.released', detail: { requested_by: askedBy, confirmed_by: by.by } },
        );
      }),
    async assertAllStops() {
      const pages = pagesOf(AT_ONCE, (last: Row | undefined) =>
        db
          .selectFrom('identity_stops')
          .selectAll()
          .where('id', '>', last?.id ?? '')
          .orderBy('id')
          .limit(AT_ONCE)
          .execute(),
      );
      for await (const rows of pages)
        for (const row of rows)
          await assertListed(`identity_stops ${row.id}`, Number(intact('identity_stops', row).listed_generation));
    },
    async stopsBetween(within, after, latest, most) {
      const rows = await within
        .selectFrom('identity_stops')
        .selectAll()
        .where('listed_generation', '>', after)
        .where('listed_generation', '<=', latest)
        .orderBy('listed_generation')
        .limit(most)
        .execute();
      return rows.map((row) => ({
        ...toldOf(intact('identity_stops', row)),
        generation: Number(row.listed_generation),
      }));
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

const toldOf = (row: Row): ToldStop => ({
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
