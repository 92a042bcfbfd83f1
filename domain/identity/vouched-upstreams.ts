import type { CallUpstream } from '../../contracts/call.js';
import type { UpstreamRegister } from './revocation-mirror.js';

/** What servers of tools call themselves, by their addresses, as this process heard it. */
export interface Introductions {
  heard(url: string, name: string): void;
  /** Whether the server at this address calls itself otherwise than before, since an hour at most. */
  isAnother(url: string): boolean;
}

/** How long calls say that a server calls itself otherwise. */
const TOLD_MS = 3_600_000;

export function createIntroductions(now: () => number = Date.now): Introductions {
  const heard = new Map<string, { readonly name: string; readonly changedMs: number | null }>();
  return {
    heard(url, name) {
      const known = heard.get(url);
      if (known?.name !== name) heard.set(url, { name, changedMs: known ? now() : null });
    },
    isAnother(url) {
      const changedMs = heard.get(url)?.changedMs ?? null;
      return changedMs !== null && now() < changedMs + TOLD_MS;
    },
  };
}

/**
 * What the row of a call of these tools says of its upstream (docs/architecture/upstreams.md#what-calls-say): nothing where nobody vouched for any, or
 * where it has no address. Of a batch, of the first tool that something is to be said of.
 */
export const callUpstreamOf =
  (
    addressOf: (tool: string) => string | null,
    register: UpstreamRegister,
    introductions: Pick<Introductions, 'isAnother'>,
  ) =>
  (tools: readonly string[]): CallUpstream | null => {
    if (!register.vouchesForAny()) return null;
    const told = tools.flatMap((tool): CallUpstream[] => {
      const url = addressOf(tool);
      if (url === null) return [];
      const id = register.upstreamAt(url)?.id ?? null;
      if (id === null) return [{ id, signal: 'upstream_not_registered' }];
      return [introductions.isAnother(url) ? { id, signal: 'upstream_identity_mutated' } : { id }];
    });
    return told.find(({ signal }) => signal !== undefined) ?? told[0] ?? null;
  };
