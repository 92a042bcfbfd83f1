import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DatabaseSync } from '@photostructure/sqlite';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { MinedResult, MinedSuggestion } from '../contracts/policy-mining.js';
import type { LabResult } from '../contracts/policy-studies.js';
import { opaCompiler } from '../adapters/policy/opa-compiler.js';
import { openTemplates } from '../adapters/policy/template-files.js';
import { openPolicyStore } from '../adapters/policy/policy-store.js';
import { shippedPolicyDirectory } from '../adapters/policy/policy-sources.js';
import { createPolicyService } from '../api/policy/app.js';
import { openManagement } from '../api/policy/management.js';
import { findOpa } from '../stack/programs/find-program.js';
import {
  casesOf,
  checkedFolder,
  faultsOf,
  readPolicyFile,
  readPolicyFolder,
  rulesOf,
  shippedFloor,
  testsOf,
} from './policy-folder.js';
import { PROJECT_ROOT } from '../config/project-root.js';
import { sha256Hex } from '../domain/crypto/digest.js';
import type { PolicyStore } from '../domain/policy/library-ports.js';
import { GateError } from '../domain/errors.js';
import { CliError } from './errors.js';
import { labText, planMarkdown, weakerIn } from './lab-report.js';
import { applied, type AskPolicies, keptPlan, movedSince, planKept, planOf, type PolicyPlan } from './policy-plan.js';
import { accepted, minedIn, minedLines } from './policy-mine.js';
import { policyStateSet } from './policy-state.js';
import { labOfPlan, resultOf, rolledBack } from './policy-studies.js';
import { parametersIn, setLines, setParameters, settingsOf, trialLines, triedYesterday } from './policy-templates.js';
import { POLICY_KEYS } from '../test/support/policy-keys.js';
import { rememberingCompiler } from '../test/support/remembering-compiler.js';

const floor = await shippedFloor();
const compiler = rememberingCompiler(
  opaCompiler({ find: () => findOpa({ onProgress: () => undefined }), directory: shippedPolicyDirectory() }),
);
const rego = (rule: string): string => `package gate.authz\n\nimport rego.v1\n\n${rule}\n`;
const CEILING = rego('deny contains "Violation: ceiling" if input.arguments.amount > data.gate.ceilings.most');

let folder: string;
const write = (path: string, text: string): void => writeFileSync(join(folder, path), text);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gate-policy-cli-'));
  mkdirSync(join(folder, 'finance'));
  write('finance/ceiling.rego', CEILING);
  write('ceilings.json', '{"most": 10}');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const gate = (command: string) =>
  spawnSync(process.execPath, [join(PROJECT_ROOT, 'dist/cli/main.js'), 'policy', command, folder], {
    encoding: 'utf8',
  });

