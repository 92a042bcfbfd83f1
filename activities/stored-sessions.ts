import { randomUUID } from 'node:crypto';
import { setTimeout as after } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { sha256Hex } from '../domain/crypto/digest.js';
import type { KeyRing } from '../domain/crypto/key-ring.js';
import type { UpstreamCaller } from '../domain/upstream/upstream.js';
import type { Store } from '../adapters/store/database.js';
import { agentKey, type UpstreamSession, type UpstreamSessions } from './upstream-sessions.js';

export interface UpstreamSessionTables {
  upstream_sessions: {
    upstream: string;
    tenant: string;
    agent: string;
    opened_by: string;
    until_ms: number;
    sealed: Uint8Array | null;
  };
}

export interface StoredSessionsOptions {
  /** The address that the sessions belong to; another address has its own. */
  readonly url: string;
  readonly keys: KeyRing;
  readonly now?: () => number;
}

/** Longer than opening may take. When a process died while opening, the next one takes over. */
const LEASE_MS = 12_000;
const LOOK_AGAIN_MS = 50;
const MAX_KEPT = 1_000;

/**
 * Sessions that all processes over one store share, sealed at rest. One process opens an agent's session while the others wait. The session
 * outlives each of them, so none of them ends it: a server drops an idle session by itself, and says so at the next request.
 */
export function storedSessions(
  { db }: Store<UpstreamSessionTables>,
  { url, keys, now = Date.now }: StoredSessionsOptions,
): UpstreamSessions {
  const upstream = sha256Hex(url);
  const openers = new WeakMap<UpstreamSession, string>();
  const kept = new LRUCache<string, Promise<UpstreamSession>>({ max: MAX_KEPT });
  const context = (caller: UpstreamCaller) => `gate.upstream-session/${upstream}/${agentKey(caller)}`;

  const remove = ({ tenant, agent }: UpstreamCaller, opener: string) =>
    db
      .deleteFrom('upstream_sessions')
      .where('upstream', '=', upstream)
      .where('tenant', '=', tenant)
      .where('agent', '=', agent)
      .where('opened_by', '=', opener)
      .execute();

  /** The existing session; `null` when there is none, or when no key of this process decrypts it. */
  async function standing(caller: UpstreamCaller): Promise<UpstreamSession | null> {
    const row = await db
      .selectFrom('upstream_sessions')
      .select(['opened_by', 'sealed'])
      .where('upstream', '=', upstream)
      .where('tenant', '=', caller.tenant)
      .where('agent', '=', caller.agent)
      .executeTakeFirst();
    if (!row?.sealed) return null;
    try {
      const session = JSON.parse(keys.open(row.sealed, context(caller)).toString('utf8')) as UpstreamSession;
      openers.set(session, row.opened_by);
      return session;
    } catch {
      await remove(caller, row.opened_by);
      return null;
    }
  }

  /** Whether `opener` should open the agent's session. */
  async function claim({ tenant, agent }: UpstreamCaller, opener: string): Promise<boolean> {
    const lease = { opened_by: opener, until_ms: now() + LEASE_MS };
    const claimed = await db
      .insertInto('upstream_sessions')
      .values({ upstream, tenant, agent, ...lease, sealed: null })
      .onConflict((conflict) =>
        conflict
          .columns(['upstream', 'tenant', 'agent'])
          .doUpdateSet(lease)
          .where('upstream_sessions.sealed', 'is', null)
          // Expired, or from before the clock was set back. Clocks of two hosts may differ, so this is not decided to the second.
          .where(({ eb, or }) =>
            or([
              eb('upstream_sessions.until_ms', '<', now()),
              eb('upstream_sessions.until_ms', '>', now() + 2 * LEASE_MS),
            ]),
          ),
      )
      .returning('opened_by')
      .executeTakeFirst();
    return claimed !== undefined;
  }

  async function take(caller: UpstreamCaller, open: () => Promise<UpstreamSession>): Promise<UpstreamSession> {
    const opener = randomUUID();
    const untilMs = now() + 2 * LEASE_MS;
    for (;;) {
      const known = await standing(caller);
      if (known) return known;
      if (await claim(caller, opener)) break;
      if (now() > untilMs) throw new Error('another process is opening the session with the upstream');
      await after(LOOK_AGAIN_MS);
    }
    let session: UpstreamSession;
    try {
      session = await open();
    } catch (error) {
      await remove(caller, opener);
      throw error;
    }
    const { numUpdatedRows } = await db
      .updateTable('upstream_sessions')
      .set({ sealed: keys.seal(JSON.stringify(session), context(caller)) })
      .where('upstream', '=', upstream)
      .where('tenant', '=', caller.tenant)
      .where('agent', '=', caller.agent)
      .where('opened_by', '=', opener)
      .executeTakeFirst();
    // Opening took longer than the lease, and another process opened a session: that one is used.
    if (numUpdatedRows !== 1n) return take(caller, open);
    openers.set(session, opener);
    return session;
  }

  return {
    of(caller, open) {
      const key = agentKey(caller);
      const known = kept.get(key);
      if (known) return known;
      const taken = take(caller, open);
      kept.set(key, taken);
      taken.catch(() => {
        if (kept.peek(key) === taken) kept.delete(key);
      });
      return taken;
    },
    async drop(caller, session) {
      const key = agentKey(caller);
      const held = kept.peek(key);
      if (held && (await held.catch(() => null)) === session && kept.peek(key) === held) kept.delete(key);
      const opener = openers.get(session);
      if (opener !== undefined) await remove(caller, opener);
    },
    own: () => Promise.resolve([]),
  };
}
