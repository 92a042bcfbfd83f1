import { setTimeout as after } from 'node:timers/promises';
import type { Json, JsonObject } from '../../contracts/json.js';
import { GateError } from '../../domain/errors.js';
import type { McpRequest } from '../../domain/mcp/envelope.js';
import type { Listener } from '../../domain/pipeline/call-talks.js';
import type { Upstream } from '../../domain/pipeline/upstream.js';
import { withoutClaim } from '../../domain/review/told-change.js';
import type { AgentLimitsCheck } from './agent-limits.js';
import type { ControlLog } from './control-log.js';
import type { AgentCaller } from './mcp-requests.js';
import { sharedListening } from './shared-listening.js';

export type ControlRequest = McpRequest & { readonly kind: 'control' };

/** What an upstream answered to a control method; `null` without a body. */
export type ControlReply = { readonly status: number; readonly text: string; readonly failed: boolean } | null;

export interface ControlOptions {
  readonly limits: AgentLimitsCheck;
  readonly controlLog: ControlLog;
  readonly upstream: Upstream;
  readonly upstreamTimeoutMs: number;
  /** Called before a control method is forwarded. Throws to refuse it. */
  readonly admitControl?: (caller: AgentCaller, method: string, correlationId: string) => Promise<void> | void;
}

const LISTEN_AGAIN_MS = 10_000;

/** Methods without a verdict: counted, limited, forwarded. */
export function createControls(options: ControlOptions) {
  const shared = sharedListening(async (caller, listener, signal) => {
    while (options.upstream.listen && !signal.aborted) {
      // An upstream that is away, or has no stream, is asked again later: its restart must not silence it for good.
      await options.upstream.listen(caller, listener, signal).catch(() => undefined);
      await after(LISTEN_AGAIN_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  });
  return {
    async admit(caller: AgentCaller, method: string, correlationId: string): Promise<void> {
      await options.admitControl?.(caller, method, correlationId);
      await options.limits.control({ caller, correlationId, name: method });
    },

    async forward(
      caller: AgentCaller,
      { method, body }: { readonly method: string; readonly body: JsonObject },
      correlationId: string,
    ): Promise<ControlReply> {
      // The level is of the agent's session, which filters by it: the session with the upstream is shared, and hears everything.
      if (method === 'logging/setLevel') return emptyReply(body['id'] ?? null);
      const note = (answered: boolean) => options.controlLog.note({ caller, method, correlationId, answered });
      const asking = options.upstream.control(caller, body, { timeoutMs: options.upstreamTimeoutMs });
      const reply = await asking.catch((error: unknown) => {
        note(false);
        throw error;
      });
      if (reply.kind !== 'not_sent') note(reply.kind === 'accepted' || (reply.kind === 'reply' && !reply.failed));
      if (reply.kind === 'accepted') return null;
      if (reply.kind === 'reply')
        return { status: reply.statusCode, text: withoutClaim(reply.text), failed: reply.failed };
      if (reply.kind === 'not_sent') throw new GateError('upstream_unreachable', reply.reason);
      throw new GateError(reply.cause === 'timeout' ? 'upstream_timeout' : 'upstream_invalid_response', reply.reason);
    },

    /** Until the signal, what the upstream says outside of calls. */
    listen: (caller: AgentCaller, listener: Listener, signal: AbortSignal): void => shared(caller, listener, signal),

    /** A request of the upstream that was handed on to the agent's client. */
    handedOn: (caller: AgentCaller, method: string, correlationId: string, answered: boolean): void =>
      options.controlLog.note({ caller, method, correlationId, answered }),
  };
}
/** What Gate answers where it has nothing to say but that it did as asked. */
export const emptyReply = (id: Json): ControlReply => ({
  status: 200,
  text: JSON.stringify({ jsonrpc: '2.0', id, result: {} }),
  failed: false,
});

export type Controls = ReturnType<typeof createControls>;
