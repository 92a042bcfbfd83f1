import type { Kysely, Selectable } from 'kysely';
import { ORPHANS_LISTED } from '../../contracts/identity.js';
import type { IdentityEvent } from '../../domain/identity/identity-rows.js';
import { type AgentEntry, NO_ENTRY, type Orphan, type RegistryStore } from '../../domain/identity/registry.js';
import type { RevokedBy } from '../../domain/identity/revoked-by.js';
import { changedMsOf, editedDetail } from './edited-rows.js';
import type { IdentityTables } from './identity-tables.js';

type Database = Kysely<IdentityTables>;
type Row = Selectable<IdentityTables['identity_registry']>;
type Agent = Selectable<IdentityTables['identity_agents']>;

/** What the store of identity has for what people say of agents. */
export interface RegistryParts {
  readonly db: Database;
  fault(table: 'identity_registry', row: { readonly mac: string }): string | null;
  marked<Values extends object>(table: 'identity_registry', values: Values): Values & { readonly mac: string };
  inTransaction<Value>(work: (within: Database) => Promise<Value>): Promise<Value>;
  asked<Value>(work: () => Promise<Value>): Promise<Value>;
  told(within: Database, event: IdentityEvent): Promise<unknown>;
  /** Throws `not_found`. */
  agentOf(within: Database, id: string, tenant: string): Promise<Agent>;
  /** One after the other of one agent. */
  locked(within: Database, agentId: string): Promise<Agent>;
  /** Throws `agent_decommissioned`. */
  assertLives(within: Database, agentId: string): Promise<void>;
}

export interface Registry extends RegistryStore {
  /** What is said of an agent that is registered. */
  setEntry(
    within: Database,
    agent: Agent,
    entry: Pick<AgentEntry, 'ownerTeam' | 'description'>,
    nowMs: number,
  ): Promise<void>;
  isCertified(within: Database, agentId: string): Promise<boolean>;
  /** Nothing that people said of the agents of a tenant that goes is left. */
  forgetEntries(within: Database, tenant: string): Promise<void>;
}

