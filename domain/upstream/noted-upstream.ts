import type { NamedStanding, Upstream } from './upstream.js';
import { createUpstreamCircuit, type UpstreamFault } from './upstream-circuit.js';

/** Whether the outcome of a request says that the upstream is not well. */
export function faultOf(outcome: Awaited<ReturnType<Upstream['control']>>): UpstreamFault | null {
  switch (outcome.kind) {
    case 'not_sent':
      if (outcome.noCredentials) return 'no_credentials';
      return outcome.refused ? 'refused' : 'unreachable';
    case 'unknown':
      if (outcome.status !== undefined) return 'refused';
      return outcome.cause === 'timeout' ? 'timeout' : 'invalid_answer';
    case 'reply':
      return outcome.statusCode >= 400 ? 'refused' : null;
    case 'accepted':
      return null;
  }
}

/**
 * An upstream that stands alone, with how it stood when it was asked last. It holds nothing back and asks nothing. A call that takes long, or
 * whose answer nobody can read, says something of a tool and its arguments: for calls only who cannot be reached fails.
 */
export function notedUpstream<Noted extends Upstream>(
  name: string,
  upstream: Noted,
  now: () => number,
): { readonly upstream: Noted; readonly standing: () => NamedStanding } {
  const circuit = createUpstreamCircuit(now);
  const note = (fault: UpstreamFault | null) => (fault === null ? circuit.answered() : circuit.failed(fault));
  const noted = {
    ...upstream,
    async callTool(...asked: Parameters<Upstream['callTool']>) {
      const outcome = await upstream.callTool(...asked);
      if (outcome.kind !== 'unknown') note(outcome.kind === 'reply' ? null : faultOf(outcome));
      return outcome;
    },
    async control(...asked: Parameters<Upstream['control']>) {
      const outcome = await upstream.control(...asked);
      const fault = faultOf(outcome);
      // Who has a session already is introduced without a word of the upstream.
      if (fault !== null || asked[1]['method'] !== 'initialize') note(fault);
      return outcome;
    },
  };
  return { upstream: noted, standing: () => ({ name, ...circuit.standing() }) };
}
