import type { KeyRing } from '../crypto/key-ring.js';
import { GateError } from '../errors.js';
import { agentIdentity, type SessionOwner } from './session.js';

/** What a client of MCP 2026-07-28 is given with `input_required`, and brings back with its next request (`basic/patterns/mrtr`). */
export interface RequestState {
  /** The call that it is the handle of. */
  readonly correlationId: string;
  /** Digest of what was asked for: the state belongs to no other request. */
  readonly asks: string;
  /** When the call was asked for first. */
  readonly askedMs: number;
  /** The questions that were put with it, each under its key: an answer is to the question of that time, and to no later one. */
  readonly questions: ReadonlyMap<string, string>;
  /** Its client was asked to open the page on which is decided about the call. */
  readonly opened: boolean;
}

/** A call may wait for a person for a day; whoever asks later than a day after that asks `GET /pending/{correlation_id}`. */
const STATE_LIFE_MS = 2 * 86_400_000;
/** Clocks of two replicas may differ by so much. */
const CLOCK_SKEW_MS = 60_000;
/** The longest that is opened. One with sixteen questions, each under a key of 128 characters that JSON writes with six, has less than 18,000. */
const MAX_SEALED = 24_576;

/**
 * Handles of calls that are sealed with a key of the proxy, bound to their agent, their request and a time: every replica opens them, also after a
 * restart, and nothing is stored. What was changed, made by somebody else, is another agent's or too old is one thing: `request_state_invalid`.
 */
export function requestStates({ keys, now = Date.now }: { readonly keys: KeyRing; readonly now?: () => number }) {
  const context = ({ tenant, spiffe }: SessionOwner) => `gate.mcp-request-state/${tenant}/${agentIdentity(spiffe)}`;
  return {
    seal(owner: SessionOwner, { correlationId, asks, askedMs, questions, opened }: RequestState): string {
      const content = JSON.stringify([correlationId, asks, askedMs, now(), opened, [...questions]]);
      return keys.seal(content, context(owner)).toString('base64url');
    },

    /** Throws `request_state_invalid`, and `request_state_mismatch` where it belongs to another request. */
    open(owner: SessionOwner, sealed: string, asks: string): RequestState {
      const state = opened(sealed, (bytes) => keys.open(bytes, context(owner)), now());
      if (!state) throw new GateError('request_state_invalid');
      if (state.asks !== asks) throw new GateError('request_state_mismatch');
      return state;
    },
  };
}
export type RequestStates = ReturnType<typeof requestStates>;

function opened(sealed: string, unseal: (bytes: Buffer) => Buffer, nowMs: number): RequestState | null {
  if (sealed.length > MAX_SEALED) return null;
  const bytes = Buffer.from(sealed, 'base64url');
  // The decoder passes over what is no base64; who changed the text changed the state.
  if (bytes.toString('base64url') !== sealed) return null;
  try {
    const [correlationId, asks, askedMs, sealedMs, wasOpened, questions] = JSON.parse(
      unseal(bytes).toString('utf8'),
    ) as [string, string, number, number, boolean, [string, string][]];
    const ageMs = nowMs - sealedMs;
    if (ageMs > STATE_LIFE_MS || ageMs < -CLOCK_SKEW_MS) return null;
    return { correlationId, asks, askedMs, questions: new Map(questions), opened: wasOpened };
  } catch {
    return null;
  }
}
