import { LRUCache } from 'lru-cache';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import {
  type AgentProfile,
  type AgentsProfiles,
  agentLearned,
  NO_AGENT,
  NO_CALLS,
  toolLearned,
  type ToolProfile,
} from '../../domain/inspection/behaviour/profile.js';
import type { CallTraits } from '../../domain/inspection/behaviour/traits.js';
import { get, type Job, run } from '../store/jobs.js';
import * as statements from './statements.js';

/** Profiles that a process keeps decrypted. */
const KEPT = 1_000;
/** The name under which all calls of an agent are remembered: no tool has an empty one. */
const WHOLE_AGENT = '';

interface Kept<Profile> {
  readonly version: number;
  readonly profile: Profile;
}

/** The profiles of agents as jobs: sealed, each under its agent, tool and version, so that none stands in another's place. */
export interface ProfileJobs {
  read(tenant: string, agent: string, tools: readonly string[]): Job<AgentsProfiles>;
  /** Teaches calls that ran. What it returns keeps them in memory, and is called once that is committed. */
  learn(tenant: string, agent: string, calls: readonly CallTraits[], atMs: number): Job<() => void>;
  forget(): void;
}

/** With `alone`, nobody else writes the store, and what memory holds is what is stored. */
export function profileJobs(keys: KeyRing, alone: boolean): ProfileJobs {
  const kept = new LRUCache<string, Kept<unknown>>({ max: KEPT });
  const nameOf = (tenant: string, agent: string, tool: string) => JSON.stringify([tenant, agent, tool]);
  const contextOf = (name: string, version: number) => `${name}/profile/${version}`;

  function* stored<Profile>(tenant: string, agent: string, tool: string): Job<Kept<Profile | null>> {
    const name = nameOf(tenant, agent, tool);
    const known = kept.get(name) as Kept<Profile | null> | undefined;
    if (alone && known) return known;
    const row = yield* get(statements.selectProfile, tenant, agent, tool);
    const version = Number(row?.version ?? 0);
    if (known?.version === version) return known;
    const read = { version, profile: row ? opened<Profile>(row.sealed, contextOf(name, version)) : null };
    kept.set(name, read);
    return read;
  }

  /** One that does not open was not written by Gate, or its key is gone: nothing is known then, and the next call begins another. */
  function opened<Profile>(sealed: Uint8Array, context: string): Profile | null {
    try {
      return JSON.parse(keys.open(sealed, context).toString('utf8')) as Profile;
    } catch {
      return null;
    }
  }

  function* write(tenant: string, agent: string, tool: string, was: number, profile: object, atMs: number) {
    const name = nameOf(tenant, agent, tool);
    const version = was + 1;
    const sealed = keys.seal(JSON.stringify(profile), contextOf(name, version));
    const changes: number = yield* was === 0
      ? run(statements.insertProfile, tenant, agent, tool, sealed, version, atMs)
      : run(statements.updateProfile, sealed, version, atMs, tenant, agent, tool, was);
    return () => void (changes === 1 ? kept.set(name, { version, profile }) : kept.delete(name));
  }

  return {
    *read(tenant, agent, tools) {
      const { profile: whole } = yield* stored<AgentProfile>(tenant, agent, WHOLE_AGENT);
      const found = new Map<string, ToolProfile>();
      for (const tool of new Set(tools)) {
        if (!whole?.tools.includes(tool)) continue;
        const { profile } = yield* stored<ToolProfile>(tenant, agent, tool);
        if (profile) found.set(tool, profile);
      }
      return { agent: whole, tools: found };
    },

    *learn(tenant, agent, calls, atMs) {
      const begun = yield* stored<AgentProfile>(tenant, agent, WHOLE_AGENT);
      let whole = begun.profile ?? NO_AGENT;
      const tools = new Map<
        string,
        { readonly was: number; readonly before: ToolProfile | null; after: ToolProfile }
      >();
      for (const traits of calls) {
        whole = agentLearned(whole, traits.tool, atMs);
        if (!whole.tools.includes(traits.tool)) continue;
        let one = tools.get(traits.tool);
        if (!one) {
          const { version, profile } = yield* stored<ToolProfile>(tenant, agent, traits.tool);
          one = { was: version, before: profile, after: profile ?? NO_CALLS };
          tools.set(traits.tool, one);
        }
        one.after = toolLearned(one.after, traits, atMs);
      }
      const written: (() => void)[] = [];
      if (whole !== begun.profile) written.push(yield* write(tenant, agent, WHOLE_AGENT, begun.version, whole, atMs));
      for (const [tool, { was, before, after }] of tools)
        if (after !== before) written.push(yield* write(tenant, agent, tool, was, after, atMs));
      return () => {
        for (const keep of written) keep();
      };
    },

    forget: () => kept.clear(),
  };
}
