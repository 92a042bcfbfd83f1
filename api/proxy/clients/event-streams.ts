import { GateError } from '../../../domain/errors.js';
import type { AgentStanding, CertificateStanding, NamedAgent } from '../../../domain/identity/revocation-mirror.js';
import { isStopped } from '../../../domain/identity/standing.js';
import { agentKey } from '../refusals.js';

/** How often a stream says something: below what proxies and clients wait for an idle connection (a minute, mostly). */
export const HEARTBEAT_MS = 15_000;
/**
 * When a client whose stream broke may come back, in milliseconds. The SDKs' clients try twice at this distance and then give up: long enough
 * for Gate to be started again.
 */
const RECONNECT_MS = 10_000;

export const KEEP_ALIVE = ': keep-alive\n\n';

/** One event of a stream (HTML, section 9.2.6); each line of the text is a line of data. */
export const eventText = (data: string, id?: string): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: message\n${data
    .split(/\r\n|\r|\n/)
    .map((line) => `data: ${line}\n`)
    .join('')}\n`;

/** Why a stream ended whose client is known no more; a comment, which no client takes for a message. */
const CREDENTIAL_OVER = ': the certificate or token that opened this stream has ended; come back with the next one\n\n';

/** Why a stream ended where its proxy closes: what is known at once is still said. */
export const CLOSING = Symbol('closing');

const AGENT_STOPPED = ': an operator stopped this agent\n\n';

/** The events of a stream, and at the end why it ended, where that is because its client's certificate or token did, or its agent was stopped. */
export async function* saidToTheEnd(events: AsyncIterable<string>, signal: AbortSignal): AsyncGenerator<string> {
  yield* events;
  for (const why of [CREDENTIAL_OVER, AGENT_STOPPED]) if (signal.reason === why) yield why;
}

/** Says where a broken stream goes on, and nothing else. */
export const placeText = (id: string): string => `retry: ${RECONNECT_MS}\nid: ${id}\ndata: \n\n`;

/**
 * The event streams of a proxy: so many per agent, and none that keeps the proxy from closing. `rate_limited` where an agent has all of
 * its own. Those of an agent that is stopped end when that is heard, whatever it came with.
 */
export function createEventStreams(
  mostPerAgent: number,
  standing?: Pick<AgentStanding, 'agentFault'> & Pick<CertificateStanding, 'onRevoked'>,
) {
  const open = new Map<string, Set<AbortController>>();
  let closing = false;
  const stops = (agent: NamedAgent): boolean => isStopped(standing?.agentFault(agent)?.code);
  standing?.onRevoked(({ agents, tenants }) => {
    const all = [...open.keys()].filter((key) => tenants.some((tenant) => key.startsWith(`${tenant}/`)));
    for (const key of [...agents.filter(stops).map(agentKey), ...all])
      for (const place of open.get(key) ?? []) place.abort(AGENT_STOPPED);
  });
  return {
    /** `end` gives the place back; the signal says that the stream has to end: at the latest when who listens is known no more. */
    begin(caller: NamedAgent & { readonly validToMs?: number | undefined }): {
      readonly signal: AbortSignal;
      readonly end: () => void;
    } {
      const { validToMs: untilMs } = caller;
      const agent = agentKey(caller);
      const held = open.get(agent) ?? new Set<AbortController>();
      if (mostPerAgent > 0 && held.size >= mostPerAgent)
        throw new GateError('rate_limited', `${mostPerAgent} streams of this agent are open`, {
          fields: {
            scope: 'agent',
            key: agent,
            retry_after_secs: Math.ceil(HEARTBEAT_MS / 1_000),
            streams: mostPerAgent,
          },
        });
      const place = new AbortController();
      const over =
        untilMs === undefined
          ? undefined
          : setTimeout(() => place.abort(CREDENTIAL_OVER), timerMs(untilMs - Date.now()));
      open.set(agent, held.add(place));
      if (closing) place.abort(CLOSING);
      // Heard since it was let in.
      else if (stops(caller)) place.abort(AGENT_STOPPED);
      return {
        signal: place.signal,
        end() {
          clearTimeout(over);
          place.abort();
          held.delete(place);
          if (held.size === 0 && open.get(agent) === held) open.delete(agent);
        },
      };
    },
    /** Ends all of them; their clients come back, to another replica or after the restart. */
    close(): void {
      closing = true;
      for (const held of open.values()) for (const place of held) place.abort(CLOSING);
    },
    count: (): number => [...open.values()].reduce((sum, held) => sum + held.size, 0),
  };
}
/** The longest that a timer of Node takes. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const timerMs = (ms: number): number => Math.min(LONGEST_TIMER_MS, Math.max(0, ms));
export type EventStreams = ReturnType<typeof createEventStreams>;

/** What comes of `work`, or `null` once the time is over or the stream has to end. Leaves no timer behind. */
export async function within<Value>(
  work: Promise<Value>,
  ms: number,
  signal?: AbortSignal,
): Promise<{ readonly value: Value } | null> {
  let timer: NodeJS.Timeout | undefined;
  let stop: (() => void) | undefined;
  try {
    return await Promise.race([
      work.then((value) => ({ value })),
      new Promise<null>((resolve) => {
        stop = () => resolve(null);
        if (signal?.aborted) return stop();
        signal?.addEventListener('abort', stop, { once: true });
        timer = setTimeout(stop, ms);
      }),
    ]);
  } finally {
    clearTimeout(timer);
    if (stop) signal?.removeEventListener('abort', stop);
  }
}
