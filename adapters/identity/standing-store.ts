import type { Kysely, Selectable } from 'kysely';
import { AGENTS_LISTED, type AgentState } from '../../contracts/identity.js';
import { GateError } from '../../domain/errors.js';
import type { IdentityEvent } from '../../domain/identity/identity-rows.js';
import type { ToldStanding } from '../../domain/identity/revocation.js';
import type { RevokedBy } from '../../domain/identity/revoked-by.js';
import { NO_ENTRY } from '../../domain/identity/registry.js';
import { type Envelope, NO_ENVELOPE } from '../../domain/identity/scopes.js';
import { type RegisteredAgent, stateFault, type StandingStore } from '../../domain/identity/standing.js';
import { type AsItIs, changedMsOf, editedDetail, type StoppedAgent } from './edited-rows.js';
import type { IdentityTables } from './identity-tables.js';
import type { NumberedRows } from './numbered-rows.js';
import type { Registry } from './registry-store.js';
import { type LeftBehind, leftFault, type NewReport, type TakenBack } from './stop-report-store.js';
import { movedTo, NEVER_SUSPENDED, released, releaseOf, suspended } from './suspension.js';

type Row<Table extends keyof IdentityTables> = Selectable<IdentityTables[Table]>;
type Database = Kysely<IdentityTables>;

export interface NewAgent {
  readonly tenant: string;
  readonly agent: string;
  readonly by: string;
  readonly nowMs: number;
}

/** What the store of identity has for what agents may do. */
export interface StandingParts {
  readonly db: Database;
  readonly rows: Pick<NumberedRows<Row<'identity_standings'>, ToldStanding>, 'find' | 'asItIs' | 'changed'>;
  intact<Found extends { readonly mac: string }>(table: 'identity_agents' | 'identity_standings', row: Found): Found;
  inTransaction<Value>(work: (within: Database) => Promise<Value>): Promise<Value>;
  asked<Value>(work: () => Promise<Value>): Promise<Value>;
  told(within: Database, event: IdentityEvent): Promise<unknown>;
  /** Throws `not_found`. */
  agentOf(within: Database, id: string, tenant: string): Promise<Row<'identity_agents'>>;
  /** `null` where there is one of that name. */
  newAgent(within: Database, agent: NewAgent): Promise<Row<'identity_agents'> | null>;
  /** One after the other of one agent. */
  locked(within: Database, agentId: string): Promise<Row<'identity_agents'>>;
  /** What may be delegated to an agent that is registered. */
  setEnvelope(within: Database, agent: Row<'identity_agents'>, to: Envelope, nowMs: number): Promise<void>;
  /** What is said of an agent that is registered. */
  setEntry: Registry['setEntry'];
  /** The same for who stops it, also where somebody edited its row. Throws `not_found`. */
  lockedAsItIs(within: Database, id: string, tenant: string): Promise<StoppedAgent>;
  /** Takes back every certificate of the agent, the tokens that it has not used, and what is being made of it; what somebody edited is left. */
  takeBack(within: Database, agent: StoppedAgent, by: RevokedBy): Promise<TakenBack>;
  /** The same of one that may have a first certificate again once it is let go. */
  takeBackWhileStopped(within: Database, agent: Row<'identity_agents'>, by: RevokedBy): Promise<TakenBack>;
  /** Told what could not be taken back. */
  readonly onLeft: (left: LeftBehind) => void;
  /** Has what is running now be reported. */
  reported(within: Database, stopped: NewReport, by: RevokedBy): Promise<void>;
  /** Throws `tenant_suspended`. */
  assertTenantActive(within: Database, tenant: string): Promise<void>;
}

export interface Standings extends StandingStore {
  /** Throws `agent_suspended`, `agent_decommissioned` or `tenant_suspended`. */
  assertActive(within: Database, agent: Pick<Row<'identity_agents'>, 'id' | 'tenant'>): Promise<void>;
}

/** What somebody did, for the ledger, and what it makes of the row. */
type Changed = Pick<IdentityEvent, 'kind' | 'standing'> & { readonly to: Partial<Row<'identity_standings'>> };

