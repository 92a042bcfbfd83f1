import { LRUCache } from 'lru-cache';
import type { IdentityClient } from '../../activities/clients/identity-client.js';
import { TOOLS_REPORTED } from '../../contracts/tool-definition-pins.js';
import { snapshotOf } from '../../domain/identity/tool-definition-pins.js';
import type { ReportTools } from '../../domain/tool-definitions/watch.js';

const MOST_AGENTS = 10_000;

/** Tells identity what agents see of their tools. Nobody waits for it, and what it does not take is told with the next list that differs. */
export function createPinReporter({
  identity,
  onFailed,
}: {
  readonly identity: () => Promise<Pick<IdentityClient, 'tellToolDefinitions'>>;
  readonly onFailed: (error: unknown) => void;
}): ReportTools {
  const told = new LRUCache<string, string>({ max: MOST_AGENTS });
  return ({ tenant, agent }, { event, digests, changes }) => {
    const tools = new Map([...digests].slice(0, TOOLS_REPORTED).map(([name, sha256]) => [name, `sha256:${sha256}`]));
    const snapshot = snapshotOf(tools);
    const key = `${tenant}/${agent}`;
    const what = `${event} ${snapshot}`;
    if (told.get(key) === what) return;
    told.set(key, what);
    identity()
      .then((client) =>
        client.tellToolDefinitions({
          tenant,
          agent_id: agent,
          event,
          snapshot_sha256: snapshot,
          tools: [...tools].map(([name, definition_sha256]) => ({ name, definition_sha256 })),
          ...(changes.length > 0 && { changes: changes.slice(0, TOOLS_REPORTED) }),
        }),
      )
      .catch((error: unknown) => {
        told.delete(key);
        onFailed(error);
      });
  };
}
