import { rulesNowOf } from '../activities/rules-now.js';
import { addressOf } from '../api/proxy/routes/manual.js';
import { callCount } from '../domain/mcp/batch.js';
import { ledgerRowId } from '../domain/call/rows.js';
import { checkCallbackUrl, parseCallbackAllowlist } from '../domain/outbound/callback-url.js';
import { GateError } from '../domain/errors.js';
import { toolParams } from '../domain/tool-definitions/tool-params.js';
import type { WithdrawCall } from '../domain/review/ports.js';
import { createSigner } from '../domain/identity/signer.js';
import type { CallRecord } from '../domain/call/record.js';
import type { CallRunner } from '../domain/call/call-runner.js';
import type { LiteConfig } from '../config/lite.js';
import { agentLimitsOf } from '../config/shared.js';
import type { ActivityPorts } from '../workers/activities.js';
import type { LiteAppOptions } from './app.js';
import type { LiteKeys } from './keys.js';
import type { createRateLimit } from './rate-limit.js';
import type { LiteStores } from './stores.js';

export interface LiteProxyOptions {
  readonly config: LiteConfig;
  readonly stores: Pick<
    LiteStores,
    'calls' | 'ledger' | 'pins' | 'sessions' | 'states' | 'cursors' | 'tasks' | 'subscriptions'
  >;
  readonly keys: Pick<LiteKeys, 'signingKey'>;
  readonly ports: Pick<
    ActivityPorts,
    'upstream' | 'talks' | 'verifyDecision' | 'definitions' | 'quarantine' | 'reviews' | 'policies' | 'tools'
  >;
  readonly hasTools: boolean;
  readonly runner: Pick<CallRunner, 'start'>;
  readonly rateLimit: ReturnType<typeof createRateLimit>;
  readonly callDeadlineMs: number;
  readonly withdrawCall: WithdrawCall;
  readonly onFirstAnswer: (record: CallRecord) => void;
  readonly now: () => number;
  /** Agents may come with access tokens of an issuer, in the header that also holds the tokens of settings. */
  readonly byToken?: LiteAppOptions['proxy']['byToken'];
}

const MAX_IN_FLIGHT = 2_000;

/** The proxy's options, from lite's settings. */
export function liteProxyOptions(options: LiteProxyOptions): LiteAppOptions['proxy'] {
  const { config, stores, keys, ports, hasTools, rateLimit, ...rest } = options;
  const { calls, ledger, pins, sessions, states, cursors, tasks, subscriptions } = stores;
  const allowlist = parseCallbackAllowlist(config.callbackAllowlist);
  return {
    ...rest,
    calls,
    sessions,
    states,
    cursors,
    toolParams: toolParams(pins),
    tasks,
    subscriptions,
    // The console has no listener of its own.
    consoleOf: (request) => addressOf(request),
    ledger,
    signer: createSigner(keys.signingKey),
    verifyDecision: ports.verifyDecision,
    definitions: ports.definitions,
    quarantine: ports.quarantine,
    reviews: ports.reviews,
    rulesNow: rulesNowOf({ calls, policies: ports.policies, tools: ports.tools }),
    upstream: ports.upstream,
    talks: ports.talks,
    velocity: { limit: config.velocityLimit, windowMs: config.velocityWindowSecs * 1000 },
    upstreamTimeoutMs: config.upstreamTimeoutSecs * 1000,
    ttlSecs: { auto: config.pendingTtlSecs, standard: config.pendingTtlSecs, strict: config.pendingTtlSecs },
    maxInFlight: MAX_IN_FLIGHT,
    agentLimits: agentLimitsOf(config),
    demoAgents: new Set(config.demoAgents),
    verboseVerdicts: config.verboseVerdicts,
    checkCallback: (url) => checkCallbackUrl(url, allowlist, { allowPrivate: config.callbackAllowPrivate }).href,
    // Without tools an execution is refused before anything of it is stored.
    admitNew({ caller, contract, mcp }, correlationId) {
      // The ledger still knows a call whose record is gone, after its retention or because somebody deleted it.
      if (ledger.holds(ledgerRowId(correlationId, 'proxy.verdict'))) throw new GateError('call_purged');
      if (contract === 'gate.server-execution/v1' && !hasTools)
        throw new GateError(
          'upstream_not_configured',
          'Gate knows no tools: start it with --upstream URL, or with `gate lite -- <mcp server>`. Nothing was executed.',
          { fields: { contract, executable: false } },
        );
      return rateLimit(caller, mcp.tool, correlationId, callCount(mcp.method, mcp.body));
    },
    admitControl: rateLimit,
  };
}
