import { randomBytes } from 'node:crypto';
import { errorText, GateError } from '../domain/errors.js';
import { createFile, PRIVATE_FILE, readIfPresent } from '../adapters/store/durable-file.js';

/** The operator's token of a ledger file, where settings name none. */
export interface OwnDecideToken {
  readonly token: string;
  /** Where it is kept; `null` for a ledger in memory, whose token ends with the process. */
  readonly file: string | null;
  /** The token was just created; this is the only time it is shown. */
  readonly fresh: boolean;
}

export const decideTokenFileOf = (ledger: string): string => `${ledger}.decide-token`;

const TOKEN = /^[A-Za-z0-9_-]{43}$/;
const newToken = () => randomBytes(32).toString('base64url');

/**
 * The decide token of a ledger file, made at its first start and kept beside its keys, for its owner only: whoever asks must not decide,
 * so there is no edition without one. Throws where the file cannot be read or written, or holds something else.
 */
export function ownDecideToken(ledger: string): OwnDecideToken {
  if (ledger === ':memory:') return { token: newToken(), file: null, fresh: true };
  const file = decideTokenFileOf(ledger);
  try {
    const kept = keptDecideToken(file);
    if (kept !== null) return { token: kept, file, fresh: false };
    const token = newToken();
    createFile(file, `${token}\n`, PRIVATE_FILE);
    return { token, file, fresh: true };
  } catch (error) {
    if (error instanceof GateError) throw error;
    throw new GateError('store_unavailable', `the decide token of ${ledger} cannot be kept: ${errorText(error)}`, {
      cause: error,
    });
  }
}

/** The token in such a file, or `null` where there is none. Throws where it holds something else. */
export function keptDecideToken(file: string): string | null {
  const text = readIfPresent(file, PRIVATE_FILE)?.trim();
  if (text === undefined) return null;
  if (!TOKEN.test(text))
    throw new GateError(
      'store_unavailable',
      `${file} holds no decide token: remove it and a new one is made at the next start, or set GATE_LITE_DECIDE_TOKEN`,
    );
  return text;
}
