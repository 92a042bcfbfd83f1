import { detectInjection } from '../inspection/injection.js';
import { inspectTexts } from '../inspection/texts.js';
import type { Listener } from '../pipeline/call-talks.js';
import type { Upstream } from '../pipeline/upstream.js';
import { stringsOf } from './json-strings.js';

/** What an upstream said meanwhile and was not handed on, or, in observe mode, would not have been. */
export interface RecordedTalk {
  readonly withheld: number;
  readonly found: readonly string[];
}

export interface JudgedTalk {
  readonly listener: Listener;
  /** `null` where everything was handed on. */
  heard(): RecordedTalk | null;
}

/** Longer messages are not handed on: they would have to be looked at while everybody waits. */
const LONGEST = 65_536;
const TOO_LONG = 'too_long';

/**
 * A listener that hears nothing with instructions to a model in it: progress, log messages, and what a client is asked (a form, a sample of
 * its model) reach an agent before the answer does. No policy is asked, because the messages of a stream keep their order and wait for
 * nobody. The upstream is told that its question was refused.
 */
export function judgedTalk(listener: Listener, observed: boolean): JudgedTalk {
  const found = new Set<string>();
  let withheld = 0;
  const passes = (params: string): boolean => {
    const rules = params.length > LONGEST ? [TOO_LONG] : instructionsIn(params);
    if (rules.length === 0) return true;
    withheld += 1;
    for (const rule of rules) found.add(rule);
    return observed;
  };
  return {
    listener: {
      progress: listener.progress,
      told(method, params) {
        if (passes(params)) listener.told(method, params);
      },
      async asked(method, params, timeoutMs) {
        if (!passes(params)) throw new Error('egress_blocked: what was to be asked holds instructions to a model');
        return listener.asked(method, params, timeoutMs);
      },
    },
    heard: () => (withheld === 0 ? null : { withheld, found: [...found].toSorted() }),
  };
}

function instructionsIn(params: string): readonly string[] {
  const { detected, found } = detectInjection(
    '',
    inspectTexts({ texts: stringsOf(params).map(({ value }) => value) }, 'standard'),
  );
  return detected ? found : [];
}

/** The upstream, with what it says outside of calls judged in the same way. */
export function withJudgedTalk<Judged extends Upstream>(upstream: Judged, observed: boolean): Judged {
  const { listen } = upstream;
  if (!listen) return upstream;
  return {
    ...upstream,
    listen: (caller, listener, signal) =>
      listen.call(upstream, caller, judgedTalk(listener, observed).listener, signal),
  };
}