/** What agents may do (docs/architecture/identity.md#standing). */
export function openStandingStore(parts: StandingParts): Standings {
  const { db, rows: standings, intact, inTransaction, asked, told, agentOf } = parts;

  /** Stores what an agent may do from now on, under the next number, with its row for the ledger. */
  async function stored(
    within: Database,
    was: Row<'identity_standings'>,
    { kind, to, standing }: Changed,
    { by, reason, nowMs }: RevokedBy,
  ): Promise<Row<'identity_standings'>> {
    const row = await standings.changed(within, was, to, nowMs);
    await told(within, {
      kind,
      subject: `${was.id}/${Number(row.listed_generation)}`,
      tenant: was.tenant,
      agent: was.agent_name,
      agentId: was.id,
      by,
      reason,
      standing: { state_before: was.state, state_after: row.state, ...standing },
    });
    return row;
  }

  /** Changes what an agent may do, and says what it is then; `null` changes nothing. */
  const changing = (
    id: string,
    tenant: string,
    by: RevokedBy,
    how: (
      was: Row<'identity_standings'>,
      within: Database,
      agent: Row<'identity_agents'>,
    ) => Promise<Changed | null> | null,
  ): Promise<RegisteredAgent> =>
    inTransaction(async (within) => {
      await agentOf(within, id, tenant);
      const agent = await parts.locked(within, id);
      const known = await standings.find(within, id);
      const was = known ?? untouched(agent);
      const change = await how(was, within, agent);
      if (change === null) return recordOf(agent, known, by.nowMs);
      const row = await stored(within, was, change, by);
      // Read again: what was done may have opened its recovery.
      return recordOf(await agentOf(within, id, tenant), row, by.nowMs);
    });

  /**
   * The same for what only takes away: rows that somebody edited keep nobody from being stopped. That of what the agent may do is written anew, and
   * the ledger is told that it was not as Gate wrote it.
   */
  async function stopping(
    id: string,
    tenant: string,
    by: RevokedBy,
    how: (
      was: Row<'identity_standings'>,
      within: Database,
      agent: StoppedAgent,
      isEdited: boolean,
    ) => Promise<(Changed & { readonly left: TakenBack['left'] }) | null>,
  ): Promise<RegisteredAgent> {
    const done = await inTransaction(async (within) => {
      const agent = await parts.lockedAsItIs(within, id, tenant);
      const found = await standings.asItIs(within, id);
      const isEdited = found !== undefined && found.fault !== null;
      const was = isEdited ? restored(found, agent.known, by.nowMs) : (found?.row ?? untouched(agent.known));
      const change = await how(was, within, agent, isEdited);
      if (change === null) return { agent: recordOf(agent.known, was, by.nowMs), left: [] };
      const standing = { ...change.standing, ...editedDetail([agent.fault, found?.fault ?? null], found ?? null) };
      const row = await stored(within, was, { ...change, standing }, by);
      const now = (await parts.lockedAsItIs(within, id, tenant)).known;
      return { agent: recordOf(now, row, by.nowMs), left: change.left };
    });
    done.left.forEach(parts.onLeft);
    return done.agent;
  }

  const decommissioned = async (within: Database, agent: StoppedAgent, by: RevokedBy) => ({
    kind: 'agent.decommissioned' as const,
    to: { ...movedTo('decommissioned', by), ...NO_HIL },
    left: (await parts.takeBack(within, agent, by)).left,
  });

  return {
    agents: ({ tenant, state, agent: name, ownerTeam, after }, nowMs) =>
      asked(async () => {
        const named = db.selectFrom('identity_agents').selectAll().where('tenant', '=', tenant);
        const behind = after === undefined ? named : named.where('agent_name', '>', after);
        const rows = await (name === undefined ? behind : behind.where('agent_name', '=', name))
          .$if(state === 'active', (query) => query.where('id', 'not in', ofState(db, '<>', 'active')))
          .$if(state !== undefined && state !== 'active', (query) =>
            query.where('id', 'in', ofState(db, '=', state as AgentState)),
          )
          .$if(ownerTeam !== undefined, (query) =>
            query.where('id', 'in', (rows) =>
              rows
                .selectFrom('identity_registry')
                .select('identity_registry.id')
                .where('identity_registry.tenant', '=', tenant)
                .where('identity_registry.owner_team', '=', ownerTeam ?? ''),
            ),
          )
          .orderBy('agent_name')
          .limit(AGENTS_LISTED)
          .execute();
        if (rows.length === 0) return [];
        const ids = rows.map(({ id }) => id);
        const found = new Map(
          (await db.selectFrom('identity_standings').selectAll().where('id', 'in', ids).execute()).map((row) => [
            row.id,
            intact('identity_standings', row),
          ]),
        );
        return rows.map((row) => recordOf(intact('identity_agents', row), found.get(row.id), nowMs));
      }),
    agent: (id, tenant, nowMs) =>
      asked(async () => recordOf(await agentOf(db, id, tenant), await standings.find(db, id), nowMs)),
    register: ({ tenant, agent: name, envelope = NO_ENVELOPE, entry = NO_ENTRY }, { by, nowMs }) =>
      inTransaction(async (within) => {
        const row = await parts.newAgent(within, { tenant, agent: name, by, nowMs });
        if (row === null) {
          const { id } = await within
            .selectFrom('identity_agents')
            .select('id')
            .where('tenant', '=', tenant)
            .where('agent_name', '=', name)
            .executeTakeFirstOrThrow();
          const standing = await standings.find(within, id);
          throw new GateError(standing?.state === 'decommissioned' ? 'agent_name_retired' : 'agent_name_taken');
        }
        const { scope, yellow } = envelope;
        const isGrantable = scope.length + yellow.length > 0;
        if (isGrantable) await parts.setEnvelope(within, row, envelope, nowMs);
        const { ownerTeam, description } = entry;
        const isSaid = ownerTeam !== null || description !== null;
        if (isSaid) await parts.setEntry(within, row, entry, nowMs);
        await told(within, {
          kind: 'agent.registered',
          subject: row.id,
          tenant,
          agent: name,
          agentId: row.id,
          by,
          reason: null,
          ...(ownerTeam !== null && { standing: { owner_team: ownerTeam } }),
          ...((isGrantable || isSaid) && {
            content: {
              ...(isGrantable && { scope_envelope: [...scope], yellow_envelope: [...yellow] }),
              ...(description !== null && { description }),
            },
          }),
        });
        return recordOf(row, undefined, nowMs);
      }),
    suspend: (id, tenant, by) =>
      stopping(id, tenant, by, async (was, within, agent, isEdited) => {
        if (isEdited) return decommissioned(within, agent, by);
        assertLives(was);
        const to = suspended(was, by);
        if (to === null) return null;
        const taken = await parts.takeBackWhileStopped(within, agent.row, by);
        const stoppedMs = Number(to.state_changed_ms);
        await parts.reported(
          within,
          { kind: 'agent', stoppedId: id, tenant, name: was.agent_name, stoppedMs, taken },
          by,
        );
        return { kind: 'agent.suspended', to, left: taken.left };
      }),
    unsuspend: (id, tenant, by) =>
      changing(id, tenant, by, async (was, within, agent) => {
        assertLives(was);
        const step = released(was, by);
        if (step === null) return null;
        const { to, askedBy } = step;
        if (askedBy === null) return { kind: 'agent.unsuspend_requested', to };
        // What was left, and has been put back in the store since, is taken back before it would count again.
        const [left] = (await parts.takeBackWhileStopped(within, agent, by)).left;
        if (left) throw leftFault(left);
        return { kind: 'agent.unsuspended', to, standing: { requested_by: askedBy, confirmed_by: by.by } };
      }),
    decommission: (id, tenant, by) =>
      stopping(id, tenant, by, async (was, within, agent, isEdited) =>
        isEdited || was.state !== 'decommissioned' ? decommissioned(within, agent, by) : null,
      ),
    forceHil: (id, tenant, by, untilMs) =>
      changing(id, tenant, by, (was) => {
        assertLives(was);
        return Promise.resolve({
          kind: 'agent.containment_set',
          to: { hil_until_ms: untilMs, hil_applied_ms: by.nowMs, hil_by: by.by, hil_reason: by.reason },
          standing: { expires_at: new Date(untilMs).toISOString() },
        });
      }),
    clearForceHil: (id, tenant, by) =>
      changing(id, tenant, by, (was) => {
        assertLives(was);
        if (was.hil_until_ms === null || Number(was.hil_until_ms) <= by.nowMs) return null;
        return Promise.resolve({
          kind: 'agent.containment_cleared',
          to: NO_HIL,
          standing: {
            cleared_flag: { expires_at: new Date(Number(was.hil_until_ms)).toISOString(), actor: was.hil_by },
          },
        });
      }),
    async assertActive(within, { id, tenant }) {
      await parts.assertTenantActive(within, tenant);
      const standing = await standings.find(within, id);
      const fault = stateFault((standing?.state ?? 'active') as AgentState);
      if (fault !== null) throw fault;
    },
  };
}

