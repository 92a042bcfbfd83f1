import { buildConnector } from 'undici';
import { errorText } from '../../domain/errors.js';
import { foreignText } from '../../domain/text.js';
import { linear } from '../../domain/expressions/linear.js';

/** Errors of connections that were never made, and of what came before one. */
const unsent = new WeakSet<object>();

/**
 * undici's connector, remembering the errors of connections that were not made: with those, not a byte of a request was sent. The error's
 * code alone cannot tell, because a TLS error may also end a connection in the middle of an answer.
 */
export function connectorThatTells(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector(options);
  return (target, callback) =>
    connect(target, (error, socket) => {
      if (error) callback(neverSent(error), null);
      else callback(null, socket as NonNullable<typeof socket>);
    });
}

/** Says of an error that it came before anything was sent; returns it. */
export function neverSent<Thrown>(error: Thrown): Thrown {
  if (typeof error === 'object' && error !== null) unsent.add(error);
  return error;
}

type Cause = {
  readonly message?: unknown;
  readonly code?: unknown;
  readonly cause?: unknown;
  readonly errors?: unknown;
};

/** The error and its causes. Recognised by shape, because an error may come from another realm and not be an `Error` here. */
function* causes(error: unknown, depth = 0): Generator<Cause> {
  if (typeof error !== 'object' || error === null || depth > 8) return;
  const at = error as Cause;
  yield at;
  if (Array.isArray(at.errors)) for (const inner of at.errors) yield* causes(inner, depth + 1);
  yield* causes(at.cause, depth + 1);
}

/** No connection, no name, no TLS: nobody read a byte of the request. Of errors that the connector above produced, or that `neverSent` was told. */
export const surelyNotSent = (error: unknown): boolean => [...causes(error)].some((cause) => unsent.has(cause));

/** Codes whose messages contain hosts, addresses or ports. Agents and ledger rows are told what happened, not where. */
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

/** The innermost message says what happened; the outer ones say `fetch failed`. Addresses are left out, because agents read it. */
export const causeText = (error: unknown): string => {
  const innermost = [...causes(error)].at(-1);
  const code = typeof innermost?.code === 'string' ? innermost.code : '';
  if (Object.hasOwn(WORDS, code)) return `${WORDS[code]} (${code})`;
  if (/CERT|TLS|SSL/.test(code)) return `the TLS certificate of the other end was not accepted (${code})`;
  // System messages contain addresses and ports after their code.
  if (/^E[A-Z0-9_]+$/.test(code)) return `the connection failed (${code})`;
  const text = typeof innermost?.message === 'string' ? innermost.message : errorText(error);
  return foreignText(ADDRESS.replaceAll(text, '[address]'), 300);
};