/** Whose agents are, what they are for, and who certified them (docs/architecture/identity.md#registry). */
export function openRegistryStore({
  db,
  fault,
  marked,
  inTransaction,
  asked,
  told,
  agentOf,
  locked,
  assertLives,
}: RegistryParts): Registry {
  const rowOf = (within: Database, id: string): Promise<Row | undefined> =>
    within.selectFrom('identity_registry').selectAll().where('id', '=', id).executeTakeFirst();
  /** A row that somebody edited says nothing. */
  const wholeOf = (row: Row | undefined): Row | null => (row && fault('identity_registry', row) === null ? row : null);

  async function store(within: Database, row: Omit<Row, 'mac'>): Promise<void> {
    const { id: _id, ...values } = marked('identity_registry', row);
    await within
      .insertInto('identity_registry')
      .values({ id: row.id, ...values })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(values))
      .execute();
  }

  /** Changes what is said of an agent, with its row for the ledger; the same again changes nothing. One that somebody edited is written anew, whole. */
  const changing = (
    id: string,
    tenant: string,
    { by, reason, nowMs }: RevokedBy,
    change: Pick<IdentityEvent, 'kind' | 'content'> & {
      readonly to: Partial<Row>;
      told(before: Row, after: Row): IdentityEvent['standing'];
    },
  ): Promise<AgentEntry> =>
    inTransaction(async (within) => {
      await agentOf(within, id, tenant);
      const agent = await locked(within, id);
      await assertLives(within, id);
      const found = await rowOf(within, id);
      const whole = wholeOf(found);
      const editedMs = found && whole === null ? changedMsOf(found, nowMs) : 0;
      const was = whole ?? { ...unsaid(agent), changed_ms: editedMs, registry_generation: editedMs };
      const next = { ...was, ...change.to };
      if (whole !== null || !found)
        if (Object.keys(change.to).every((name) => was[name as keyof Row] === next[name as keyof Row]))
          return entryOf(was);
      const row = {
        ...next,
        changed_ms: Math.max(nowMs, Number(was.changed_ms) + 1),
        registry_generation: Number(was.registry_generation) + 1,
      };
      await store(within, row);
      const edited = found && whole === null ? fault('identity_registry', found) : null;
      await told(within, {
        kind: change.kind,
        subject: `${id}/${row.registry_generation}`,
        tenant,
        agent: agent.agent_name,
        agentId: id,
        by,
        reason,
        standing: {
          ...change.told(was, row),
          ...editedDetail([edited], found && edited !== null ? { row: found, fault: edited } : null),
        },
        ...(change.content && { content: change.content }),
      });
      return entryOf(row);
    });

  return {
    entries: (ids) =>
      asked(async () => {
        if (ids.length === 0) return new Map();
        const rows = await db
          .selectFrom('identity_registry')
          .selectAll()
          .where('id', 'in', [...ids])
          .execute();
        return new Map(rows.flatMap((row) => (wholeOf(row) ? [[row.id, entryOf(row)] as const] : [])));
      }),
    transferAgent: (id, tenant, ownerTeam, by) =>
      changing(id, tenant, by, {
        kind: 'agent.owner_team_transferred',
        to: { owner_team: ownerTeam },
        told: (before, after) => ({ owner_team_before: before.owner_team, owner_team_after: after.owner_team }),
      }),
    describeAgent: (id, tenant, description, by) =>
      changing(id, tenant, by, {
        kind: 'agent.description_changed',
        to: { description },
        told: () => ({}),
      }),
    certifyAgent: (id, tenant, { version, certificateSha256, detail, content }, by) =>
      changing(id, tenant, by, {
        kind: 'agent.certified',
        to: { certified_at_version: version, certified_ms: by.nowMs, certificate_sha256: certificateSha256 },
        told: () => ({ certified_at_version: version, certificate_sha256: certificateSha256, ...detail }),
        content,
      }),
    orphans: (tenant) =>
      asked(async () => {
        const found = await db
          .selectFrom('identity_svids as svid')
          .leftJoin('identity_agents as agent', (join) =>
            join.onRef('agent.tenant', '=', 'svid.tenant').onRef('agent.agent_name', '=', 'svid.agent_name'),
          )
          .select(['svid.agent_name', ({ fn }) => fn.max('svid.not_before_ms').as('last_ms')])
          .select(({ fn }) => fn.countAll().as('count'))
          .where('svid.tenant', '=', tenant)
          .where('agent.id', 'is', null)
          .groupBy('svid.agent_name')
          .orderBy('svid.agent_name')
          .limit(ORPHANS_LISTED)
          .execute();
        return found.map(
          (row): Orphan => ({ agent: row.agent_name, lastSeenMs: Number(row.last_ms), svids: Number(row.count) }),
        );
      }),
    async setEntry(within, agent, { ownerTeam, description }, nowMs) {
      await store(within, {
        ...unsaid(agent),
        owner_team: ownerTeam,
        description,
        changed_ms: nowMs,
        registry_generation: 1,
      });
    },
    isCertified: async (within, agentId) => (wholeOf(await rowOf(within, agentId))?.certified_ms ?? null) !== null,
    async forgetEntries(within, tenant) {
      await within.deleteFrom('identity_registry').where('tenant', '=', tenant).execute();
    },
  };
}

const unsaid = ({ id, tenant, agent_name }: Agent): Row => ({
  id,
  tenant,
  agent_name,
  owner_team: null,
  description: null,
  certified_at_version: null,
  certified_ms: null,
  certificate_sha256: null,
  changed_ms: 0,
  registry_generation: 0,
  mac: '',
});

const entryOf = (row: Row): AgentEntry => ({
  ...NO_ENTRY,
  ownerTeam: row.owner_team,
  description: row.description,
  certified:
    row.certified_ms === null ? null : { version: row.certified_at_version ?? '', atMs: Number(row.certified_ms) },
});
