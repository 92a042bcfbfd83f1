import type { Logger } from 'pino';
import { createMcpUpstream, type McpUpstreamOptions } from '../activities/mcp-upstream.js';
import type { LedgerPort } from '../api/ledger/port.js';
import type { CallStores, EngineParts, KnownStanding, Opening, Over, SharedParts } from '../api/plugins/declaration.js';
import { actorTokensOf } from '../activities/actor-tokens.js';
import { knownStanding } from '../api/plugins/known-standing.js';
import { needed } from '../api/plugins/start.js';
import type { Config, Env } from '../config/env.js';
import { type CALL_STORE_SETTINGS, flowSettingsOf } from '../config/shared.js';
import type { UPSTREAM_SETTINGS } from '../config/worker.js';
import { createCallTalks } from '../domain/upstream/call-talks.js';
import { talksApart } from '../domain/upstream/talks-apart.js';
import { errorText } from '../domain/errors.js';
import { createIntroductions } from '../domain/identity/vouched-upstreams.js';
import { noUpstream } from '../domain/upstream/no-upstream.js';
import type { Upstream } from '../domain/upstream/upstream.js';
import type { StoreTarget } from '../adapters/store/database.js';
import { boundToLedger } from '../domain/tool-classes/bound-to-ledger.js';
import { DEMO_UPSTREAM, upstreamName } from '../domain/tool-classes/upstream-name.js';
import { upstreamsLog } from '../domain/upstream/upstreams-log.js';
import { openProxyStore } from './proxy-store.js';

export interface SharedPartsOptions {
  /** Every service runs in this process. */
  readonly together: boolean;
  readonly engine: () => Promise<EngineParts>;
  readonly ledger: () => Promise<LedgerPort>;
  /** Where the call store is, and what opens it; asked by a process that declares it. */
  readonly callStore: () => { readonly target: StoreTarget } & Config<typeof CALL_STORE_SETTINGS>;
  readonly upstream: Config<typeof UPSTREAM_SETTINGS> | undefined;
  /** Where the secrets of several upstreams are. */
  readonly env: Env;
  /** The tools that this process starts if no others are configured. */
  readonly demonstration?: () => Promise<string>;
  readonly logger: Logger;
  readonly onStop: Opening<unknown>['onStop'];
}

/** What several services of one process share; each part is created at its first use. */
export function sharedParts(options: SharedPartsOptions): SharedParts {
  const { together, engine, logger, onStop, demonstration } = options;
  const { upstreams, upstreamUrl: url, upstreamName: named, upstreamApiKey: apiKey } = options.upstream ?? {};
  const own = upstreams !== undefined || url !== undefined;
  const toolsName = upstreamName({
    name: named ?? (!own && demonstration ? DEMO_UPSTREAM : undefined),
    several: upstreams !== undefined,
    url,
  });

  const stores = once(async () => {
    const { target, recordKeys: keys, ...trust } = options.callStore();
    const flows = flowSettingsOf(trust);
    const { ledger } = await options.ledger();
    const opened = await needed(
      'the call store',
      openProxyStore(target, { keys, upstream: toolsName, ledger, flows, logger }),
    );
    onStop('stores', 'the call store', () => opened.calls.close());
    const classes = boundToLedger(opened.classes, ledger, together ? { graceMs: 0 } : {});
    if (together) await needed('the classes of the tools', classes.settle());
    return { ...opened, classes } satisfies CallStores;
  });
  let standing: KnownStanding | undefined;
  let toolsAt = url;
  const introductions = createIntroductions();
  const expectedAt = (at: string) => standing?.mirror.upstreamAt(at) ?? null;
  let upstreamOf: Promise<Upstream> | undefined;
  const upstream = async (over: () => Promise<Over>): Promise<Upstream> => {
    // Separate processes share the sessions with the tools; here there is one client.
    const sessionsWith = together ? undefined : (await stores()).sessionsWith;
    const opened = upstreams
      ? await (await import('../workers/upstreams.js')).openUpstreams(upstreams, {
          env: options.env,
          actorTokens: actorTokensOf(over),
          sessionsWith,
          expectedAt,
          onIntroduced: introductions.heard,
          ...upstreamsLog(logger),
        })
      : createUpstream((toolsAt ??= await demonstration?.()), (at) => ({
          ...(apiKey && { apiKey }),
          expected: () => expectedAt(at),
          onIntroduced: (name: string) => introductions.heard(at, name),
          ...(sessionsWith && { sessions: sessionsWith(at) }),
        }));
    onStop('upstream', 'the connections to tools', () => opened.close());
    return opened;
  };
  const talks = once(async () => {
    if (together) return createCallTalks();
    const { mcpQuestions: questions, mcpNotes: notes } = await stores();
    const made = talksApart({
      questions,
      notes,
      keys: options.callStore().recordKeys,
      onFault: (error) =>
        error === null
          ? logger.info({ event: 'questions_handed_on' }, 'what tools ask and say is handed on again')
          : logger.warn(
              { event: 'questions_kept_back', reason: errorText(error) },
              'what tools ask and say cannot be handed on: the call store fails',
            ),
    });
    onStop('sweeps', 'what tools ask', async () => made.close());
    return made;
  });
  return {
    introductions,
    toolsAt: () => toolsAt ?? null,
    engine,
    callStores: stores,
    upstream: (over) => (upstreamOf ??= upstream(over)),
    standing: (over, parts) => (standing ??= knownStanding({ ...parts, over })),
    talks,
    toolsName,
  };
}

/** The tools of the configured MCP server, or a stand-in that says that none is configured. */
const createUpstream = (
  url: string | undefined,
  optionsAt: (url: string) => Omit<McpUpstreamOptions, 'url'>,
): Upstream => (url ? createMcpUpstream({ url, ...optionsAt(url) }) : noUpstream);

/** Created at its first use, and the same afterwards. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
