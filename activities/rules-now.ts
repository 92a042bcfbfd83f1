import { isDeepStrictEqual } from 'node:util';
import type { ApprovalTier, ToolClassFact } from '../contracts/policy.js';
import type { JsonObject } from '../contracts/json.js';
import type { CallStore } from '../domain/call/ports.js';
import type { CallRecord } from '../domain/call/record.js';
import { secretsOf } from '../domain/call/rows.js';
import { GateError } from '../domain/errors.js';
import { keptReasons } from '../domain/masking/kept-reasons.js';
import { foldVerdict } from '../domain/call/verdict.js';
import { needsMoreEyes } from '../domain/decision/quorum.js';
import type { PolicyEvaluator } from '../domain/policy/evaluator.js';
import type { ToolClasses } from '../domain/tool-classes/port.js';
import { insist } from './insisting.js';
import { HISTORY_WINDOW_MS } from './opened-call.js';
import { evaluateChanged } from './policy.js';

type Classes = Readonly<Record<string, ToolClassFact>>;

/**
 * Why the rules of now do not let an approved call run; `null` when they are those it was judged by, or let it run as it was approved. The
 * rules are the bundle, with what operators added for the tenant, and the operators' class of each tool. Throws when policy does not answer,
 * and when a class that was known then cannot be read now.
 */
export type RulesNow = (record: CallRecord, body: JsonObject) => Promise<string | null>;

/**
 * A person approved what the rules of then said. Under other rules the call is judged again, with the inspection that it has: what they
 * deny, or leave to more eyes, does not run (docs/architecture/reviews.md#before-it-runs).
 */
export const rulesNowOf =
  (ports: { readonly calls: CallStore; readonly policies: PolicyEvaluator; readonly tools: ToolClasses }): RulesNow =>
  async ({ evidence, decision, approval_tier: approvedAs }, body) => {
    const { call, inspection } = evidence;
    const bundleThen = (decision?.changed?.policy_bundle ?? evidence.decision?.policy_bundle)?.hash_sha256;
    // `Omit` over a type with further properties forgets the type of each.
    const classesThen = (evidence.facts?.tool_classes ?? {}) as Classes;
    // A policy engine that starts anew costs no approval.
    const { heard, classesNow } = await insist(async () => {
      const history = await ports.calls.history(call.tenant, call.agent, call.received_ms - HISTORY_WINDOW_MS);
      const { facts, decision: heard } = await evaluateChanged(ports, call, body, history, inspection);
      const lost = unreadSince(classesThen, facts.tool_classes);
      if (lost !== undefined) throw new GateError('store_unavailable', `the class of ${lost} cannot be read`);
      return { heard, classesNow: facts.tool_classes };
    });
    if (heard.policy_bundle.hash_sha256 === bundleThen && isDeepStrictEqual(classesNow, classesThen)) return null;
    const { tier, reasons, review_reasons, approval_tier } = foldVerdict(inspection, heard, 'enforce');
    // It becomes the error of the call's end, which the ledger has as it is.
    const told = (said: readonly string[]) => keptReasons(said, secretsOf(body)).join(' | ');
    if (tier === 'red') return `the rules changed since this call was approved, and deny it now: ${told(reasons)}`;
    return tier === 'yellow' && needsMoreEyes(approval_tier, approvedAs satisfies ApprovalTier)
      ? `the rules changed since this call was approved, and ask for tier ${approval_tier} now: ${told(review_reasons)}`
      : null;
  };

/** A tool whose class was known when the call was judged and is not now: an operator may have denied it since. */
const unreadSince = (then: Classes, now: Classes): string | undefined =>
  Object.keys(now).find((tool) => now[tool]?.suspended === 'unreadable' && then[tool]?.suspended !== 'unreadable');