describe('a folder of policies, without a server', () => {
  it('is checked file by file and as a whole, with the path and place of each fault', async () => {
    expect(await faultsOf(await readPolicyFolder(folder), compiler, floor)).toEqual([]);
    write('bad.rego', rego('deny contains nope(1)'));
    write('money.json', '{}');
    expect(await faultsOf(await readPolicyFolder(folder), compiler, floor)).toMatchObject([
      { path: join(folder, 'bad.rego'), line: 5, message: 'undefined function nope' },
      { path: join(folder, 'money.json'), message: expect.stringContaining('rules that ship') },
    ]);
    write('bad.rego', rego('deny := {"Violation: all"}'));
    rmSync(join(folder, 'money.json'));
    expect(await faultsOf(await readPolicyFolder(folder), compiler, floor)).toMatchObject([{ line: 5 }]);
    write('finance/bad.rego', CEILING);
    await expect(readPolicyFolder(folder)).rejects.toThrow('two policies are named bad.rego');
  });

  it('is warned of where a rule reads a document that is not in it', async () => {
    expect(await checkedFolder(await readPolicyFolder(folder), compiler, floor)).toEqual({
      faults: [],
      warnings: [],
      unchecked: [],
    });
    rmSync(join(folder, 'ceilings.json'));
    write('ceilngs.json', '{"most": 10}');
    expect(await checkedFolder(await readPolicyFolder(folder), compiler, floor)).toEqual({
      faults: [],
      warnings: [
        { path: join(folder, 'finance/ceiling.rego'), message: expect.stringContaining('no document ceilings.json') },
      ],
      unchecked: [],
    });
  });

  it('is warned of what no call has, of a header that its rules contradict, and of an unusual name', async () => {
    write('Odd.rego', rego('review contains "Review: odd" if input.tool_typ == "x"').replace(/^/, '# Tier: deny\n\n'));
    const { faults, warnings } = await checkedFolder(await readPolicyFolder(folder), compiler, floor);
    expect(faults).toEqual([]);
    expect(warnings).toEqual(
      [/unusual name/, /# Tier: deny/, /line 7 reads input\.tool_typ, .*input\.tool_type\?/].map((message) => ({
        path: join(folder, 'Odd.rego'),
        message: expect.stringMatching(message),
      })),
    );
  });

  it('is warned of a rule that Gate does not read and no policy uses, with the name that was meant', async () => {
    write(
      'slip.rego',
      rego(
        'denny contains msg if {\n\tbig\n\tmsg := "Violation: big"\n}\n\nbig if input.arguments.amount > data.gate.authz.limit',
      ),
    );
    write(
      'shared.rego',
      rego('limit := 5\n\nforgotten := 6\n\nreviewed if input.mode == "x"\n\nreview contains "Review: x" if reviewed'),
    );
    const { faults, warnings } = await checkedFolder(await readPolicyFolder(folder), compiler, floor);
    expect(faults).toEqual([]);
    expect(warnings.filter(({ message }) => message.includes('defines'))).toEqual([
      {
        path: join(folder, 'shared.rego'),
        message: 'line 7 defines forgotten, which Gate does not read and no rule uses: it decides nothing',
      },
      {
        path: join(folder, 'slip.rego'),
        message: 'line 5 defines denny, which Gate does not read and no rule uses (deny?): it decides nothing',
      },
    ]);
    // What a file with a fault uses is not known; a slip is one all the same.
    write('bad.rego', rego('deny contains nope(1)'));
    const beside = await checkedFolder(await readPolicyFolder(folder), compiler, floor);
    expect(beside.warnings.filter(({ message }) => message.includes('defines'))).toMatchObject([
      { path: join(folder, 'slip.rego') },
    ]);
  });

  it('with files that are neither policies nor cases nor tests says once which were not read', async () => {
    for (const path of ['README.md', 'package.json', 'Old.REGO', 'cases.YAML', 'ceilings.schema.json', '.hidden.txt'])
      write(path, '{}');
    mkdirSync(join(folder, 'node_modules'));
    write('node_modules/other.json', '{}');
    const read = await readPolicyFolder(folder);
    expect(read.policies.map(({ name }) => name)).toEqual(['ceiling.rego', 'ceilings.json']);
    expect(read.others).toEqual(['Old.REGO', 'README.md', 'cases.YAML', 'package.json']);
    const { status, stdout } = gate('check');
    expect([status, stdout]).toEqual([
      0,
      'not read: Old.REGO, README.md, cases.YAML, package.json; policies end with .rego or .json, cases with .yaml\n2 policies, no fault\n',
    ]);
    expect(gate('test').stdout).toMatch(/^not read: Old\.REGO, /);
  });

  it('keeps the faults that were found where OPA is ended before all are compiled together', async () => {
    write('bad.rego', rego('deny contains nope(1)'));
    const ended: typeof compiler = {
      ...compiler,
      compile: () => Promise.reject(new GateError('policy_compiler_unavailable', 'OPA was ended by SIGKILL')),
    };
    expect(await checkedFolder(await readPolicyFolder(folder), ended, floor)).toMatchObject({
      faults: [{ path: join(folder, 'bad.rego'), line: 5 }],
      unchecked: ['whether they can be in force together: OPA was ended by SIGKILL'],
    });
    const broken = { ...ended, compile: () => Promise.reject(new Error('a fault of Gate')) };
    await expect(checkedFolder(await readPolicyFolder(folder), broken, floor)).rejects.toThrow('a fault of Gate');
  });

  it('is told every fault at once, also of rules that cannot be in force together beside one that has a fault by itself', async () => {
    for (const [name, shared] of [
      ['a', 'cap := 1'],
      ['b', 'cap := 2'],
      ['c', 'most := 1'],
      ['d', 'most := 2'],
    ])
      write(`${name}.rego`, rego(shared ?? ''));
    write('bad.rego', rego('deny contains nope(1)'));
    expect(await faultsOf(await readPolicyFolder(folder), compiler, floor)).toMatchObject([
      { path: join(folder, 'bad.rego') },
      { path: join(folder, 'b.rego'), message: expect.stringContaining('cap is defined in a.rego') },
      { path: join(folder, 'd.rego'), message: expect.stringContaining('most is defined in c.rego') },
    ]);
  });

  it('without a compiler has its documents checked, and says which rules were not, and that nobody knows whether they go together', async () => {
    write('money.json', '{}');
    write('b.rego', CEILING);
    const none = opaCompiler({ find: async () => null, directory: shippedPolicyDirectory() });
    expect(await checkedFolder(await readPolicyFolder(folder), none, floor)).toMatchObject({
      faults: [{ path: join(folder, 'money.json') }],
      unchecked: [
        expect.stringMatching(
          /^b\.rego, ceiling\.rego, and whether the rules of the folder can be in force together: there is no OPA program here/,
        ),
      ],
    });
  });

  it.each(['check', 'fmt', 'test'])(
    'gate policy %s without a compiler ends with 1 and says so in one line',
    (command) => {
      const { status, stderr } = spawnSync(
        process.execPath,
        [join(PROJECT_ROOT, 'dist/cli/main.js'), 'policy', command, folder],
        { encoding: 'utf8', env: { PATH: process.env['PATH'] ?? '', GATE_OPA_BIN: join(folder, 'none') } },
      );
      expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringMatching(/^gate: [^\n]+\n$/) });
    },
  );

  it('is tested by its cases, over the floor', async () => {
    write(
      'cases.yaml',
      `- description: above the ceiling
  input: { tool_type: list_files, arguments: { amount: 11 } }
  expected: { tier: red, reasons_mention: [ceiling] }
- description: at the ceiling
  input: { tool_type: list_files, arguments: { amount: 10 } }
  expected: { tier: green }
- description: wires wait all the same
  input: { tool_type: wire_transfer, arguments: { amount: 1 } }
  expected: { tier: yellow }
- description: does not hold
  input: { tool_type: list_files }
  expected: { tier: red }
`,
    );
    const read = await readPolicyFolder(folder);
    const results = await casesOf(read, floor, await rulesOf(read, compiler, floor));
    expect(results.map(({ fault }) => fault)).toEqual([null, null, null, 'tier is green, not red']);
  });

  it.each([
    ['{ tool_typ: delete_everything }', '', 'input.tool_typ is no fact of a call; did you mean tool_type?'],
    [
      '{ tool_type: list_files, argument: { amount: 11 } }',
      '',
      'input.argument is no fact of a call; did you mean arguments?',
    ],
    ['{ tool_type: list_files, zzz: 1 }', '', 'input.zzz is no fact of a call\n'],
    ['{ tool_type: list_files, classed: deny }', '', 'classed stands beside input, not in it'],
    ['{ tool_type: list_files, without: [agent_kind] }', '', 'without stands beside input, not in it'],
    ['{ tool_type: list_files, sql: {} }', '', 'input.sql is what Gate finds in the call itself'],
    ['{ tool_type: list_files, tool_classes: {} }', '', 'input.tool_classes counts only beside classed: none'],
    ['{ tool_type: list_files }', 'extra: { sql: {} }', 'extra.sql is what Gate finds in the call itself'],
    ['{ tool_type: list_files }', 'extra: { taint: [] }', 'extra.taint is a fact of a call; it stands in input'],
    [
      '{ tool_type: list_files }',
      'without: [agent_knd]',
      'without names agent_knd, which is no fact of a call; did you mean agent_kind?',
    ],
  ])('says of which case a name is none that its call would be judged by: %s %s', async (input, more, why) => {
    write(
      'cases.yaml',
      `- description: whatever
  input: { tool_type: list_files }
  expected: { tier: green }
- description: above the ceiling
  input: ${input}
  ${more === '' ? 'classed: change' : more}
  expected: { tier: green }
`,
    );
    const refused = casesOf(await readPolicyFolder(folder), floor, null);
    await expect(refused).rejects.toThrow(`${join(folder, 'cases.yaml')} is no file of cases: `);
    await expect(refused.catch((error: Error) => `${error.message}\n`)).resolves.toContain(
      `"above the ceiling": ${why}`,
    );
  });

  it('has its cases tell a call without a field, of a classed tool, and what Gate tells of no call', async () => {
    write('facts.rego', rego('deny contains "Violation: odd" if input.odd == 1'));
    write(
      'cases.yaml',
      `- description: denied by its class
  input: { tool_type: list_files }
  classed: deny
  expected: { tier: red }
- description: nobody knows when
  input: { tool_type: deploy }
  without: [current_time]
  expected: { tier: yellow, reasons_mention: [off-hours] }
- description: what somebody sends beside it
  input: { tool_type: list_files }
  extra: { odd: 1 }
  expected: { tier: red, reasons_mention: [odd] }
`,
    );
    const read = await readPolicyFolder(folder);
    const results = await casesOf(read, floor, await rulesOf(read, compiler, floor));
    expect(results.map(({ fault }) => fault)).toEqual([null, null, null]);
  });

  it.each([
    ['- [', 'at line 1'],
    ['- description: one\n  description: two\n', 'Map keys must be unique'],
  ])('says of which file of cases the YAML is broken: %j', async (text, why) => {
    write('cases.yaml', text);
    const refused = casesOf(await readPolicyFolder(folder), floor, null);
    await expect(refused).rejects.toBeInstanceOf(CliError);
    await expect(refused).rejects.toThrow(`${join(folder, 'cases.yaml')} is no file of cases: `);
    await expect(refused).rejects.toThrow(why);
  });

  it.each(['x.rego', 'x.json', 'x.yaml', 'x_test.rego'])(
    'says what cannot be read where a folder or a link to nothing is named %s',
    async (name) => {
      const path = join(folder, name);
      const asked = async () => {
        const read = await readPolicyFolder(folder);
        await casesOf(read, floor, null);
        await testsOf(read, compiler, floor);
      };
      mkdirSync(path);
      await expect(asked()).rejects.toEqual(
        expect.objectContaining({ exitCode: 2, message: expect.stringMatching(/cannot be read: .*EISDIR/) }),
      );
      await expect(asked()).rejects.toThrow(`${path} cannot be read: `);
      rmSync(path, { recursive: true });
      symlinkSync(join(folder, 'nothing'), path);
      await expect(asked()).rejects.toThrow(`${path} cannot be read: Error: ENOENT`);
    },
  );

  it('is tested by its tests in Rego, with its documents and the shared rules, and with no network', async () => {
    const test = (body: string): string =>
      `package gate.authz_test\n\nimport rego.v1\n\nimport data.gate.authz\nimport data.gate.lib\n\n${body}\n`;
    write(
      'finance/ceiling_test.rego',
      test(`test_above if "Violation: ceiling" in authz.deny with input as {"arguments": {"amount": 11}}

test_at if not "Violation: ceiling" in authz.deny with input as {"arguments": {"amount": 10}}

test_asks_nobody if authz.review == set() with input as {}

test_shared if lib.given(["amount"]) with input as {"arguments": {"a": {"Amount": 1}}}

test_floor_data if count(data.gate.money.tools) > 0

test_wrong if "Violation: ceiling" in authz.deny with input as {"arguments": {"amount": 10}}

todo_test_later if false`),
    );
    const read = await readPolicyFolder(folder);
    expect(read.policies.map(({ name }) => name)).toEqual(['ceiling.rego', 'ceilings.json']);
    const at = (line: number): string => `${join(folder, 'finance/ceiling_test.rego')}:${line}`;
    expect((await testsOf(read, compiler, floor)).tests).toEqual(
      [
        ['test_above', null],
        ['test_at', null],
        ['test_asks_nobody', null],
        ['test_shared', null],
        ['test_floor_data', null],
        ['test_wrong', 'does not hold'],
        ['todo_test_later', null],
      ].map(([description, fault], index) => ({
        file: at(8 + 2 * index),
        description,
        fault,
        skipped: description === 'todo_test_later',
      })),
    );

    for (const name of ['nope', 'http.send', 'json.verify_schema', 'net.lookup_ip_addr', 'opa.runtime']) {
      write('finance/ceiling_test.rego', test(`test_x if ${name}(1)`));
      await expect(testsOf(read, compiler, floor)).rejects.toThrow(
        `${at(8)}: rego_type_error: undefined function ${name}`,
      );
    }
  });

  it('is warned of rules in a file of tests that are no test and that no test uses', async () => {
    const body = (rules: string): string => `package gate.authz_test\n\nimport rego.v1\n\n${rules}\n`;
    write('finance/ceiling_test.rego', body('tset_above if data.gate.authz.deny\n\ntets_at if true'));
    write(
      'finance/shared_test.rego',
      body('call := {}\n\ntest_one if data.gate.authz.deny == set() with input as call'),
    );
    write('empty_test.rego', 'package gate.authz_test\n');
    const { tests, warnings } = await testsOf(await readPolicyFolder(folder), compiler, floor);
    expect(tests).toMatchObject([{ description: 'test_one', fault: null }]);
    const of = (path: string, message: string) => ({ path: join(folder, path), message });
    const idle = (line: number, name: string): string =>
      `line ${line} defines ${name}, which is no test (test_...) and which no test uses`;
    expect(warnings).toEqual([
      of('empty_test.rego', 'no rule stands in it'),
      of('finance/ceiling_test.rego', idle(5, 'tset_above')),
      of('finance/ceiling_test.rego', idle(7, 'tets_at')),
    ]);
    expect(gate('test')).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/ceiling_test\.rego: warning: line 5 .*\n1 tests hold\n$/s),
    });
  });

  it('has the templates that ship, each with its tests, as they are', async () => {
    rmSync(join(folder, 'finance'), { recursive: true });
    const shipped = join(shippedPolicyDirectory(), 'templates', 'finance');
    cpSync(shipped, join(folder, 'copied'), { recursive: true });
    const read = await readPolicyFolder(folder);
    const { tests: tested, warnings } = await testsOf(read, compiler, floor);
    expect(warnings).toEqual([]);
    expect((await checkedFolder(read, compiler, floor)).warnings).toEqual([]);
    expect(tested.length).toBeGreaterThan(10);
    expect(tested.filter(({ fault }) => fault !== null)).toEqual([]);
    // Whoever copied what they share as well has it once.
    cpSync(join(shipped, '..', 'fixtures_test.rego'), join(folder, 'fixtures_test.rego'));
    expect(await testsOf(await readPolicyFolder(folder), compiler, floor)).toEqual({ tests: tested, warnings: [] });
    const cases = await casesOf(read, floor, await rulesOf(read, compiler, floor));
    expect(cases.length).toBeGreaterThan(20);
    expect(cases.filter(({ fault }) => fault !== null)).toEqual([]);
  });

  it('ends with 1 where a test in Rego does not hold, and says where there is nothing to test', () => {
    const run = () =>
      spawnSync(process.execPath, [join(PROJECT_ROOT, 'dist/cli/main.js'), 'policy', 'test', folder], {
        encoding: 'utf8',
        env: process.env,
      });
    expect(run()).toMatchObject({ status: 0, stdout: 'there are no cases (*.yaml) and no tests (*_test.rego)\n' });
    write('a_test.rego', 'package t\n\nimport rego.v1\n\ntest_no if false\n\ntodo_test_x if true\n');
    expect(run()).toMatchObject({
      status: 1,
      stdout: `${join(folder, 'a_test.rego')}:5: test_no does not hold\n${join(folder, 'a_test.rego')}:7: todo_test_x is skipped\n`,
      stderr: 'gate: 1 of 1 tests do not hold\n',
    });
  });
});

