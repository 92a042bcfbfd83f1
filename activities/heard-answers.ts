import type { ClientAnswer, Listener } from '../domain/upstream/call-talks.js';
import { sha256Hex } from '../domain/crypto/digest.js';
import type { BroughtAnswer, RecordedOutcome } from '../domain/call/record.js';

/** As many as a tool of MCP 2026-07-28 may ask in one call: 16 times 16 at once. */
const MOST_KEPT = 256;

/**
 * The listener of a call, and the digests of what its client brought to the tool through it. Nothing is asked once the call was stopped, and what is
 * answered then reaches no tool and is not counted. Questions that are open together are one round.
 */
export function withKeptAnswers(listener: Listener, stopped: () => string | null) {
  const kept: BroughtAnswer[] = [];
  let round = 0;
  let open = 0;
  let more = 0;
  const assertGoesOn = () => {
    const fault = stopped();
    if (fault !== null) throw new Error(fault);
  };
  const hearing: Listener = {
    ...listener,
    get progress() {
      return listener.progress;
    },
    async asked(...question): Promise<ClientAnswer> {
      assertGoesOn();
      if (open === 0) round += 1;
      const of = round;
      open += 1;
      try {
        const answer = await listener.asked(...question);
        assertGoesOn();
        const [kind, text] = answer;
        const [method, params] = question;
        if (kept.length === MOST_KEPT) more += 1;
        else
          kept.push({
            round: of,
            method,
            asked_sha256: sha256Hex(params),
            answer_sha256: sha256Hex(text),
            ...(kind === 'error' && { refused: true as const }),
          });
        return answer;
      } finally {
        open -= 1;
      }
    },
  };
  /** For the outcome of the call: nothing where its client answered nothing. */
  const outcome = (): Pick<RecordedOutcome, 'answers' | 'answers_more'> =>
    kept.length === 0 ? {} : { answers: [...kept], ...(more > 0 && { answers_more: more }) };
  return { listener: hearing, outcome };
}