const NO_HIL = { hil_until_ms: null, hil_applied_ms: null, hil_by: null, hil_reason: null };

/** Of an agent that nobody ever stopped. */
const untouched = ({ id, tenant, agent_name }: Row<'identity_agents'>): Row<'identity_standings'> => ({
  id,
  tenant,
  agent_name,
  ...NEVER_SUSPENDED,
  changed_ms: 0,
  ...NO_HIL,
  listed_generation: 0,
  mac: '',
});

/**
 * What a stop goes on from where somebody edited the row: an agent that is over. Whether it was decommissioned is what the row said, and nothing
 * else in the store does, so no stop makes of it an agent that two people can let go.
 */
const restored = (
  { row }: AsItIs<Row<'identity_standings'>>,
  agent: Row<'identity_agents'>,
  nowMs: number,
): Row<'identity_standings'> => ({
  ...untouched(agent),
  state: 'decommissioned',
  changed_ms: changedMsOf(row, nowMs),
});

const ofState = (within: Database, how: '=' | '<>', state: AgentState) =>
  within.selectFrom('identity_standings').select('id').where('state', how, state);

function assertLives({ state, agent_name: agent }: Row<'identity_standings'>): void {
  if (state === 'decommissioned')
    throw new GateError('agent_decommissioned', `${agent} was decommissioned: it stays so`);
}