describe('a folder of policies and a server', () => {
  const by = { reason: 'review 7', actor_sub: 'ada', actor_idp: 'git' };
  /** Asks a policy engine with a store of its own. */
  async function served(work: (ask: AskPolicies, store: PolicyStore) => Promise<void>): Promise<void> {
    const store = await openPolicyStore({ file: join(folder, '.store.db') }, POLICY_KEYS);
    const management = await openManagement({
      floor,
      store,
      templates: openTemplates(),
      compiler,
      ledger: { append: () => Promise.reject(new Error('none here')) },
      log: pino({ level: 'silent' }),
    });
    const service = createPolicyService({
      policies: floor,
      management,
      registry: new Registry(),
      logger: pino({ level: 'silent' }),
      trustDomain: 'gate.local',
      resolveCaller: () => ({
        kind: 'service',
        spiffe: 'spiffe://gate.local/service/console',
        callerId: 'service-console',
        fingerprint: 'f',
      }),
    });
    const ask: AskPolicies = async <T>(method: string, url: string, payload?: object) => {
      const reply = await service.app.inject({ method: method as 'GET', url, ...(payload && { payload }) });
      if (reply.statusCode >= 300) throw new Error(`${reply.statusCode} ${reply.json<{ error: string }>().error}`);
      return reply.json<T>();
    };
    try {
      await work(ask, store);
    } finally {
      await service.close();
      await management.close();
      await store.close();
    }
  }

  it('are compared, made the same, and then there is nothing to do; a server that has moved refuses', async () => {
    await served(async (ask, store) => {
      const plan = async (prune = false) => planOf((await readPolicyFolder(folder)).policies, ask, { prune });
      const generation = async () => (await store.catalogue()).generation;
      const apply = async (prune = false) => {
        const made = await plan(prune);
        const before = await generation();
        const { results } = await applied(made, ask, by, undefined);
        // However many, they are one change of what is in force.
        expect([(await generation()) - before, results.length]).toEqual([
          Math.min(1, made.changes.length),
          made.changes.length,
        ]);
        return made.changes.map(({ what }) => what);
      };
      expect((await plan()).changes.map(({ what, diff }) => [what, diff.split('\n').length > 3])).toEqual([
        ['create', true],
        ['create', true],
      ]);
      expect(await apply()).toEqual(['create', 'create']);
      expect(await apply()).toEqual([]);
      write('ceilings.json', '{"most": 20}');
      const old = await plan();
      expect(old.changes).toMatchObject([
        { what: 'update', version: 1, diff: expect.stringContaining('+{"most": 20}') },
      ]);
      expect(await apply()).toEqual(['update']);
      // What was planned on version 1 does not undo what came in between.
      await expect(applied(old, ask, by, undefined)).rejects.toThrow('409 version_conflict');
      // Nor does a plan that was kept: it says what would be another thing by now.
      const kept = { contract: 'gate.policy-plan/v1', tenant: null } as const;
      write('ceilings.json', '{"most": 30}');
      const looked = planKept(await plan(), undefined);
      expect(keptPlan.parse(JSON.parse(JSON.stringify(looked)))).toEqual(looked);
      expect(movedSince(looked, planKept(await plan(), undefined))).toEqual([]);
      await ask('PUT', '/policies/ceilings.json', { body: '{"most": 5}', expected_current_version: 2, ...by });
      expect(movedSince(looked, planKept(await plan(), undefined))).toEqual([
        expect.stringMatching(
          /^ceilings\.json: the plan says update on version 2 \(\w{12}\) to \w{12}, now it would be update on version 3 /,
        ),
      ]);
      // What Gate has by now is done: the same step may run again. What the plan does not say is refused.
      expect(movedSince(looked, { ...kept, changes: [] })).toEqual([]);
      expect(movedSince({ ...kept, changes: [] }, looked)).toEqual([
        expect.stringMatching(/^ceilings\.json: the plan says nothing, now it would be update on version 2 /),
      ]);
      expect(movedSince(looked, { ...kept, tenant: 'acme', changes: [] })).toEqual([
        'the plan is of everybody, and this is of acme',
      ]);
      await ask('PUT', '/policies/ceilings.json', { body: '{"most": 20}', expected_current_version: 3, ...by });
      write('ceilings.json', '{"most": 20}');
      // Back to the newest version with another text, to a named one, and not where there is none.
      const rollback = (name: string, version?: string) => rolledBack(ask, { name, version, reason: 'wrong' });
      expect(await rollback('ceilings.json')).toMatchObject({ from: '3', answer: { version: 5 } });
      expect((await plan()).changes).toMatchObject([{ what: 'update', version: 5 }]);
      expect(await rollback('ceilings.json', '2')).toMatchObject({ from: '2', answer: { version: 6 } });
      expect((await plan()).changes).toEqual([]);
      await expect(rollback('ceiling.rego')).rejects.toMatchObject({ exitCode: 4 });
      await expect(rollback('ceiling.rego', '../1')).rejects.toMatchObject({ exitCode: 2 });
      await expect(rollback('ceiling.rego', '9')).rejects.toThrow('404');
      // One that was switched off is in force after one apply, whatever else differs.
      await ask('POST', '/policies/ceiling.rego/deactivate', { expected_current_version: 1, ...by });
      write('finance/ceiling.rego', `${CEILING}\n# tighter\n`);
      // Tried as it would be in force, once.
      expect(labOfPlan(await plan()).files.map(({ name }) => name)).toEqual(['ceiling.rego']);
      expect(await apply()).toEqual(['update', 'activate']);
      expect((await plan()).changes).toEqual([]);
      // What is left in force without its document is said.
      rmSync(join(folder, 'ceilings.json'));
      expect((await applied(await plan(true), ask, by, undefined)).warnings).toEqual([
        expect.stringMatching(/^ceiling\.rego: line 5 reads data\.gate\.ceilings, and there is no document/),
      ]);
      write('ceilings.json', '{"most": 20}');
      expect(await apply()).toEqual(['create']);
      rmSync(join(folder, 'finance/ceiling.rego'));
      expect(await plan()).toMatchObject({ changes: [], elsewhere: ['ceiling.rego'] });
      expect(await apply(true)).toEqual(['delete']);
      expect(await apply(true)).toEqual([]);
      // What was deleted comes back behind its versions; the plan says so.
      write('finance/ceiling.rego', CEILING);
      const back = await plan();
      expect(back.changes).toMatchObject([{ what: 'create', behind: 5 }]);
      expect(planMarkdown(back, null)).toContain(
        '- create `ceiling.rego`, behind version 5, with which it was deleted',
      );
      expect(await apply()).toEqual(['create']);
      expect((await plan()).changes).toEqual([]);
      // What was installed or mined came from no folder: it is not what the folder has no longer.
      await ask('POST', '/policies/templates/pii_egress.rego/install', { ...by, parameters: {} });
      const mined = `# Domain: mined\n\n${rego('deny contains "Violation: m" if input.tool_type == "m_m"')}`;
      await ask('POST', '/policies', { name: 'mined_m.rego', content_type: 'rego', body: mined, ...by });
      const installed = ['mined_m.rego', 'pii_egress.json', 'pii_egress.rego'];
      expect(await plan(true)).toEqual({ changes: [], elsewhere: installed, spared: installed });
      // A folder that has the rule has its document too.
      const { body: text } = await ask<{ body: string }>('GET', '/policies/templates/pii_egress.rego');
      write('pii_egress.rego', text);
      expect((await plan(true)).changes).toMatchObject([{ what: 'delete', name: 'pii_egress.json' }]);
      expect((await apply(true)).at(-1)).toBe('delete');
      // A text that somebody edited in the store is shown to nobody, and the folder's takes its place.
      const editor = new DatabaseSync(join(folder, '.store.db'));
      editor.exec("update policy_versions set reason = 'other' where name = 'ceilings.json'");
      editor.close();
      const mending = (await plan()).changes;
      expect(mending).toMatchObject([{ what: 'update', policy: { name: 'ceilings.json' } }]);
      expect(mending[0]?.diff).toContain('+{"most": 20}');
      expect(await apply()).toEqual(['update']);
      expect((await plan()).changes).toEqual([]);
    });
  });

  it('have a tenant\u2019s policy in force that is off for everybody, also behind a copy that was deleted', async () => {
    await served(async (ask) => {
      const path = '/policies/a.rego';
      const text = (tool: string) => rego(`deny contains "Violation: ${tool}" if input.tool_type == "${tool}"`);
      await ask('POST', '/policies', { name: 'a.rego', content_type: 'rego', body: text('x'), active: false, ...by });
      for (const [version, tool] of [
        [1, 'y'],
        [2, 'z'],
      ] as const)
        await ask('PUT', `${path}?tenant=acme`, { body: text(tool), expected_current_version: version, ...by });
      await ask('DELETE', `${path}?tenant=acme`, { expected_current_version: 3, ...by });
      write('a.rego', text('w'));
      const file = await readPolicyFile(join(folder, 'a.rego'));
      const planned = () => planOf([file], ask, { tenant: 'acme' });
      const plan = await planned();
      expect(plan.changes).toMatchObject([
        { what: 'update', version: 1 },
        { what: 'activate', version: 5 },
      ]);
      expect((await applied(plan, ask, by, 'acme')).results).toMatchObject([
        { version: 5, active: false },
        { version: 6, active: true },
      ]);
      expect((await planned()).changes).toEqual([]);
    });
  });
});

