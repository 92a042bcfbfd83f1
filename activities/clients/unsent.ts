import { errorText } from '../../domain/errors.js';

/** Thrown below an HTTP client when a request surely did not leave this machine. */
export class NotSent extends Error {}

const UNSENT_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'EPROTO',
]);

function* causes(error: unknown): Generator<Error & { code?: unknown }> {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth += 1) {
    yield at;
    if (at instanceof AggregateError) for (const inner of at.errors) yield* causes(inner);
  }
}

/** No connection, no name, no TLS: not a byte of the request was read by anybody. */
export const surelyNotSent = (error: unknown): boolean =>
  [...causes(error)].some(
    ({ code }) =>
      typeof code === 'string' &&
      (UNSENT_CODES.has(code) || /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(code)),
  );
export const notSent = (error: unknown): boolean => [...causes(error)].some((cause) => cause instanceof NotSent);

/** The innermost message says what happened; outer ones say `fetch failed`. */
export const causeText = (error: unknown): string => errorText([...causes(error)].at(-1) ?? error).slice(0, 300);
