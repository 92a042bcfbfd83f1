import { buildConnector } from 'undici';
import { errorText } from '../../domain/errors.js';
import { foreignText } from '../../domain/text.js';
import { linear } from '../../domain/expressions/linear.js';

/** Errors of connections that never came to be. */
const unsent = new WeakSet<object>();

/**
 * undici's connector, which remembers the errors of connections that were not made: with those not a byte of a request left. The code of
 * an error alone cannot tell, since a TLS error may also end a connection in the middle of an answer.
 */
export function connectorThatTells(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector(options);
  return (target, callback) =>
    connect(target, (error, socket) => {
      if (error) unsent.add(error);
      if (error) callback(error, null);
      else callback(null, socket as NonNullable<typeof socket>);
    });
}

type Cause = {
  readonly message?: unknown;
  readonly code?: unknown;
  readonly cause?: unknown;
  readonly errors?: unknown;
};

/** The error and what lies beneath it. By shape: an error may come from another realm and be no `Error` here. */
function* causes(error: unknown, depth = 0): Generator<Cause> {
  if (typeof error !== 'object' || error === null || depth > 8) return;
  const at = error as Cause;
  yield at;
  if (Array.isArray(at.errors)) for (const inner of at.errors) yield* causes(inner, depth + 1);
  yield* causes(at.cause, depth + 1);
}

/** No connection, no name, no TLS: not a byte of the request was read by anybody. Of errors under a connector made above. */
export const surelyNotSent = (error: unknown): boolean => [...causes(error)].some((cause) => unsent.has(cause));

/** Codes whose messages name hosts, addresses or ports. What an agent or a ledger row is told is what happened, not where. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection closed',
  UND_ERR_SOCKET: 'connection closed',
  ETIMEDOUT: 'no connection in time',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  EHOSTUNREACH: 'host not reachable',
  ENETUNREACH: 'network not reachable',
  ENOTFOUND: 'host name not found',
  EAI_AGAIN: 'host name not found for now',
};

const ADDRESS = linear(String.raw`\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>)]+`, 'i');

/** The innermost message says what happened; outer ones say `fetch failed`. Without addresses: agents read it. */
export const causeText = (error: unknown): string => {
  const innermost = [...causes(error)].at(-1);
  const code = typeof innermost?.code === 'string' ? innermost.code : '';
  if (Object.hasOwn(WORDS, code)) return `${WORDS[code]} (${code})`;
  if (/CERT|TLS|SSL/.test(code)) return `the TLS certificate of the other end was not accepted (${code})`;
  // Messages of the system name addresses and ports behind their code.
  if (/^E[A-Z0-9_]+$/.test(code)) return `the connection failed (${code})`;
  const text = typeof innermost?.message === 'string' ? innermost.message : errorText(error);
  return foreignText(ADDRESS.replaceAll(text, '[address]'), 300);
};