describe('a policy whose text was edited in the store', () => {
  const intact = (version: number, digest: string) => ({ name: 'a.rego', version, body_sha256: digest.repeat(64) });
  const edited = (version: number) => ({ name: 'a.rego', version, tampered: 'edited in the store' });
  it.each([
    ['which is the one of now', [edited(3), intact(2, 'b'), intact(1, 'a')], '2', { expected_current_version: 3 }],
    [
      'which is an earlier one',
      [intact(3, 'b'), edited(2), intact(1, 'a')],
      '1',
      { expected_current_version: 3, expected_body_sha256: 'b'.repeat(64) },
    ],
  ])('is rolled back to one that was not, %s', async (_, versions, from, on) => {
    const sent: unknown[] = [];
    const ask: AskPolicies = async <T>(method: string, path: string, body?: object) => {
      if (method === 'GET') return { versions } as T;
      sent.push(path, body);
      return { name: 'a.rego', version: 4 } as T;
    };
    expect(await rolledBack(ask, { name: 'a.rego', reason: 'edited' })).toMatchObject({ from });
    expect(sent).toEqual([`/policies/a.rego/rollback/${from}`, expect.objectContaining(on)]);
  });
});

describe('one policy at the command line', () => {
  const row = { name: 'a.rego', protected: false, active: true, current_version: 7, body_sha256: 'b'.repeat(64) };
  let policies: object[];
  let sent: unknown[];
  let told: string[];
  const tell = (line: string) => void told.push(line);
  const ask: AskPolicies = async <T>(method: string, path: string, body?: object) => {
    if (method === 'GET' && path.startsWith('/policies/'))
      return { current_body: path.includes('tenant=') ? 'own\n' : 'shared\u001b[2J\n' } as T;
    if (method === 'GET') return { policies } as T;
    sent.push([method, path, body]);
    return { name: 'a.rego', version: 8 } as T;
  };
  const on = { expected_current_version: 7, expected_body_sha256: row.body_sha256, reason: 'ticket 3' };
  beforeEach(() => {
    policies = [row];
    sent = [];
    told = [];
  });

  it('is switched off, on and deleted, of the version and the text that Gate has, for everybody or a tenant', async () => {
    const asked = { reason: 'ticket 3' };
    await policyStateSet(ask, 'off', 'a.rego', asked, tell);
    await policyStateSet(ask, 'delete', 'a', { ...asked, tenant: 'a b' }, tell);
    policies = [{ ...row, active: false }];
    await policyStateSet(ask, 'on', 'a.rego', { ...asked, tenant: 'acme' }, tell);
    expect(sent).toEqual([
      ['POST', '/policies/a.rego/deactivate', expect.objectContaining(on)],
      ['DELETE', '/policies/a.rego?tenant=a%20b', expect.objectContaining(on)],
      ['POST', '/policies/a.rego/activate?tenant=acme', expect.objectContaining(on)],
    ]);
  });

  it.each([
    ['and what holds for everybody comes back, is told, and may be no other text by then', true],
    ['and nothing comes back where that is switched off, nor may anything by then', false],
  ])('of a tenant is deleted, %s', async (_, active) => {
    const shared = { ...row, content_type: 'rego', active };
    const asked: AskPolicies = async <T>(method: string, path: string, body?: object) =>
      method === 'GET' && path === '/policies' ? ({ policies: [shared] } as T) : ask<T>(method, path, body);
    await policyStateSet(asked, 'delete', 'a.rego', { reason: 'ticket 3', tenant: 'acme' }, tell);
    const back = active ? sha256Hex('shared\u001b[2J\n') : null;
    expect(sent).toMatchObject([['DELETE', '/policies/a.rego?tenant=acme', { ...on, expected_back_sha256: back }]]);
    expect(told.join('\n').includes('acme has a.rego as it holds for everybody')).toBe(active);
    expect(told.some((line) => line.includes('+shared'))).toBe(active);
    expect(told.join('\n')).not.toContain('\u001b');
  });

  it.each(['off', 'delete'] as const)('that was mined is warned of, by %s while it is in force', async (act) => {
    const mined = { ...row, domain: 'mined', tool_surface: ["create'issue"] };
    policies = [mined];
    const made = await policyStateSet(ask, act, 'a.rego', { reason: 'ticket 3' }, tell);
    expect(made.warnings).toEqual([
      expect.stringMatching(
        /^Without this rule the class of create'issue alone counts: .*npx gate tools set 'create'\\''issue' review/,
      ),
    ]);
    policies = [{ ...mined, active: false }];
    const on = await policyStateSet(ask, act === 'off' ? 'on' : act, 'a.rego', { reason: 'ticket 3' }, tell);
    expect(on.warnings).toBeUndefined();
  });

  it('is the one of an operator, also where one of the rules that ship has its name', async () => {
    policies = [{ ...row, protected: true, current_version: 1 }, row];
    await policyStateSet(ask, 'off', 'a.rego', { reason: 'ticket 3' }, tell);
    expect(sent).toEqual([['POST', '/policies/a.rego/deactivate', expect.objectContaining(on)]]);
  });

  it.each([
    ['there is none', 'off', 'b.rego', 'there is no policy b.rego'],
    ['it ships', 'delete', 'floor.rego', 'a release alone changes'],
    ['it is in force', 'on', 'a.rego', 'in force already'],
    ['it is off', 'off', 'c.rego', 'switched off already'],
  ] as const)('is left as it is where %s', async (_, act, name, why) => {
    policies = [row, { ...row, name: 'floor.rego', protected: true }, { ...row, name: 'c.rego', active: false }];
    await expect(policyStateSet(ask, act, name, { reason: 'x' }, tell)).rejects.toMatchObject({
      exitCode: 4,
      message: expect.stringContaining(why),
    });
    expect(sent).toEqual([]);
  });
});