export const toldStandingOf = (row: Row<'identity_standings'>): ToldStanding => ({
  tenant: row.tenant,
  agent: row.agent_name,
  state: row.state as AgentState,
  forceHilUntilMs: row.hil_until_ms === null ? null : Number(row.hil_until_ms),
  changedMs: Number(row.changed_ms),
});

function recordOf(
  agent: Row<'identity_agents'>,
  standing: Row<'identity_standings'> | undefined,
  nowMs: number,
): RegisteredAgent {
  const row = standing ?? untouched(agent);
  return {
    id: agent.id,
    tenant: agent.tenant,
    agent: agent.agent_name,
    createdBy: agent.created_by_sub,
    createdMs: Number(agent.created_ms),
    state: row.state as AgentState,
    stateChangedMs: row.state_changed_ms === null ? null : Number(row.state_changed_ms),
    stateChangedBy: row.state_changed_by,
    reason: row.state_reason,
    bootstrap: agent.svid_bootstrap_state as RegisteredAgent['bootstrap'],
    forceHil:
      row.hil_until_ms === null || Number(row.hil_until_ms) <= nowMs
        ? null
        : {
            untilMs: Number(row.hil_until_ms),
            appliedMs: Number(row.hil_applied_ms),
            by: row.hil_by ?? '',
            reason: row.hil_reason ?? '',
          },
    release: releaseOf(row, nowMs),
  };
}
