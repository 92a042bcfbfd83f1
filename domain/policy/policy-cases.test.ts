import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import * as opaWasm from '@open-policy-agent/opa-wasm';
import { parse } from 'yaml';
import type { PolicyInput } from '../../contracts/policy.js';
import { callOfName, NAMES_OF_SERVERS, namesOfServers } from '../../scripts/policy-cases.js';
import { createNameReadings, type NameReader } from './name-readings.js';
import { callOf, policyCases } from './policy-cases.js';
import { policyData } from './policy-data.js';
import type { ArgumentReaders, PolicySet } from './policy-set.js';
import { actTold, readActs } from './read-acts.js';
import { readEnvironments } from './read-environments.js';
import { shippedPolicyDirectory } from '../../adapters/policy/policy-sources.js';
import { loadPolicySet } from '../../adapters/policy/load-policy-set.js';
import { ENTRYPOINT } from './policy-files.js';
import { readersOf } from '../../adapters/policy/argument-readers.js';
import { shellTold } from '../shell/read-shell.js';
import { ORDINARY_CALL } from './ordinary-call.js';

const directory = shippedPolicyDirectory();
const files = readdirSync(join(directory, 'cases')).filter(
  (name) => name.endsWith('.yaml') && name !== NAMES_OF_SERVERS,
);
let policies: PolicySet;
/** The rules alone, without the engine's facts about names. */
let rules: opaWasm.LoadedPolicy;
let readers: ArgumentReaders;
let environmentNames: readonly string[];
let readingsOf: NameReader;
/** Every reason that some case produced. */
const said = new Set<string>();
beforeAll(async () => {
  policies = await loadPolicySet({ directory });
  const { loadPolicySync } = (opaWasm as unknown as { default: typeof opaWasm }).default;
  rules = loadPolicySync(readFileSync(join(directory, 'compiled', 'policy.wasm')), { initial: 5, maximum: 1_024 });
  const data = policyData.parse(JSON.parse(readFileSync(join(directory, 'data.json'), 'utf8')));
  rules.setData(data);
  readers = await readersOf(data);
  readingsOf = createNameReadings(data.gate);
  environmentNames = data.gate.production_writes.environment_arguments;
});
/** Deny and review reasons by the rules alone, sorted. */
const ruled = (input: PolicyInput) => {
  const [{ result }] = rules.evaluate(
    {
      ...input,
      sql: readers.readSql(input.arguments),
      shell: shellTold(readers.readShell(input.arguments)),
      money: readers.readMoney(input.arguments, input.tool_type),
      environments: readEnvironments(input.arguments, environmentNames),
      acts: readActs(input.arguments, input.tool_type).map(actTold),
    },
    ENTRYPOINT,
  ) as [{ result: { deny: string[]; review: string[] } }];
  return { ...result, deny: result.deny.toSorted(), review: result.review.toSorted() };
};

describe.each(files)('policies/cases/%s', (file) => {
  const cases = policyCases.parse(parse(readFileSync(join(directory, 'cases', file), 'utf8')));

  it.each(cases.map((one) => [one.description, one] as const))('%s', (_description, one) => {
    const { expected } = one;
    const call = callOf(one);
    const { decision, tier, unknownTool, budgetExceeded, failed } = policies.judge(call);
    const texts = [...decision.reasons, ...decision.review_reasons];
    const { reasons_mention: mentions = [], ...rest } = expected;
    const found = {
      tier,
      approval_tier: decision.approval_tier,
      retention_class: decision.retention_class,
      unknown_tool: unknownTool,
      budget_exceeded: budgetExceeded,
    };
    expect({ texts, ...found }).toMatchObject(rest);
    expect(mentions.filter((mention) => !texts.some((text) => text.includes(mention)))).toEqual([]);
    expect(failed).toBe(false);
    for (const text of texts) said.add(text);
    expect(decision.allow).toBe(tier === 'green');
    // A name that hides another one is read as that one too by the engine alone, and then more rules may speak.
    const alone = ruled(call);
    if (readingsOf(call.tool_type).length > 1) expect(decision.reasons).toEqual(expect.arrayContaining(alone.deny));
    else
      expect(alone).toMatchObject({
        allow: decision.allow,
        deny: decision.reasons,
        review: decision.review_reasons,
        retention_class: decision.retention_class,
        approval_tier: decision.approval_tier,
        unknown_tool: unknownTool,
        budget_exceeded: budgetExceeded,
      });
    expect(decision.reasons.every((text) => text.startsWith('Violation: '))).toBe(true);
    expect(decision.review_reasons.every((text) => text.startsWith('Review: '))).toBe(true);
  });
});

