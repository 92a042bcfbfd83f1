import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { loadPolicySet } from '../../../adapters/policy/load-policy-set.js';
import { shippedPolicyDirectory } from '../../../adapters/policy/policy-sources.js';
import type { PolicyDecision, PolicyInput } from '../../../contracts/policy.js';
import { ORDINARY_CALL } from '../ordinary-call.js';
import type { PolicySet } from '../policy-set.js';
import { explained, type ExplainLimits } from './explain.js';
import { hintsIn, type RuleText } from './hints.js';
import { toldExplanation } from './told.js';

let floor: PolicySet;
beforeAll(async () => {
  floor = await loadPolicySet({ directory: shippedPolicyDirectory() });
});
const call = (more: Partial<PolicyInput>) => ({
  input: { ...ORDINARY_CALL, ...more } as unknown as PolicyInput,
  request: null,
});
const rego = (body: string, name = 'own.rego'): RuleText => ({
  name,
  content_type: 'rego',
  body: `package gate.authz\n\nimport rego.v1\n\n${body}\n`,
});
/** Rules as functions, so that a case says in one line what they look at. */
const rules =
  (deny: (input: PolicyInput) => readonly string[], review: (input: PolicyInput) => readonly string[] = () => []) =>
  (input: PolicyInput): PolicyDecision => {
    const [reasons, review_reasons] = [deny(input), review(input)];
    return {
      allow: reasons.length + review_reasons.length === 0,
      reasons: [...reasons],
      review_reasons: [...review_reasons],
      retention_class: 'standard',
      approval_tier: 'standard',
      policy_bundle: { schema_version: 1, version: '2026-11-27.1', hash_sha256: 'sha256:0', policy_count: 1 },
    };
  };
const amount = (input: PolicyInput): number => Number(input.arguments?.['amount'] ?? 0);
const why = (more: Partial<PolicyInput>, judge: ReturnType<typeof rules>, texts: RuleText[], limits?: ExplainLimits) =>
  explained(call(more), judge, texts, limits);