describe('a tenant’s copy that the folder does not have', () => {
  it.each([
    ['and what holds for everybody comes back, is told and tried', true],
    ['and nothing comes back where the one for everybody is switched off', false],
  ])('is deleted with --prune, %s', async (_, active) => {
    const shared = { name: 'a.rego', content_type: 'rego', protected: false, tenant: null, deleted_at: null, active };
    const own = { ...shared, tenant: 'acme', active: false, current_version: 3, body_sha256: '3'.repeat(64) };
    const answers: Record<string, unknown> = {
      '/policies?include_deleted=true&tenant=acme': { policies: [own] },
      '/policies': { policies: [shared] },
      '/policies/templates?tenant=acme': [],
      '/policies/a.rego?tenant=acme': { current_body: 'of acme\n' },
      '/policies/a.rego': { current_body: 'of everybody\n' },
    };
    const plan = await planOf([], async <T>(_method: string, path: string) => answers[path] as T, {
      tenant: 'acme',
      prune: true,
    });
    const file = { name: 'a.rego', content_type: 'rego', body: 'of everybody\n' };
    expect(plan.changes).toMatchObject([{ what: 'delete', name: 'a.rego', version: 3, back: active ? file : null }]);
    expect(plan.changes[0]?.diff.includes('+of everybody')).toBe(active);
    // A plan that is kept, and what the engine is asked for, name the text that comes back: with another one both are refused.
    const looked = planKept(plan, 'acme');
    const becomes = active ? sha256Hex('of everybody\n') : null;
    expect(looked.changes).toMatchObject([{ what: 'delete', becomes }]);
    const asked: unknown[] = [];
    await applied(
      plan,
      async <T>(_method: string, _path: string, body?: object) => (asked.push(body), {}) as T,
      { reason: 'review 7', actor_sub: 'ada', actor_idp: 'git' },
      'acme',
    );
    expect(asked).toMatchObject([{ changes: [{ what: 'delete', expected_back_sha256: becomes }] }]);
    answers['/policies'] = { policies: [{ ...shared, active: true }] };
    answers['/policies/a.rego'] = { current_body: 'another\n' };
    const now = await planOf([], async <T>(_method: string, path: string) => answers[path] as T, {
      tenant: 'acme',
      prune: true,
    });
    expect(movedSince(looked, planKept(now, 'acme'))).toEqual([
      expect.stringMatching(
        /^a\.rego: the plan says delete on version 3 .*, now it would be delete .* back to \w{12}$/,
      ),
    ]);
    expect(labOfPlan(plan)).toEqual(active ? { files: [file], without: [] } : { files: [], without: ['a.rego'] });
    expect(planMarkdown(plan, null).includes('- delete `a.rego`, and what holds for everybody comes back')).toBe(
      active,
    );
  });
});

