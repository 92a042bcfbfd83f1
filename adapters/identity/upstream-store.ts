import type { Kysely, Selectable } from 'kysely';
import { UPSTREAMS_MOST } from '../../contracts/upstreams.js';
import { GateError } from '../../domain/errors.js';
import type { UpstreamEvent } from '../../domain/identity/identity-rows.js';
import type { RevokedBy } from '../../domain/identity/revoked-by.js';
import {
  type KeptUpstream,
  type ToldUpstream,
  upstreamUrlKey,
  type UpstreamStore,
} from '../../domain/identity/upstreams.js';
import { uuidV7 } from '../../domain/identity/uuid-v7.js';
import { changedMsOf } from './edited-rows.js';
import type { IdentityTables } from './identity-tables.js';
import type { NumberedRows } from './numbered-rows.js';

type Database = Kysely<IdentityTables>;
type Row = Selectable<IdentityTables['identity_upstreams']>;

/** What the store of identity has for upstreams. */
export interface UpstreamParts {
  readonly db: Database;
  readonly rows: Pick<NumberedRows<Row, ToldUpstream>, 'find' | 'changed'>;
  intact<Found extends { readonly mac: string }>(table: 'identity_upstreams', row: Found): Found;
  /** One after the other. */
  inTurn<Value>(work: (within: Database) => Promise<Value>): Promise<Value>;
  asked<Value>(work: () => Promise<Value>): Promise<Value>;
  told(within: Database, event: UpstreamEvent): Promise<unknown>;
  /** Throws `tenant_offboarded`: it gets no upstream any more. */
  assertNotOffboarded(within: Database, tenant: string): Promise<void>;
}

export interface Upstreams extends UpstreamStore {
  /** Nothing of the upstreams of a tenant that goes is left but that there were some; their addresses stay taken. */
  forgetUpstreams(tenant: string, by: RevokedBy): Promise<void>;
}

/** The servers of tools that somebody vouched for (docs/architecture/upstreams.md). */
export function openUpstreamStore({
  db,
  rows,
  intact,
  inTurn,
  asked,
  told,
  assertNotOffboarded,
}: UpstreamParts): Upstreams {
  const ofTenant = (within: Database, tenant: string) =>
    within.selectFrom('identity_upstreams').selectAll().where('tenant', '=', tenant).where('name', '<>', '');
  async function rowOf(within: Database, id: string, tenant: string): Promise<Row> {
    const row = await rows.find(within, id);
    if (row?.tenant !== tenant || row.name === '') throw new GateError('not_found');
    return row;
  }
  const event = (kind: UpstreamEvent['kind'], row: Row, { by, reason }: RevokedBy): UpstreamEvent => ({
    kind,
    subject: `${row.id}/${Number(row.listed_generation)}`,
    upstream: keptOf(row),
    by,
    reason,
  });

  return {
    upstreams: (tenant) =>
      asked(async () => {
        const found = await ofTenant(db, tenant).orderBy('name').orderBy('id').execute();
        return found.map((row) => keptOf(intact('identity_upstreams', row)));
      }),
    upstream: (id, tenant) => asked(async () => keptOf(await rowOf(db, id, tenant))),
    addUpstream: ({ tenant, name, url, tlsPin, spiffe, ownerTeam }, by) =>
      inTurn(async (within) => {
        await assertNotOffboarded(within, tenant);
        const key = upstreamUrlKey(url);
        const same = await within
          .selectFrom('identity_upstreams')
          .select('id')
          .where('url_sha256', '=', key)
          .executeTakeFirst();
        if (same) throw new GateError('upstream_url_taken');
        const standing = await ofTenant(within, tenant).where('state', '=', 'active').execute();
        if (standing.some((one) => one.name === name)) throw new GateError('upstream_name_taken');
        if (standing.length >= UPSTREAMS_MOST) throw new GateError('upstreams_exhausted');
        const unlisted: Row = {
          id: uuidV7(),
          tenant,
          name,
          url,
          url_sha256: key,
          tls_pin: tlsPin,
          spiffe_id: spiffe,
          owner_team: ownerTeam,
          state: 'active',
          created_by_sub: by.by,
          created_ms: by.nowMs,
          retired_ms: null,
          retired_by: null,
          changed_ms: 0,
          listed_generation: 0,
          mac: '',
        };
        const row = await rows.changed(within, unlisted, {}, by.nowMs);
        await told(within, event('upstream.registered', row, by));
        return keptOf(row);
      }),
    retireUpstream: (id, tenant, by) =>
      inTurn(async (within) => {
        const was = await rowOf(within, id, tenant);
        if (was.state === 'retired') return keptOf(was);
        const to = { state: 'retired', retired_ms: by.nowMs, retired_by: by.by };
        const row = await rows.changed(within, was, to, by.nowMs);
        await told(within, event('upstream.retired', row, by));
        return keptOf(row);
      }),
    forgetUpstreams: (tenant, { by, nowMs }) =>
      inTurn(async (within) => {
        const rest = within
          .selectFrom('identity_upstreams')
          .selectAll()
          .where('tenant', '=', tenant)
          .where(({ or, eb }) => or([eb('name', '<>', ''), eb('url', '<>', '')]));
        for (const row of await rest.execute())
          await rows.changed(
            within,
            { ...row, changed_ms: changedMsOf(row, nowMs) },
            {
              name: '',
              url: '',
              tls_pin: null,
              spiffe_id: null,
              owner_team: null,
              state: 'retired',
              retired_ms: nowMs,
              retired_by: by,
            },
            nowMs,
          );
      }),
  };
}

const keptOf = (row: Row): KeptUpstream => ({
  id: row.id,
  tenant: row.tenant,
  name: row.name,
  url: row.url,
  tlsPin: row.tls_pin,
  spiffe: row.spiffe_id,
  ownerTeam: row.owner_team,
  createdBy: row.created_by_sub,
  createdMs: Number(row.created_ms),
  retiredMs: row.retired_ms === null ? null : Number(row.retired_ms),
  retiredBy: row.retired_by,
});

export const toldUpstreamOf = (row: Row): ToldUpstream => ({
  id: row.id,
  tenant: row.tenant,
  name: row.name,
  url: row.url,
  tlsPin: row.tls_pin,
  spiffe: row.spiffe_id,
  isRetired: row.state === 'retired',
  changedMs: Number(row.changed_ms),
});
