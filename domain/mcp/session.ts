import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { CLIENT_CAPABILITIES, type ClientCapability } from '../../contracts/call.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { GateError } from '../errors.js';
import type { LogLevel } from './log-levels.js';
import { SESSION_VERSIONS } from './protocol-versions.js';

/** A session that an agent opened with `initialize`. */
export interface McpSession {
  readonly id: string;
  readonly protocolVersion: string;
  readonly openedMs: number;
  /** What its client said it can be asked. */
  readonly can: readonly ClientCapability[];
  /** Whether it can be asked to open an address for its user. */
  readonly opensUrls: boolean;
}

/** Whose session it is: the agent, whatever instance of it asks. */
export interface SessionOwner {
  readonly tenant: string;
  readonly spiffe: string;
}

/** What is stored of sessions, until the id would be refused by its age: that their agents ended them, and what they want to hear. */
export interface SessionStore {
  ended(id: string): Promise<boolean>;
  end(id: string, untilMs: number): Promise<void>;
  logLevel(id: string): Promise<LogLevel | null>;
  setLogLevel(id: string, level: LogLevel, untilMs: number): Promise<void>;
}

/** Longer than a desktop client keeps a session, and as long as the records that its calls are replayed from. */
const SESSION_LIFE_MS = 30 * 86_400_000;
/** Clocks of two replicas may differ by so much. */
const CLOCK_SKEW_MS = 60_000;
/** So long after a session's level was set at one replica, the others may still filter by the one before. */
const LEVEL_READ_MS = 1_000;
const MOST_LEVELS = 10_000;
/** The longest id that is opened; Gate's own has a third of this. */
const MAX_SEALED = 1_024;

/** From then on its age alone refuses it. */
export const untilMs = ({ openedMs }: McpSession): number => openedMs + SESSION_LIFE_MS + CLOCK_SKEW_MS;

/** Beside the capabilities in a sealed id. */
const OPENS_URLS = 'elicitation/url';

/** The identity of an agent, without the instance, which changes with every renewal of its certificate. */
export const agentIdentity = (spiffe: string): string => spiffe.replace(/\/instance\/[^/]*$/, '');

/**
 * Sessions whose state is their id, sealed with a key of the proxy: every replica opens it, also after a restart, and nothing is stored
 * but what changes later: its end, and the level of log messages. The seal binds it to the agent and its tenant. An id that is unknown, changed, too old, ended or another
 * agent's is one thing: `session_not_found`.
 */
export function mcpSessions({
  keys,
  store,
  now = Date.now,
}: {
  readonly keys: KeyRing;
  readonly store: SessionStore;
  readonly now?: () => number;
}) {
  const context = ({ tenant, spiffe }: SessionOwner) => `gate.mcp-session/${tenant}/${agentIdentity(spiffe)}`;

  /** Of the sessions that are told log messages now: each of these is compared with it. */
  const levels = new LRUCache<string, { readonly readMs: number; readonly level: Promise<LogLevel | null> }>({
    max: MOST_LEVELS,
  });

  /** `null` for what is not a session of this agent. */
  function opened(sealed: string, owner: SessionOwner): McpSession | null {
    if (sealed.length > MAX_SEALED) return null;
    try {
      const text = keys.open(Buffer.from(sealed, 'base64url'), context(owner)).toString('utf8');
      const [id, protocolVersion, openedMs, ...said] = JSON.parse(text) as [string, string, number, ...string[]];
      const can = CLIENT_CAPABILITIES.filter((name) => said.includes(name));
      return { id, protocolVersion, openedMs, can, opensUrls: said.includes(OPENS_URLS) };
    } catch {
      return null;
    }
  }

  async function find(sealed: string, owner: SessionOwner): Promise<McpSession> {
    const session = opened(sealed, owner);
    const ageMs = now() - (session?.openedMs ?? 0);
    if (!session || ageMs > SESSION_LIFE_MS || ageMs < -CLOCK_SKEW_MS) throw new GateError('session_not_found');
    if (await store.ended(session.id)) throw new GateError('session_not_found');
    return session;
  }

  return {
    /** The value of `Mcp-Session-Id`: visible ASCII, a new one each time. `null` where the revision has no sessions. */
    open(
      owner: SessionOwner,
      protocolVersion: string,
      { can = [], opensUrls = false }: Partial<Pick<McpSession, 'can' | 'opensUrls'>> = {},
    ): string | null {
      if (!SESSION_VERSIONS.includes(protocolVersion)) return null;
      const said = [...can, ...(opensUrls ? [OPENS_URLS] : [])];
      const content = JSON.stringify([randomUUID(), protocolVersion, now(), ...said]);
      return keys.seal(content, context(owner)).toString('base64url');
    },
    find,
    /** Whether its agent ended it. */
    ended: ({ id }: McpSession): Promise<boolean> => store.ended(id),
    /** From which level on its client wants log messages; `null` where it said nothing. */
    logLevel({ id }: McpSession): Promise<LogLevel | null> {
      const known = levels.get(id);
      const ageMs = now() - (known?.readMs ?? 0);
      if (known && ageMs >= 0 && ageMs < LEVEL_READ_MS) return known.level;
      const read = { readMs: now(), level: store.logLevel(id) };
      levels.set(id, read);
      read.level.catch(() => {
        if (levels.peek(id) === read) levels.delete(id);
      });
      return read.level;
    },
    /** Holds at once in this process, and in every other one within a second. */
    async setLogLevel(session: McpSession, level: LogLevel): Promise<void> {
      await store.setLogLevel(session.id, level, untilMs(session));
      levels.set(session.id, { readMs: now(), level: Promise.resolve(level) });
    },
    /** Ends it in every replica. Calls that are under way go on: what they do is recorded all the same. */
    end: (session: McpSession): Promise<void> => store.end(session.id, untilMs(session)),
  };
}
export type McpSessions = ReturnType<typeof mcpSessions>;