describe('templates at the command line', () => {
  const asked: [string, string, object | undefined][] = [];
  const corpus = ['list_files', 'send_email'].map((tool_type) => ({ input: { tool_type } }));
  const ask: AskPolicies = async <T>(method: string, path: string, body?: object) => {
    asked.push([method, path, body]);
    const judged = { reasons: [], review_reasons: [] };
    if (path.startsWith('/audit')) return { corpus, total_in_window: 7 } as T;
    const { inputs = [] } = (body ?? {}) as { inputs?: { tool_type: string }[] };
    const results = inputs.map((input) => ({
      correlation_id: 'c',
      input,
      before: judged,
      after: input.tool_type === 'send_email' ? { ...judged, reasons: ['Violation: x'] } : judged,
      diff: input.tool_type === 'send_email' ? 'allow_to_deny' : 'unchanged',
    }));
    return { results } as T;
  };

  it('are tried over the calls of yesterday with what is to be set', async () => {
    const parameters = parametersIn(['internal_domains=["acme.example"]', 'most_addresses=5', 'word=acme']);
    expect(parameters).toEqual({ internal_domains: ['acme.example'], most_addresses: 5, word: 'acme' });
    for (const wrong of [['x'], ['=1'], ['a=1', 'a=2']]) expect(() => parametersIn(wrong)).toThrow('name=value');
    const meant = { name: 'pii_egress', parameters, tenant: 'acme' };
    const trial = await triedYesterday(ask, ask, meant, new Date('2026-11-18T10:00:00Z'));
    expect(asked.map(([method, path]) => [method, path])).toEqual([
      [
        'GET',
        '/audit/replay/corpus?since=2026-11-17T10%3A00%3A00.000Z&until=2026-11-18T10%3A00%3A00.000Z&limit=5000&tenant_prefix=acme',
      ],
      ['POST', '/policies/templates/pii_egress.rego/lab?tenant=acme'],
    ]);
    expect(asked[1]?.[2]).toMatchObject({ parameters, inputs: corpus.map(({ input }) => input) });
    expect(trialLines(trial)).toEqual([
      '2 of 7 calls from 2026-11-17T10:00:00.000Z to 2026-11-18T10:00:00.000Z: 1 would have been decided otherwise',
      '  1 ran and would have been denied',
      '  c send_email: Violation: x',
    ]);
  });

  it('are set over what they are set to, by the version that was read', async () => {
    const changes: unknown[] = [];
    let stored: string | null = null;
    const gate: AskPolicies = async <T>(method: string, path: string, body?: object) => {
      if (method !== 'GET') {
        changes.push([method, path, body]);
        return { name: 'pii_egress.json', version: 4, warnings: ['own.rego: line 5 reads data.gate.x'] } as T;
      }
      if (path.startsWith('/policies/templates')) return { name: 'pii_egress.rego', installed: true } as T;
      if (path === '/policies') return { policies: stored === null ? [] : [{ name: 'pii_egress.json' }] } as T;
      return { current_body: stored, current_version: 3 } as T;
    };
    const meant = { name: 'pii_egress', parameters: { most_addresses: 5 }, tenant: undefined };
    const by = { reason: 'r', actor_sub: 'ada', actor_idp: 'command line' };
    expect(await settingsOf(gate, meant)).toEqual({ parameters: {}, version: null });
    await setParameters(gate, meant, null, by);
    stored = '{"most_addresses": 5}';
    const now = await settingsOf(gate, meant);
    expect(now).toEqual({ parameters: { most_addresses: 5 }, version: 3 });
    const set = await setParameters(gate, { ...meant, parameters: { most_addresses: 6 } }, now.version, by);
    expect(setLines({ ...set, active: true })).toEqual([
      'pii_egress.json is in force, version 4',
      'warning: own.rego: line 5 reads data.gate.x',
    ]);
    expect(changes).toEqual([
      [
        'POST',
        '/policies',
        { name: 'pii_egress.json', content_type: 'json', body: '{\n  "most_addresses": 5\n}\n', ...by },
      ],
      [
        'PUT',
        '/policies/pii_egress.json',
        { body: '{\n  "most_addresses": 6\n}\n', expected_current_version: 3, ...by },
      ],
    ]);
  });
});

