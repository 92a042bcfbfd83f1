import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { PolicyInput } from '../../contracts/policy.js';
import { ORDINARY_CALL } from '../../domain/policy/ordinary-call.js';
import { policyEngine, type TestPolicyEngine } from '../support/policy-engine.js';
import { calling, shippedCases } from '../support/policy-cases.js';
import { seededRandom } from '../support/random.js';

/** Of several domains, so that their rules meet the same inputs. */
const TEMPLATES = ['pii_egress', 'money_moves', 'prod_db_writes', 'patient_records', 'infra_writes'];
const WHO = { reason: 'fuzz', actor_sub: 'operator:dev', actor_idp: 'test' };
const CANDIDATE = `package gate.authz

import rego.v1

deny contains "Violation: candidate." if input.tool_type == "x"
`;

interface Answer {
  readonly status: number;
  readonly body: string;
}
let engine: TestPolicyEngine;
async function post(path: string, body: unknown): Promise<Answer> {
  const { status, text } = await engine.over.fetch(`${engine.over.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  } as never);
  return { status, body: await text() };
}
/** A machine that is busy may take longer than an input has, which is no decision; asking again is safe. */
async function evaluate(input: unknown, tries = 8): Promise<Answer> {
  const answer = await post('/evaluate', input);
  const isLate = answer.status === 503 && answer.body.includes('took longer than');
  return isLate && tries > 1 ? evaluate(input, tries - 1) : answer;
}
beforeAll(async () => {
  engine = await policyEngine();
  for (const name of TEMPLATES) {
    const { status, body } = await post(`/policies/templates/${name}.rego/install`, WHO);
    expect([name, status, body]).toEqual([name, 200, body]);
  }
}, 180_000);
afterAll(() => engine.close());

/** What no rule that ships lets pass, whatever else is true: in words of its own, and not of the rules. */
function whyNotAllowed(input: Readonly<Record<string, unknown>>): string | null {
  const { tool_type: tool, agent_history: history, intent_score: intent } = input;
  if (typeof tool !== 'string' || tool === '') return 'it has no tool';
  if (typeof intent !== 'number' || intent >= 0.2) return 'its intent is not below the threshold';
  if (
    typeof history !== 'object' ||
    history === null ||
    !Array.isArray((history as { recent_sequence?: unknown }).recent_sequence)
  )
    return 'it has no history';
  if (!/^[ -~]+$/.test(tool)) return 'its name is not readable';
  for (const flag of ['force_hil', 'injection_detected'])
    if (flag in input && input[flag] !== false) return `${flag} is not plainly off`;
  const { recent_request_count: count = 0, velocity_limit: limit = 100, persona_drift_score: drift = 0 } = input;
  if (typeof count !== 'number' || typeof limit !== 'number' || (limit > 0 && count > limit)) return 'it is too fast';
  if (typeof drift !== 'number' || drift >= 0.45) return 'it drifts';
  const { cumulative_spend_micros: spent = 0, budget_micros: budget = 50_000_000 } = input;
  if (typeof spent !== 'number' || typeof budget !== 'number' || spent >= budget) return 'the budget is spent';
  const classes = input['tool_classes'];
  const fact =
    typeof classes === 'object' && classes !== null && Object.hasOwn(classes, tool)
      ? (classes as Record<string, { class?: unknown; suspended?: unknown }>)[tool]
      : undefined;
  if (typeof fact?.suspended === 'string') return 'its class is suspended';
  if (typeof fact?.class === 'string' && fact.class !== 'read' && fact.class !== 'change')
    return 'its class is for people';
  const reads =
    /browse|check|count|describe|echo|fetch|find|get|help|inspect|list|lookup|peek|ping|preview|query|read|retrieve|search|show|stat|summar|view/i;
  if (fact?.class === undefined && input['upstream'] === undefined && !reads.test(tool))
    return 'nobody classed it, and it is no read';
  const letters = tool.toLowerCase().replaceAll(/[^a-z]/g, '');
  if (
    /^(?:delete|truncate(?!text|string|output)|wipe)|^(?:sqlexecute|shellexec|wiretransfer|grantadmin)$/.test(letters)
  )
    return 'its name says what no rule lets pass';
  return null;
}

const odd = fc.constantFrom(
  '',
  ' ',
  '\0',
  '__proto__',
  'constructor',
  'toString',
  '\u202e',
  '\ud800',
  '%00',
  '../..',
  '{{x}}',
  '\u0130',
  'ﬀ',
  '𝒹elete',
);
const anyName = fc.oneof(
  fc.constantFrom(...new Set(shippedCases().map(({ input }) => input.tool_type))),
  fc.string({ unit: 'binary', maxLength: 40 }),
  odd,
  fc
    .array(fc.constantFrom('get', 'list', 'delete', 'wire', 'transfer', 'file', '_', '.', '%5F', '\u200b', 'е', 'E'), {
      maxLength: 8,
    })
    .map((parts) => parts.join('')),
  fc.string({ minLength: 2_000, maxLength: 20_000 }),
);
const deep = fc.integer({ min: 100, max: 3_000 }).map((levels) => {
  let value: unknown = 'DROP TABLE users';
  for (let level = 0; level < levels; level += 1) value = level % 2 ? [value] : { a: value };
  return value;
});
const huge = fc
  .integer({ min: 1, max: 2_000 })
  .map((count) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 'rm -rf / '.repeat(at % 7)])));
const anything = fc.oneof(
  { weight: 6, arbitrary: fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' }) as fc.Arbitrary<unknown> },
  { weight: 1, arbitrary: odd },
  { weight: 1, arbitrary: fc.constantFrom(-1, 1e308, -0, 2 ** 53, true, null, [], {}) as fc.Arbitrary<unknown> },
  { weight: 1, arbitrary: deep },
);
const ofCase = fc
  .constantFrom(...shippedCases())
  .map((one) => calling(one, one.input.tool_type) as Record<string, unknown>);
const FIELDS = [
  ...Object.keys(ORDINARY_CALL),
  'tool_classes',
  'tenant',
  'upstream',
  'velocity_limit',
  'velocity_degraded',
  'force_hil',
  'injection_detected',
  'injection_suspicions',
  'intent_suspicions',
  'persona_drift_score',
  'cumulative_spend_micros',
  'budget_micros',
  'request_share',
  'names_say',
  'sql',
  'shell',
  'money',
  'acts',
  'environments',
  'watched_by',
  'found_in_arguments',
];
/** A call of the manual with some of its fields taken away, others replaced, and a few of no kind. */
const anyInput = fc
  .record({
    base: fc.oneof(ofCase, fc.constant({ ...ORDINARY_CALL } as Record<string, unknown>)),
    name: fc.option(anyName, { freq: 2 }),
    args: fc.option(fc.oneof(deep, huge, anything), { freq: 1 }),
    taken: fc.subarray(FIELDS, { maxLength: 2 }),
    put: fc.dictionary(fc.constantFrom(...FIELDS), anything, { maxKeys: 3 }),
    more: fc.dictionary(fc.string({ unit: 'binary', maxLength: 12 }), anything, { maxKeys: 2 }),
  })
  .map(({ base, name, args, taken, put, more }) => {
    const all = {
      ...more,
      ...base,
      ...(name !== null && { tool_type: name }),
      ...(args !== null && { arguments: args }),
      ...put,
    };
    return Object.fromEntries(Object.entries(all).filter(([field]) => !taken.includes(field)));
  });
const seen = (input: unknown): Record<string, unknown> => JSON.parse(JSON.stringify(input)) as Record<string, unknown>;

describe('the policy engine, asked anything over HTTP', () => {
  it('allows nothing that the rules do not, says so twice alike, and answers no 5xx', async () => {
    const random = seededRandom('policy fuzz');
    const counts = { allowed: 0, denied: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(anyInput, async (input) => {
        const { status, body } = await evaluate(input);
        expect([200, 400]).toContain(status);
        if (status === 400) {
          counts.refused += 1;
          return;
        }
        const decision = JSON.parse(body) as { allow: boolean; reasons: string[]; review_reasons: string[] };
        counts[decision.allow ? 'allowed' : 'denied'] += 1;
        expect(typeof decision.allow).toBe('boolean');
        expect(decision.allow).toBe(decision.reasons.length + decision.review_reasons.length === 0);
        if (decision.allow) expect(whyNotAllowed(seen(input))).toBeNull();
        expect((await evaluate(input)).body).toBe(body);
      }),
      { seed: random.seed, numRuns: 400, endOnFailure: true },
    );
    // It must have met all three, or it showed nothing.
    expect(Object.entries(counts).filter(([, count]) => count < 5)).toEqual([]);
  }, 120_000);

  it('answers a batch of anything, where no candidate that denies turns any verdict into another', async () => {
    const random = seededRandom('policy fuzz, in batches');
    let judged = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(anyInput, { minLength: 1, maxLength: 4 }), async (inputs) => {
        const { status, body } = await post('/policies/evaluate-batch', {
          candidate_name: 'candidate.rego',
          candidate_rego: CANDIDATE,
          mode: 'add',
          inputs,
        });
        expect([200, 400]).toContain(status);
        if (status !== 200) return;
        const { results } = JSON.parse(body) as {
          results: { input: PolicyInput; before: { allow: boolean }; after: { allow: boolean }; diff: string }[];
        };
        judged += 1;
        expect(results).toHaveLength(inputs.length);
        for (const { input, before, after, diff } of results) {
          expect(after.allow).toBe(before.allow && input.tool_type !== 'x');
          expect(diff.endsWith('_to_allow')).toBe(false);
        }
      }),
      { seed: random.seed, numRuns: 60, endOnFailure: true },
    );
    // It must have met some, or it showed nothing.
    expect(judged).toBeGreaterThan(0);
  }, 120_000);

  it.each([
    '',
    'null',
    '[]',
    '{',
    '{"tool_type":',
    '"x"',
    '1e999',
    `${'['.repeat(50_000)}`,
    `{"tool_type":"x","arguments":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_001)}`,
  ])('answers text that is no input with a 4xx: %#', async (text) => {
    for (const path of ['/evaluate', '/policies/evaluate-batch']) {
      const { status } = await post(path, text);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(500);
    }
  });
});
