import { randomUUID } from 'node:crypto';
import { CLIENT_CAPABILITIES, type ClientCapability } from '../../contracts/call.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { GateError } from '../errors.js';
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

/** The sessions that their agents ended. Kept until the id would be refused by its age. */
export interface EndedSessions {
  ended(id: string): Promise<boolean>;
  end(id: string, untilMs: number): Promise<void>;
}

/** Longer than a desktop client keeps a session, and as long as the records that its calls are replayed from. */
const SESSION_LIFE_MS = 30 * 86_400_000;
/** Clocks of two replicas may differ by so much. */
const CLOCK_SKEW_MS = 60_000;
/** The longest id that is opened; Gate's own has a third of this. */
const MAX_SEALED = 1_024;

/** Beside the capabilities in a sealed id. */
const OPENS_URLS = 'elicitation/url';

/** The identity of an agent, without the instance, which changes with every renewal of its certificate. */
export const agentIdentity = (spiffe: string): string => spiffe.replace(/\/instance\/[^/]*$/, '');

/**
 * Sessions whose state is their id, sealed with a key of the proxy: every replica opens it, also after a restart, and nothing is stored
 * but what an agent ended. The seal binds it to the agent and its tenant. An id that is unknown, changed, too old, ended or another
 * agent's is one thing: `session_not_found`.
 */
export function mcpSessions({
  keys,
  store,
  now = Date.now,
}: {
  readonly keys: KeyRing;
  readonly store: EndedSessions;
  readonly now?: () => number;
}) {
  const context = ({ tenant, spiffe }: SessionOwner) => `gate.mcp-session/${tenant}/${agentIdentity(spiffe)}`;

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
    /** Ends it in every replica. Calls that are under way go on: what they do is recorded all the same. */
    async end(sealed: string, owner: SessionOwner): Promise<void> {
      const session = await find(sealed, owner);
      await store.end(session.id, session.openedMs + SESSION_LIFE_MS + CLOCK_SKEW_MS);
    },
  };
}
export type McpSessions = ReturnType<typeof mcpSessions>;
