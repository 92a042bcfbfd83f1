import { RESPONSE_ENTITIES } from '../../contracts/response-scan.js';
import type { Listener } from '../upstream/call-talks.js';
import type { Upstream } from '../upstream/upstream.js';
import { edgesOf, instructionsIn } from './response-edges.js';
import { type JsonString, stringsOf } from './json-strings.js';
import { isSecret, sensitiveDataIn } from '../masking/sensitive-data.js';
import { numbersWithData } from './scan-response.js';

/** What an upstream said meanwhile and was not handed on, or, in observe mode, would not have been. */
export interface RecordedTalk {
  readonly withheld: number;
  /** Names of rules, and classes of secrets. */
  readonly found: readonly string[];
  /** A secret was kept from the agent. */
  readonly secrets?: true;
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
 * A listener that hears nothing with instructions to a model in it, and with `data` no secrets: progress, log messages, and what a client is
 * asked (a form, a sample of its model) reach an agent before the answer does. What stands across the edge of two messages is found at the
 * second one. No policy is asked, because the messages of a stream keep their order and wait for nobody. The upstream is told that its
 * question was refused.
 */
export function judgedTalk(
  listener: Listener,
  observed: boolean,
  { data = false }: { readonly data?: boolean } = {},
): JudgedTalk {
  const found = new Set<string>();
  const edges = edgesOf({ data });
  let withheld = 0;
  let secrets = false;
  const passes = (params: string): boolean => {
    const isTooLong = params.length > LONGEST;
    const strings = isTooLong ? [] : stringsOf(params);
    const leaks = data && !isTooLong ? [...new Set(secretsIn(params, strings))] : [];
    const alone = isTooLong ? [TOO_LONG] : instructionsIn(strings.map(({ value }) => value));
    const rules = [...alone, ...leaks, ...(alone.length + leaks.length === 0 ? edges.across(strings) : [])];
    if (rules.length === 0) {
      edges.add(strings);
      return true;
    }
    withheld += 1;
    for (const rule of rules) found.add(rule);
    secrets ||= rules.some((rule) => SECRETS.has(rule));
    return observed;
  };
  return {
    listener: {
      ...listener,
      told(method, params) {
        // What is dropped need not be looked at: a flood costs no more than what is handed on of it.
        if (!listener.drops?.(method, params) && passes(params)) listener.told(method, params);
      },
      async asked(method, params, timeoutMs, key, of) {
        // Its key reaches an agent as well.
        if (!passes(params) || (key !== undefined && !passes(JSON.stringify({ key }))))
          throw new Error('egress_blocked: what was to be asked holds instructions to a model or a secret');
        return listener.asked(method, params, timeoutMs, key, of);
      },
    },
    heard: () =>
      withheld === 0
        ? null
        : { withheld, found: [...found].toSorted(), ...(secrets && !observed && { secrets: true as const }) },
  };
}

const SECRETS: ReadonlySet<string> = new Set(RESPONSE_ENTITIES.filter(isSecret));

function* secretsIn(text: string, strings: readonly JsonString[]): Generator<string> {
  for (const { value } of strings) for (const { type } of sensitiveDataIn(value)) if (isSecret(type)) yield type;
  for (const { entity_type: type } of numbersWithData(text, strings)) if (isSecret(type)) yield type;
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