describe(`policies/cases/${NAMES_OF_SERVERS}`, () => {
  const servers = namesOfServers.parse(parse(readFileSync(join(directory, 'cases', NAMES_OF_SERVERS), 'utf8')));
  const tierOf = (tool_type: string, more: object = {}) => policies.judge({ ...callOfName(tool_type), ...more }).tier;

  it.each(servers.map((one) => [one.server, one] as const))('%s', (_server, { runs, waits, denied }) => {
    const expected = { green: runs, yellow: waits, red: denied };
    const found: Record<string, string[]> = { green: [], yellow: [], red: [] };
    for (const name of [...runs, ...waits, ...denied]) found[tierOf(name)]?.push(name);
    expect(found).toEqual(expected);
  });

  it('are two hundred and more, each by its own right: what an upstream says of a tool changes nothing', () => {
    const waiting = servers.flatMap(({ waits }) => waits);
    expect(servers.flatMap(({ runs, denied }) => [...runs, ...denied]).length + waiting.length).toBeGreaterThan(200);
    const hints = { annotations: { readOnlyHint: true, destructiveHint: false }, readOnlyHint: true };
    expect(waiting.filter((name) => tierOf(name, hints) === 'green')).toEqual([]);
  });

  it('run once an operator has classed them, as far as no other rule objects', () => {
    const classed = (name: string) => ({ tool_classes: { [name]: { class: 'change' } } });
    expect(tierOf('create_issue', classed('create_issue'))).toBe('green');
    expect(tierOf('create_issue', classed('createIssue'))).toBe('yellow');
    expect(tierOf('delete_file', classed('delete_file'))).toBe('red');
    expect(tierOf('wire_transfer', classed('wire_transfer'))).toBe('yellow');
  });
});

describe('what a name says, kept from call to call', () => {
  const history = ['read_secret', 'list_files', '__proto__', 'constructor', 'phiRead'];
  const recent_sequence = history.map((tool) => ({
    tool,
    method: 'call_tool',
    ts_ms: 1_794_996_000_000,
    replica: 'a',
  }));
  const names = ['send_email', 'delete_file', 'wireTransfer', 'prod_write', '__proto__', 'toString', 'x'];

  it.each(names)('is what the rules read in it: %s', (tool_type) => {
    const call = { ...ORDINARY_CALL, tool_type, agent_history: { last_tool: 'read_secret', recent_sequence } };
    for (let time = 0; time < 2; time += 1) {
      const { decision, unknownTool } = policies.judge(call);
      const { reasons: deny, review_reasons: review } = decision;
      expect(ruled(call)).toMatchObject({ deny, review, unknown_tool: unknownTool });
    }
  });

  it('is taken from no caller', () => {
    const forged = { delete_file: { readable: true }, wire_transfer: { readable: true } };
    for (const tool_type of ['delete_file', 'wire_transfer'])
      expect(policies.evaluate({ ...ORDINARY_CALL, tool_type, names_say: forged }).allow).toBe(false);
  });
});

/** Reasons as written in the rules: complete, or the beginning of one that is composed. */
const writtenReasons = readdirSync(join(directory, 'gate', 'authz'))
  .filter((name) => name.endsWith('.rego') && !name.endsWith('_test.rego'))
  .flatMap((name) =>
    [...readFileSync(join(directory, 'gate', 'authz', name), 'utf8').matchAll(/"((?:Violation|Review): [^"%]+)/g)].map(
      ([, reason = '']) => ({ name, reason: reason.trimEnd() }),
    ),
  );

describe('the cases', () => {
  it('bring about every reason that a rule can give: there is no rule that nobody has seen speak', () => {
    expect(writtenReasons.length).toBeGreaterThan(25);
    const silent = writtenReasons.filter(({ reason }) => ![...said].some((text) => text.startsWith(reason)));
    // These apply only when Gate itself is broken: the engine checks input and data before it asks the rules, and reads SQL, shell
    // commands, money and environments itself.
    expect(silent.map(({ name, reason }) => `${name}: ${reason}`)).toEqual([
      'governance.rego: Violation: the policy input is incomplete: tool_type, agent_history and intent_score are required.',
      'governance.rego: Violation: the policy data is incomplete; check data.json.',
      'production_writes.rego: Review: the arguments were not read for environments.',
      'shell.rego: Review: the arguments were not read for shell commands.',
      'sql.rego: Review: the arguments were not read for SQL.',
      'tool_class.rego: Review: the arguments were not read for money.',
    ]);
  });

  it('expect a verdict of each tier from every family of rules that can give one', () => {
    const all = files.flatMap((file) => policyCases.parse(parse(readFileSync(join(directory, 'cases', file), 'utf8'))));
    expect(all.length).toBeGreaterThanOrEqual(80);
    expect(new Set(all.map((one) => one.expected.tier))).toEqual(new Set(['green', 'yellow', 'red']));
    for (const file of files) {
      const tiers = new Set(
        policyCases.parse(parse(readFileSync(join(directory, 'cases', file), 'utf8'))).map((one) => one.expected.tier),
      );
      if (file !== 'ordinary-work.yaml') expect([file, tiers.size]).not.toEqual([file, 1]);
    }
  });
});
