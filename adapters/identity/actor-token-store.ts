import type { Kysely, Selectable } from 'kysely';
import type { ActorTokenStore } from '../../domain/identity/actor-tokens.js';
import { GateError } from '../../domain/errors.js';
import type { IdentityTables } from './identity-tables.js';

type Database = Kysely<IdentityTables>;
type Row<Table extends keyof IdentityTables> = Selectable<IdentityTables[Table]>;
const TOKENS = 'identity_actor_tokens';
const USES = 'identity_actor_uses';

/** What the store of identity has for actor tokens. */
export interface ActorTokenParts {
  readonly db: Database;
  fault(table: typeof TOKENS, row: { readonly mac: string }): string | null;
  marked<Values extends object>(table: typeof TOKENS | typeof USES, values: Values): Values & { readonly mac: string };
  change(
    within: Database,
    table: typeof TOKENS,
    was: Row<typeof TOKENS>,
    changes: Partial<Row<typeof TOKENS>>,
  ): Promise<boolean>;
  inTransaction<Value>(work: (within: Database) => Promise<Value>): Promise<Value>;
  asked<Value>(work: () => Promise<Value>): Promise<Value>;
  agentByName(within: Database, tenant: string, name: string): Promise<Row<'identity_agents'> | undefined>;
  /** One after the other of one agent. */
  locked(within: Database, agentId: string): Promise<Row<'identity_agents'>>;
  /** Throws how the agent is stopped. */
  assertActive(within: Database, agent: Row<'identity_agents'>): Promise<void>;
}

/** Who looks into the store finds what was given in the last day. */
const KEPT_AFTER_END_MS = 86_400_000;
const FORGOTTEN_EVERY_MS = 60_000;

/** Tokens that agents take to other Gates, and those of other Gates that were used here (docs/architecture/identity.md#actor-tokens). */
export async function openActorTokenStore(parts: ActorTokenParts): Promise<ActorTokenStore> {
  const { db, fault, marked, change, inTransaction, asked } = parts;

  // What an earlier process was about to sign never left.
  for (const left of await db.selectFrom(TOKENS).selectAll().where('state', '=', 'pending').execute())
    if (fault(TOKENS, left) === null) await change(db, TOKENS, left, { state: 'interrupted' });

  const find = (within: Database, jti: string) =>
    within.selectFrom(TOKENS).selectAll().where('id', '=', jti).executeTakeFirst();

  let forgottenAtMs = Number.NEGATIVE_INFINITY;
  /** What counts for nobody any more. It is no part of what is asked: what stays is forgotten the next time. */
  async function forget(nowMs: number): Promise<void> {
    if (performance.now() - forgottenAtMs < FORGOTTEN_EVERY_MS) return;
    forgottenAtMs = performance.now();
    try {
      await db.deleteFrom(USES).where('kept_until_ms', '<', nowMs).execute();
      await db
        .deleteFrom(TOKENS)
        .where('expires_ms', '<', nowMs - KEPT_AFTER_END_MS)
        .execute();
    } catch {
      // The store fails: who asks for something is told.
    }
  }

  return {
    beginActorToken: (token) =>
      inTransaction(async (within) => {
        const agent = await parts.agentByName(within, token.tenant, token.agent);
        if (!agent) throw new GateError('unregistered_agent');
        await parts.assertActive(within, agent);
        await within
          .insertInto(TOKENS)
          .values(
            marked(TOKENS, {
              id: token.jti,
              agent_id: agent.id,
              tenant: token.tenant,
              agent_name: token.agent,
              agent_spiffe: token.spiffe,
              audience: token.audience,
              operation: token.operation,
              scope: JSON.stringify(token.scope),
              issued_ms: token.issuedMs,
              expires_ms: token.expiresMs,
              state: 'pending',
            }),
          )
          .execute();
      }),

    async releaseActorToken(token) {
      await inTransaction(async (within) => {
        const row = await find(within, token.jti);
        if (!row) throw closed();
        // Whoever stops the agent sees it released, or it is not released.
        await parts.assertActive(within, await parts.locked(within, row.agent_id));
        if (row.state !== 'pending' || !(await change(within, TOKENS, row, { state: 'released' }))) throw closed();
      });
      await forget(token.issuedMs);
    },

    failActorToken: (jti) =>
      asked(async () => {
        const row = await find(db, jti);
        if (row?.state === 'pending') await change(db, TOKENS, row, { state: 'failed' });
      }),

    // One statement: the store itself tells the first from every other one, whichever process asks.
    async useActorToken({ id, issuer, jti, usedMs, keptUntilMs }) {
      const first = await asked(async () => {
        const { numInsertedOrUpdatedRows } = await db
          .insertInto(USES)
          .values(marked(USES, { id, issuer, jti, used_ms: usedMs, kept_until_ms: keptUntilMs }))
          .onConflict((conflict) => conflict.column('id').doNothing())
          .executeTakeFirst();
        return numInsertedOrUpdatedRows === 1n;
      });
      await forget(usedMs);
      return first;
    },
  };
}

const closed = (): GateError => new GateError('store_unavailable', 'the request was closed meanwhile; ask again');