describe('a plan, tried on recorded calls', () => {
  const plan: PolicyPlan = {
    changes: [
      {
        what: 'update',
        policy: { name: 'ceiling.rego', path: 'x/ceiling.rego', content_type: 'rego', body: CEILING },
        version: 3,
        was: '1'.repeat(64),
        diff: '--- a\n+++ b\n+```\n+\u001b[2Jdeny\n',
      },
      { what: 'delete', name: 'old.rego', version: 1, was: '2'.repeat(64), diff: '', back: null },
    ],
    elsewhere: [],
    spared: [],
  };
  const said = (tier: 'green' | 'yellow' | 'red', ...reasons: string[]) => ({
    tier,
    reasons: tier === 'red' ? reasons : [],
    review_reasons: tier === 'yellow' ? reasons : [],
  });
  const bundle = { schema_version: 1 as const, version: '2026-11-27.1', hash_sha256: 'sha256:0', policy_count: 1 };
  const result: LabResult = {
    policy_bundle: bundle,
    candidate_bundle: bundle,
    judged: 12,
    purged: 1,
    unreadable: 0,
    not_as_recorded: 2,
    counts: {
      allow_to_deny: 1,
      allow_to_yellow: 0,
      deny_to_allow: 0,
      deny_to_yellow: 0,
      yellow_to_allow: 2,
      yellow_to_deny: 0,
      unchanged: 9,
    },
    people: {
      approved: { green: 3, yellow: 0, red: 1 },
      denied: { green: 0, yellow: 0, red: 0 },
      expired: { green: 0, yellow: 0, red: 0 },
    },
    cost: { now: { p50_us: 200, p99_us: 900 }, candidate: { p50_us: 250, p99_us: 990 } },
    rows: [
      {
        seq: 7,
        at: '2026-11-27T10:00:00.000Z',
        correlation_id: 'c-1',
        agent_id: 'bot|`x`',
        tool: 'pay',
        people: 'approved',
        diff: 'allow_to_deny',
        before: said('green'),
        after: said('red', 'Violation: ceiling'),
      },
    ],
    rows_left: 2,
    warnings: ['ceiling.rego: line 5 reads data.gate.`x|y'],
  };
  const window = { since: '2026-11-26T00:00:00Z', until: null, tenant: 'acme' };
  const NO_COST = { p50_us: 0, p99_us: 0 };

  it('sends the files that would be in force, and the names that would not', () => {
    expect(labOfPlan(plan)).toEqual({
      files: [{ name: 'ceiling.rego', content_type: 'rego', body: CEILING }],
      without: ['old.rego'],
    });
  });

  it('is told in words, with what is weaker, and what people had decided', () => {
    expect(labText(result, window)).toBe(`12 recorded calls since 2026-11-26T00:00:00Z of acme
   1  ran, would be denied
   2  waited, would run
   9  judged the same
1 calls were not judged: their inputs were purged
of 2 calls the rules of now already say something else than was said then
of calls that people approved (4): 3 would run, 1 would be denied
an evaluation takes 0.25 ms (p99 0.99 ms); now 0.2 ms (p99 0.9 ms)
calls that change:
  2026-11-27T10:00:00.000Z pay of bot|\`x\`: ran, would be denied (people: approved); Violation: ceiling [c-1]
  and 2 more
warning: ceiling.rego: line 5 reads data.gate.\`x|y`);
    expect(weakerIn(result)).toBe(2);
    const nothing = { ...result, judged: 0, cost: { now: NO_COST, candidate: NO_COST } };
    expect(labText(nothing, window)).not.toContain('an evaluation takes');
    expect(planMarkdown(plan, { result: nothing, window })).not.toContain('an evaluation takes');
  });

  it('is a report for a pull request, in which no text of others is markup', () => {
    const report = planMarkdown(plan, { result, window });
    expect(report).toContain('- update `ceiling.rego`\n- delete `old.rego`');
    expect(report).toContain('**2 calls would be judged more mildly.**');
    expect(report).toContain(
      "**Would be in force and never hold:**\n\n- `ceiling.rego: line 5 reads data.gate.'x\\|y`",
    );
    expect(report).toContain('| 1 | ran, would be denied |');
    expect(report).toContain("pay of bot\\|'x': ran");
    // The diff has three backticks in a line and a control character.
    expect(report).toContain('````diff\n--- a\n+++ b\n+```\n+\\u{1b}[2Jdeny\n````');
    expect(planMarkdown({ changes: [], elsewhere: [], spared: [] }, null)).toContain('nothing would change');
  });

  it('ends where the stream says why there is no result, and where it merely ends', async () => {
    async function* lines(...all: object[]) {
      yield* all;
    }
    const progress = { progress: { judged: 1, seq: 1, at: 'now' } };
    expect(await resultOf(lines(progress, { result }))).toEqual(result);
    await expect(resultOf(lines(progress, { error: { code: 'x', reason: 'away' } }))).rejects.toThrow('x: away');
    await expect(resultOf(lines(progress))).rejects.toThrow('ended before its result');
  });
});

