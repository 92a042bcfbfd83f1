import type { Kysely, Selectable } from 'kysely';
import type { DecoyAction, DecoyKind } from '../../contracts/decoy-kinds.js';
import { DECOY_HITS_LISTED, DECOYS_MOST, type DecoyHit, EVERY_TENANT } from '../../contracts/decoys.js';
import {
  type Decoy,
  decoyIdOf,
  type DecoyStore,
  hitsIdOf,
  isKnown,
  type KnownHits,
  type ToldDecoy,
} from '../../domain/identity/decoys.js';
import { comparable } from '../../domain/identity/decoy-readings.js';
import { GateError } from '../../domain/errors.js';
import type { DecoyEvent } from '../../domain/identity/identity-rows.js';
import type { RevokedBy } from '../../domain/identity/revoked-by.js';
import { changedMsOf, editedDetail } from './edited-rows.js';
import type { IdentityTables } from './identity-tables.js';
import type { NumberedRows } from './numbered-rows.js';

type Database = Kysely<IdentityTables>;
type Row = Selectable<IdentityTables['identity_decoys']>;
type HitsRow = Selectable<IdentityTables['identity_decoy_hits']>;
type Table = 'identity_decoys' | 'identity_decoy_hits';

/** What the store of identity has for decoys. */
export interface DecoyParts {
  readonly db: Database;
  readonly rows: Pick<NumberedRows<Row, ToldDecoy>, 'find' | 'asItIs' | 'changed'>;
  intact<Found extends { readonly mac: string }>(table: Table, row: Found): Found;
  marked<Values extends object>(table: Table, values: Values): Values & { readonly mac: string };
  /** One after the other. */
  inTurn<Value>(work: (within: Database) => Promise<Value>): Promise<Value>;
  asked<Value>(work: () => Promise<Value>): Promise<Value>;
  told(within: Database, event: DecoyEvent): Promise<unknown>;
  /** Throws `tenant_offboarded`: it gets no decoy any more. */
  assertNotOffboarded(within: Database, tenant: string): Promise<void>;
  /** Whether nothing is kept of the tenant any more. */
  isOffboarded(within: Database, tenant: string): Promise<boolean>;
  /** Empties the log beside a file, which may still hold pages as they were. Throws `operation_unfinished` while somebody else reads it. */
  emptied(): Promise<void>;
}

export interface Decoys extends DecoyStore {
  /**
   * Nothing of the decoys of a tenant that goes is left but that there were some, and none of its hits, whatever somebody edited of them. Each row
   * stays, under a number of its own, so that every proxy hears of it too.
   */
  forgetDecoys(tenant: string, by: RevokedBy): Promise<void>;
}