describe('why a call was judged as it was', () => {
  it('names the rule, the fact that it rests on, and the value at which the verdict turns', async () => {
    const found = await why(
      { arguments: { amount: 900, to: 'vendor' } },
      rules((input) => (amount(input) > 500 ? ['Violation: more than 500.'] : [])),
      [rego('deny contains "Violation: more than 500." if input.arguments.amount > 500')],
    );
    expect(found).toMatchObject({
      tier: 'red',
      complete: true,
      spoke: [{ effect: 'denies', rule: { file: 'own.rego', rule: 'deny', line: 5 }, facts: ['arguments.amount'] }],
      changes: [{ tier: 'green', facts: [{ name: 'arguments.amount', whose: 'call', from: 900, to: 500 }] }],
    });
  });

  it('finds where the verdict turns in the document that its rule reads, also of a number in a text', async () => {
    const texts = [
      ...floor.files,
      rego('deny contains "Violation: above." if not lib.at_most(["amount"], data.gate.ceilings.most)'),
      { name: 'ceilings.json', content_type: 'json', body: '{"most": 10}' } as const,
    ];
    const above = rules((input) => (amount(input) > 10 ? ['Violation: above.'] : []));
    for (const [from, to] of [
      [26, 10],
      ['26', '10'],
    ] as const)
      expect(await why({ arguments: { amount: from } }, above, texts)).toMatchObject({
        spoke: [{ rule: { file: 'own.rego' }, facts: ['arguments.amount'] }],
        changes: [{ tier: 'green', facts: [{ name: 'arguments.amount', from, to }] }],
      });
  });

  it('finds what a template misses, by the fields that it looks at', async () => {
    const template = readFileSync(join(shippedPolicyDirectory(), 'templates/finance/money_moves.rego'), 'utf8');
    const unreferenced = (input: PolicyInput): boolean => !('bill_id' in (input.arguments ?? {}));
    const found = await why(
      { tool_type: 'wire_transfer', arguments: { amount: 25 } },
      rules(
        () => [],
        (input) =>
          unreferenced(input)
            ? [
                'Review: money_moves: no reference says what is paid (invoice_id, po_number, payment_reference); add it, or approve the payment as it is.',
              ]
            : [],
      ),
      [...floor.files, { name: 'money_moves.rego', content_type: 'rego', body: template }],
    );
    expect(found.changes).toContainEqual({
      tier: 'green',
      facts: [{ name: 'arguments.bill_id', whose: 'call', to: true }],
    });
  });

  it('finds what is missing, by the names that rules read', async () => {
    const found = await why(
      { arguments: {} },
      rules((input) => (input.arguments?.['ticket'] === undefined ? ['Violation: no ticket.'] : [])),
      [rego('deny contains "Violation: no ticket." if not input.arguments.ticket')],
    );
    expect(found.changes).toMatchObject([{ facts: [{ name: 'arguments.ticket', to: true }] }]);
    expect(found.changes[0]?.facts[0]).not.toHaveProperty('from');
  });

  it('looks for two facts where no single one alters the verdict, and for more where no two do', async () => {
    const bad = (name: string) => (input: PolicyInput) =>
      input.arguments?.[name] === 'bad' ? [`Violation: ${name}.`] : [];
    const both = rules((input) => [...bad('a')(input), ...bad('b')(input)]);
    const two = await why({ arguments: { a: 'bad', b: 'bad', c: 'good' } }, both, []);
    expect(two.changes).toMatchObject([{ tier: 'green', facts: [{ name: 'arguments.a' }, { name: 'arguments.b' }] }]);
    expect(two.spoke.map(({ facts }) => facts)).toEqual([['arguments.a'], ['arguments.b']]);
    const all = rules((input) => ['a', 'b', 'c'].flatMap((name) => bad(name)(input)));
    const three = await why({ arguments: { a: 'bad', b: 'bad', c: 'bad', d: 'good' } }, all, []);
    expect(three.changes.map(({ facts }) => facts.map(({ name }) => name).toSorted())).toEqual([
      ['arguments.a', 'arguments.b', 'arguments.c'],
    ]);
  });

  it('says what would stop a call that ran', async () => {
    const found = await why(
      { arguments: { amount: 10 } },
      rules(
        () => [],
        (input) => (amount(input) > 500 ? ['Review: much.'] : []),
      ),
      [rego('review contains "Review: much." if input.arguments.amount > 500')],
    );
    expect(found).toMatchObject({
      tier: 'green',
      spoke: [],
      changes: [{ tier: 'yellow', facts: [{ name: 'arguments.amount', from: 10, to: 501 }] }],
    });
  });

  it('is honest where nothing was found, and where not everything was tried', async () => {
    const always = rules(() => ['Violation: never.']);
    const none = await why({ arguments: { a: 1 } }, always, []);
    expect(none).toMatchObject({ changes: [], complete: true, spoke: [{ facts: [], rule: null }] });
    const told = toldExplanation({ ...none, rules: 'now', policy_bundle: floor.bundle }, 'list_files');
    expect(told).toContain('No change of one or two facts, and not all of them together, was found');
    expect(told).toContain('rests on no single fact that was tried');
    expect(told).toContain('the rules of now; those that judged it are not here any more');
    const ended = await why({ arguments: { a: 1 } }, always, [], { most: 3 });
    expect(ended).toMatchObject({ complete: false, changes: [] });
    expect(ended.tried).toBeLessThan(10);
    expect(toldExplanation({ ...ended, rules: 'then', policy_bundle: floor.bundle }, 'x')).toContain(
      'not every one was tried',
    );
  });

  it('asks the rules that ship about the agent, the time, the class and what inspection found', async () => {
    const of = (more: Partial<PolicyInput>) => explained(call(more), (input) => floor.evaluate(input), floor.files);
    const classed = { tool_classes: { list_files: { class: 'change' as const } } };
    expect((await of({ ...classed, intent_score: 0.5 })).changes).toMatchObject([
      { facts: [{ name: 'intent_score', whose: 'inspection', from: 0.5, to: 0.1 }] },
    ]);
    const unclassed = await of({ tool_type: 'frobnicate' });
    expect(unclassed.changes.map(({ facts }) => facts[0]?.name)).toContain('class of frobnicate');
    const chain = await of({
      tool_type: 'http_post',
      tool_classes: { http_post: { class: 'change' } },
      agent_history: {
        last_tool: 'read_secret',
        recent_sequence: [
          {
            tool: 'read_secret',
            method: 'tools/call',
            ts_ms: Date.parse(ORDINARY_CALL.current_time) - 1,
            replica: 'a',
          },
        ],
      },
    });
    expect(chain.spoke[0]).toMatchObject({
      rule: { file: 'kill_chain.rego' },
      facts: expect.arrayContaining(['agent_history', 'current_time', 'tool_type']),
    });
    const night = await of({ tool_type: 'bulk_export', current_time: '2026-11-18T03:00:00.000Z' });
    expect(night.changes.map(({ facts }) => facts[0]?.name)).toContain('current_time');
  });

  it('explains a batch by its calls', async () => {
    const request = {
      method: 'gate/tools.batch',
      params: {
        contract: 'gate.atomic-tool-call-batch/v1',
        calls: [
          { id: 'a', name: 'list_files', arguments: {} },
          { id: 'b', name: 'delete_file', arguments: {} },
        ],
      },
    };
    const { input } = call({ tool_type: 'gate/tools.batch', method: 'gate/tools.batch' });
    const { changes } = await explained({ input, request }, (one) => floor.evaluate(one), floor.files);
    expect(changes).toMatchObject([{ facts: [{ name: 'call 2 (delete_file)', from: 'delete_file' }] }]);
  });

  it('tells it without secrets', async () => {
    const found = await why(
      { arguments: { api_key: 'sk-123456', note: 'mail ada@example.com' } },
      rules((input) => (JSON.stringify(input.arguments).includes('@') ? ['Violation: an address.'] : [])),
      [],
    );
    const told = toldExplanation({ ...found, rules: 'then', policy_bundle: floor.bundle }, 'list_files');
    expect(told).toContain('arguments.note (in the call) another text instead of "mail [EMAIL]"');
    const given = { name: 'arguments.amount', whose: 'call' as const, from: undefined, to: 'something else' };
    const added = [{ tier: 'red' as const, facts: [given] }];
    expect(toldExplanation({ ...found, changes: added, rules: 'then', policy_bundle: floor.bundle }, 'x')).toContain(
      'it is denied with arguments.amount (in the call) given as a text',
    );
    const secret = { name: 'arguments.api_key', whose: 'call' as const, from: 'sk-123456', to: 'x' };
    const changes = [{ tier: 'green' as const, facts: [secret] }];
    expect(toldExplanation({ ...found, changes, rules: 'then', policy_bundle: floor.bundle }, 'x')).toContain(
      'arguments.api_key (in the call) "[MASKED]" instead of "[MASKED]"',
    );
  });
});

