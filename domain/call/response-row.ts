import type { Json, JsonObject } from '../../contracts/json.js';
import type { RecordedInspection } from '../inspection/response-judge.js';

type ResponseSignal =
  | 'egress_suspicious'
  | 'egress_marked'
  | 'egress_sanitized'
  | 'egress_violation'
  | 'egress_stream_exfil'
  | 'would_mark_egress'
  | 'would_sanitize_egress'
  | 'would_deny_egress';
const SIGNALS: Readonly<
  Record<RecordedInspection['released'], readonly [done: ResponseSignal, would: ResponseSignal]>
> = {
  as_is: ['egress_suspicious', 'egress_suspicious'],
  marked: ['egress_marked', 'would_mark_egress'],
  sanitized: ['egress_sanitized', 'would_sanitize_egress'],
  withheld: ['egress_violation', 'would_deny_egress'],
};

/** What the row `response.inspected` says: classes, rules and digests, never what was found. */
export function responseRow(inspected: RecordedInspection, releasedSha256: string | null) {
  const { released, would, entities, found, actions, raw_sha256, scanner_version, policy_bundle, talk, reason } =
    inspected;
  const { answered_by, prompt_sha256, cost_micros, unread } = inspected;
  const said: JsonObject = {
    released,
    ...(would && { would }),
    entities: [...entities],
    found: [...found],
    actions: { ...actions },
    raw_sha256,
    released_sha256: releasedSha256,
    scanner_version,
    policy_bundle: policy_bundle as Json,
    ...(answered_by !== undefined && { answered_by }),
    ...(prompt_sha256 !== undefined && { prompt_sha256 }),
    ...(unread !== undefined && { unread }),
    ...(talk && { talk: { withheld: talk.withheld, found: [...talk.found], ...(talk.secrets && { secrets: true }) } }),
  };
  const isClean = entities.length === 0 && !talk && released === 'as_is' && !would;
  const [done, wouldBe] = SIGNALS[would ?? released];
  // Where the answer itself passed, what was kept of the messages before it is worth more than that something was found.
  const signal: ResponseSignal | null = would
    ? wouldBe
    : released === 'as_is' && talk?.secrets
      ? 'egress_stream_exfil'
      : isClean
        ? null
        : done;
  return {
    authorized: (would ?? released) !== 'withheld',
    reasoning: `egress: ${reason}`,
    /** As the row has it: none where a model read the answer and nothing was found. */
    extra: { ...(signal && { signal }), ...(cost_micros !== undefined && { cost_micros }) },
    said,
  };
}