/** What nobody should call or use, and who did (docs/architecture/decoys.md). */
export function openDecoyStore({
  db,
  rows,
  intact,
  marked,
  inTurn,
  asked,
  told,
  assertNotOffboarded,
  isOffboarded,
  emptied,
}: DecoyParts): Decoys {
  const standing = async (within: Database, tenants: readonly string[]): Promise<readonly Row[]> =>
    (
      await within
        .selectFrom('identity_decoys')
        .selectAll()
        .where('tenant', 'in', tenants)
        .where('state', '<>', 'retired')
        .orderBy('name')
        .execute()
    ).map((row) => intact('identity_decoys', row));

  /** Each is on the list that every proxy keeps in memory, and no value is found as another one. */
  async function assertFits(within: Database, decoy: Omit<Decoy, 'id'>): Promise<void> {
    const own = await standing(within, [decoy.tenant]);
    if (own.length >= DECOYS_MOST) throw new GateError('decoys_exhausted');
    const { value } = decoy;
    if (
      value !== null &&
      own.some((row) => row.decoy_value !== null && comparable(row.decoy_value) === comparable(value))
    )
      throw new GateError('decoy_exists', 'another decoy has this value');
  }

  const hitsOf = async (within: Database, tenant: string): Promise<readonly HitsRow[]> =>
    (
      await within
        .selectFrom('identity_decoy_hits')
        .selectAll()
        .where('tenant', '=', tenant)
        .orderBy('last_ms', 'desc')
        .orderBy('id')
        .limit(DECOY_HITS_LISTED)
        .execute()
    ).map((row) => intact('identity_decoy_hits', row));

  /** Also those that were retired. */
  async function ofIds(ids: readonly string[]): Promise<ReadonlyMap<string, Decoy>> {
    if (ids.length === 0) return new Map();
    const found = await db
      .selectFrom('identity_decoys')
      .selectAll()
      .where('id', 'in', [...new Set(ids)])
      .execute();
    return new Map(found.map((row) => [row.id, decoyOf(intact('identity_decoys', row))]));
  }

  const hitsRow = (within: Database, id: string): Promise<HitsRow | undefined> =>
    within.selectFrom('identity_decoy_hits').selectAll().where('id', '=', id).executeTakeFirst();

  /** How often each decoy was touched by calls of a tenant, and when last: sums, whose rows the list of hits looks at. */
  async function sumsOf(tenant: string): Promise<ReadonlyMap<string, Sums>> {
    const rows = await db
      .selectFrom('identity_decoy_hits')
      .select(({ fn }) => ['decoy_id', fn.sum('hit_count').as('hits'), fn.max('last_ms').as('last_ms')])
      .where('tenant', '=', tenant)
      .groupBy('decoy_id')
      .execute();
    return new Map(rows.map((row) => [row.decoy_id, { hits: Number(row.hits), lastHitMs: Number(row.last_ms) }]));
  }
  const keptOf = (row: Row, sums: Sums = NO_HITS) => ({
    ...decoyOf(row),
    createdMs: Number(row.set_ms),
    createdBy: row.set_by,
    ...sums,
  });

  return {
    decoys: (tenant) =>
      asked(async () => {
        const all = await standing(db, [tenant, EVERY_TENANT]);
        const own = new Set(all.filter((row) => row.tenant === tenant).map(({ name }) => name));
        const sums = await sumsOf(tenant);
        return all
          .filter((row) => row.tenant === tenant || !own.has(row.name))
          .map((row) => keptOf(row, sums.get(row.id)));
      }),
    addDecoy: (decoy, by) =>
      inTurn(async (within) => {
        const { tenant, name } = decoy;
        if (tenant !== EVERY_TENANT) await assertNotOffboarded(within, tenant);
        const id = decoyIdOf(decoy);
        const found = await rows.asItIs(within, id);
        if (found?.fault === null && found.row.state !== 'retired') throw new GateError('decoy_exists');
        await assertFits(within, decoy);
        // One that somebody edited is written anew, whole, and the ledger is told of it.
        const changedMs = found ? changedMsOf(found.row, by.nowMs) : 0;
        const row = await rows.changed(
          within,
          {
            id,
            tenant,
            name,
            kind: decoy.kind,
            decoy_value: decoy.value,
            state: decoy.isAdvertised ? 'advertised' : 'trap',
            action: decoy.action,
            schema_json: decoy.schemaJson,
            description: decoy.description,
            changed_ms: changedMs,
            set_ms: by.nowMs,
            set_by: by.by,
            reason: by.reason,
            listed_generation: 0,
            mac: '',
          },
          {},
          by.nowMs,
        );
        await told(within, {
          kind: 'decoy.registered',
          subject: `${id}/${Number(row.listed_generation)}`,
          decoy: decoyOf(row),
          by: by.by,
          reason: by.reason,
          detail: editedDetail([found?.fault ?? null], found ?? null),
        });
        return keptOf(row);
      }),
    retireDecoy: (of, by) =>
      inTurn(async (within) => {
        const was = await rows.find(within, decoyIdOf(of));
        if (!was || was.state === 'retired') throw new GateError('not_found');
        const row = await rows.changed(
          within,
          was,
          { state: 'retired', set_ms: by.nowMs, set_by: by.by, reason: by.reason },
          by.nowMs,
        );
        await told(within, {
          kind: 'decoy.retired',
          subject: `${was.id}/${Number(row.listed_generation)}`,
          decoy: decoyOf(was),
          by: by.by,
          reason: by.reason,
          detail: {},
        });
      }),
    decoyById: (id) =>
      asked(async () => {
        const row = await rows.find(db, id);
        return row ? decoyOf(row) : null;
      }),
    decoyHits: (tenant) =>
      asked(async () => {
        const hits = await hitsOf(db, tenant);
        const known = await ofIds(hits.map(({ decoy_id: id }) => id));
        return hits.map((row) => ({
          decoyId: row.decoy_id,
          decoy: known.get(row.decoy_id) ?? { name: row.decoy_id, kind: 'tool' },
          tenant: row.tenant,
          agent: row.agent_name,
          hits: Number(row.hit_count),
          firstMs: Number(row.first_ms),
          lastMs: Number(row.last_ms),
          correlationId: row.correlation_id,
          contained: row.contained as DecoyHit['contained'],
        }));
      }),
    hitsKnown: (of) => asked(async () => knownOf(await hitsRow(db, hitsIdOf(of)))),
    keepHits: (counted, contained) =>
      inTurn(async (within) => {
        const id = hitsIdOf(counted);
        const was = await hitsRow(within, id);
        const known = knownOf(was);
        if (isKnown(counted, known) || (await isOffboarded(within, counted.tenant))) return;
        const row = marked('identity_decoy_hits', {
          id,
          decoy_id: counted.decoyId,
          tenant: counted.tenant,
          agent_name: counted.agent,
          hit_count: known !== null && counted.hits <= known.hits ? known.hits + 1 : counted.hits,
          first_ms: was ? was.first_ms : counted.lastMs,
          last_ms: counted.lastMs,
          correlation_id: counted.correlationId,
          contained,
        });
        const { id: _id, ...values } = row;
        await within
          .insertInto('identity_decoy_hits')
          .values(row)
          .onConflict((conflict) => conflict.column('id').doUpdateSet(values))
          .execute();
      }),
    async forgetDecoys(tenant, { by, nowMs }) {
      await inTurn(async (within) => {
        await within.deleteFrom('identity_decoy_hits').where('tenant', '=', tenant).execute();
        const rest = await within
          .selectFrom('identity_decoys')
          .selectAll()
          .where('tenant', '=', tenant)
          .where('name', '<>', FORGOTTEN.name)
          .execute();
        for (const row of rest)
          await rows.changed(
            within,
            { ...row, changed_ms: changedMsOf(row, nowMs) },
            { ...FORGOTTEN, set_ms: nowMs, set_by: by },
            nowMs,
          );
      });
      await emptied();
    },
  };
}

interface Sums {
  readonly hits: number;
  readonly lastHitMs: number | null;
}
const NO_HITS: Sums = { hits: 0, lastHitMs: null };

/** No decoy has this name. */
const FORGOTTEN = {
  name: '',
  kind: 'tool',
  decoy_value: null,
  state: 'retired',
  action: 'none',
  schema_json: null,
  description: null,
  reason: null,
} as const satisfies Partial<Row>;

const knownOf = (row: HitsRow | undefined): KnownHits | null =>
  row ? { hits: Number(row.hit_count), lastMs: Number(row.last_ms), correlationId: row.correlation_id } : null;

const decoyOf = (row: Row): Decoy => ({
  id: row.id,
  tenant: row.tenant,
  name: row.name,
  kind: row.kind as DecoyKind,
  value: row.decoy_value,
  isAdvertised: row.state === 'advertised',
  action: row.action as DecoyAction,
  schemaJson: row.schema_json,
  description: row.description,
});

export const toldDecoyOf = (row: Row): ToldDecoy => ({
  ...decoyOf(row),
  isRetired: row.state === 'retired',
  changedMs: Number(row.changed_ms),
});
