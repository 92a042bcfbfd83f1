import type { RecordedVerdict } from '../../contracts/policy-studies.js';
import type { Comparison } from '../replay/comparisons.js';
import type { AddedRules } from './added-rules.js';
import type { Explanation } from './explain/explain.js';
import type { RuleText } from './explain/hints.js';
import type { RecordedCall } from './judged-again.js';
import type { LabJudgement } from './lab.js';
import type { Compared, InCommon } from './mining/evidence.js';

/** What rules say of recorded calls, for people: none of it is within a call, and no call waits for it. */
export interface Studies {
  /** What the rows of a call say, beside what follows from its input by the floor and these rules. */
  readonly again: (recorded: RecordedVerdict, added: AddedRules | null) => Promise<readonly Comparison[]>;
  /** Why the call is judged as it is by the floor and these rules, whose texts are given. */
  readonly why: (call: RecordedCall, added: AddedRules | null, texts: readonly RuleText[]) => Promise<Explanation>;
  /** How many parts of a lab are judged at once. */
  readonly lanes: number;
  /** What the rules of now and a candidate say of each call. A lane is one of `lanes`; each has one question at a time. */
  readonly lab: (
    calls: readonly RecordedCall[],
    rules: { readonly before: AddedRules | null; readonly after: AddedRules | null },
    lane: number,
  ) => Promise<readonly LabJudgement[]>;
  /** What people's decisions about one tool have in common. */
  readonly compared: (calls: Compared) => Promise<InCommon>;
  readonly close: () => Promise<void>;
}