describe('what was mined', () => {
  const suggestion: MinedSuggestion = {
    id: '6f0c2a51-0000-4000-8000-000000000001',
    tenant: 'acme',
    tool: 'file_ticket',
    rule_name: 'mined_file_ticket_1a2b3c4d.rego',
    state: 'installed',
    state_why: null,
    in_force: true,
    one_liner: 'file_ticket of 2 agents: would have passed 212 of 214 approvals and 0 of 9 denials',
    next_step: 'npx gate tools set file_ticket change --reason "x"',
    rego_body: 'package gate.authz',
    body_sha256: 'f'.repeat(64),
    since: '2026-11-01T00:00:00Z',
    until: '2026-11-27T00:00:00Z',
    proposed_at: '2026-11-27T00:00:00Z',
    evidence: {
      approvals: { passed: 212, of: 214 },
      denials: { passed: 0, of: 9 },
      class_alone: { approvals: 214, denials: 9 },
      days: 20,
      approvers: 4,
      agents: 2,
    },
    parts: [
      {
        upstream: 'desk',
        agents: ['acme/a', 'acme/b\u001b[2J'],
        approvals: 212,
        objects: [{ pointer: '', names: ['priority', 'queue', 'ticket'] }],
        arguments: [
          { pointer: '/priority', is: { from: 1, to: 3, whole: true, text: false, decimals: 0 } },
          { pointer: '/queue', is: { equals: 'billing' } },
          { pointer: '/ticket', is: { like: 'T-[0-9]{3}' } },
        ],
      },
    ],
    examples: { waits: [], denied: [] },
  };
  const result: MinedResult = {
    since: '2026-11-01T00:00:00Z',
    until: '2026-11-27T00:00:00Z',
    approvals: 239,
    denials: 8,
    changed: 1,
    candidates: [suggestion],
    candidates_dropped: 2,
    left: [{ tool: 'wire_transfer', approvals: 25, denials: 0, why: 'rules_ask', detail: 'Review: wires' }],
    evaluated_in_ms: 5,
  };

  it('is told with what speaks for it, and what is left; nothing of it moves the cursor', () => {
    expect(
      minedLines(result).join('\n'),
    ).toBe(`239 approvals, 8 denials and 1 approved with other arguments, from 2026-11-01T00:00:00Z to 2026-11-27T00:00:00Z
6f0c2a51-0000-4000-8000-000000000001 installed: file_ticket of 2 agents: would have passed 212 of 214 approvals and 0 of 9 denials
  the class alone would have let 214 approvals and 9 denials pass
  212 approvals at desk for acme/a, acme/b\\u{1b}[2J: /priority from 1 to 3; /queue is "billing"; /ticket is like T-[0-9]{3}
  mined_file_ticket_1a2b3c4d.rego is in force; so that these calls run: npx gate tools set file_ticket change --reason "x"
2 more are not shown
left: wire_transfer, 25 approvals, 0 denials: rules ask a person whatever its class; Review: wires`);
    const over = { ...suggestion, state: 'withdrawn', state_why: 'one was denied' } as const;
    const told = (in_force: boolean) => minedLines({ ...result, candidates: [{ ...over, in_force }] }).join('\n');
    expect(told(true)).toContain(
      'mined_file_ticket_1a2b3c4d.rego is still in force; before `gate policy off mined_file_ticket_1a2b3c4d.rego --tenant acme`: npx',
    );
    expect(told(false)).not.toContain('in force');
    expect(minedLines({ ...result, candidates: [{ ...suggestion, state: 'proposed', in_force: false }] })[4]).toBe(
      `  to put it in force: npx gate policy accept ${suggestion.id} --tenant acme --reason "…"`,
    );
    expect(minedLines({ ...result, candidates: [] })[1]).toBe('nothing can be suggested');
  });

  it('ends where the stream says why there is none, and where it merely ends', async () => {
    async function* lines(...all: object[]) {
      yield* all;
    }
    const progress = { progress: { decisions: 1, at: 'now' } };
    expect(await minedIn(lines(progress, { result }))).toEqual(result);
    await expect(minedIn(lines(progress, { error: { code: 'x', reason: 'away' } }))).rejects.toThrow('x: away');
    await expect(minedIn(lines(progress))).rejects.toThrow('ended before its result');
  });

  it('is put in force by its id, and says what a person does then', async () => {
    const asked: unknown[] = [];
    const made = { name: suggestion.rule_name, version: 1 };
    const ask = (async (method: string, path: string, body?: { reason: string }) => {
      asked.push([method, path, body?.reason]);
      return method === 'POST' ? made : { suggestions: [suggestion] };
    }) as AskPolicies;
    expect(await accepted(ask, { id: suggestion.id, tenant: 'acme', reason: 'ticket 12' })).toEqual({
      made,
      suggestion,
    });
    expect(asked).toEqual([
      ['POST', `/policies/suggestions/${suggestion.id}/install?tenant=acme`, 'ticket 12'],
      ['GET', '/policies/suggestions?tenant=acme', undefined],
    ]);
  });
});
