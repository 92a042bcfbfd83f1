/** What every error of this package is. */
export class GateError extends Error {
  override name = 'GateError';
}

/** The request cannot be meant as it was written; nothing was sent. */
export class GateConfigError extends GateError {
  override name = 'GateConfigError';
}

/** Nothing is known of what was asked: Gate was not reached in time, or what answered is not Gate's. */
export class GateTransportError extends GateError {
  override name = 'GateTransportError';
  /** HTTP status of the answer; absent where none came. */
  readonly status: number | undefined;

  constructor(message: string, facts: { status?: number; cause?: unknown } = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.status = facts.status;
  }
}

/** Gate did not do what it was asked. `code` is stable (docs/reference/errors.md of Gate); the message is for the reader. */
export class GateRefused extends GateError {
  override name = 'GateRefused';
  readonly status: number;
  readonly code: string;
  readonly correlationId: string | undefined;
  /** The whole answer: some codes have more to say. */
  readonly body: Readonly<Record<string, unknown>>;

  constructor(status: number, code: string, body: Readonly<Record<string, unknown>>) {
    const reason = body['reason'] ?? body['reasoning'];
    super(`${code}: ${typeof reason === 'string' ? quoted(reason) : `HTTP ${status}`}`);
    this.status = status;
    this.code = code;
    this.correlationId = typeof body['correlation_id'] === 'string' ? body['correlation_id'] : undefined;
    this.body = body;
  }
}

/** A text of somebody else as an error may quote it: one line, bounded, without what a terminal would obey. */
export const quoted = (text: string): string =>
  text
    .slice(0, 1_024)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim();