describe('what rules compare facts with', () => {
  it('is read from their texts and documents, and nothing that is a reason or a pattern', () => {
    const hints = hintsIn([
      rego(`# 77 is in a comment
limit := object.get(input.arguments, "ceiling", 12.5)
deny contains "Violation: a long reason that nobody compares anything with, ever." if input.arguments["env"] == "prod"
deny contains sprintf("Violation: %d", [limit]) if input.arguments.amount.value > 500`),
      { name: 'own.json', content_type: 'json', body: '{"most": [{"of": 9}], "who": "ada"}' },
    ]);
    expect(hints).toEqual({
      numbers: [12.5, 500, 9],
      near: [],
      words: ['prod', 'ada'],
      names: ['ceiling', 'env', 'amount'],
    });
  });

  it('is of the rules that spoke and of the documents that they read first, however much others compare with', () => {
    const others = rego(`limits := [${Array.from({ length: 60 }, (_, at) => 1_000 + at).join(', ')}]`, 'aaa.rego');
    const spoke = rego('deny contains "Violation: more." if not lib.at_most(["amount"], data.gate.ceilings.most)');
    const document: RuleText = { name: 'ceilings.json', content_type: 'json', body: '{"most": 10}' };
    const hints = hintsIn([...floor.files, others, spoke, document], new Set(['own.rego']));
    expect(hints.near).toEqual([10]);
    expect(hints.numbers[0]).toBe(10);
    expect(hints.names[0]).toBe('amount');
    // Of the floor's one document what the rule reads.
    const fast = hintsIn(floor.files, new Set(['velocity.rego'])).near;
    expect(fast).toEqual(expect.arrayContaining([100, 60]));
    expect(fast.length).toBeLessThan(10);
  });

  it('is of a list of fields one name, of tools none, and of other words a few', () => {
    const hints = hintsIn([
      rego(`own_defaults := {
	"tools": ["pay", "send"],
	"harmless_tools": ["draft"],
	"reference_fields": ["invoice", "order", "contract"],
	"modes": ["dry", "rehearsal", "test", "trial"],
}
deny contains "Violation: own." if lib.tool_is(["close_account"])`),
      {
        name: 'own.json',
        content_type: 'json',
        body: '{"ticket_fields": ["case", "ticket"], "tools": ["x"], "who": ["a"]}',
      },
    ]);
    expect(hints).toEqual({
      numbers: [],
      near: [],
      words: ['dry', 'rehearsal', 'test', 'a'],
      names: ['invoice', 'case'],
    });
  });
});
