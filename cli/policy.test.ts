import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { LabResult } from '../contracts/policy-studies.js';
import { opaCompiler } from '../adapters/policy/opa-compiler.js';
import { openTemplates } from '../adapters/policy/template-files.js';
import { openPolicyStore } from '../adapters/policy/policy-store.js';
import { shippedPolicyDirectory } from '../adapters/policy/policy-sources.js';
import { createPolicyService } from '../api/policy/app.js';
import { openManagement } from '../api/policy/management.js';
import { findOpa } from '../stack/programs/find-program.js';
import { casesOf, faultsOf, readPolicyFolder, rulesOf, shippedFloor } from './policy-folder.js';
import { labText, planMarkdown, weakerIn } from './lab-report.js';
import { applied, type AskPolicies, planOf, type PolicyPlan } from './policy-plan.js';
import { labOfPlan, resultOf, rolledBack } from './policy-studies.js';
import { parametersIn, setParameters, settingsOf, trialLines, triedYesterday } from './policy-templates.js';

const floor = await shippedFloor();
const compiler = opaCompiler({
  find: () => findOpa({ onProgress: () => undefined }),
  directory: shippedPolicyDirectory(),
});
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
    expect(results.map(({ fault }) => fault)).toEqual([null, null, null, 'is green, not red']);
  });
});

describe('a folder of policies and a server', () => {
  it('are compared, made the same, and then there is nothing to do; a server that has moved refuses', async () => {
    const store = await openPolicyStore({ file: join(folder, '.store.db') });
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
    const by = { reason: 'review 7', actor_sub: 'ada', actor_idp: 'git' };
    const plan = async (prune = false) => planOf((await readPolicyFolder(folder)).policies, ask, { prune });
    const apply = async (prune = false) => {
      const { changes } = await plan(prune);
      for (const change of changes) await applied(change, ask, by, undefined);
      return changes.map(({ what }) => what);
    };
    try {
      expect((await plan()).changes.map(({ what, diff }) => [what, diff.split('\n').length > 3])).toEqual([
        ['create', true],
        ['create', true],
      ]);
      expect(await apply()).toEqual(['create', 'create']);
      expect(await apply()).toEqual([]);
      write('ceilings.json', '{"most": 20}');
      const { changes } = await plan();
      expect(changes).toMatchObject([{ what: 'update', version: 1, diff: expect.stringContaining('+{"most": 20}') }]);
      expect(await apply()).toEqual(['update']);
      // What was planned on version 1 does not undo what came in between.
      await expect(applied(changes[0] as (typeof changes)[0], ask, by, undefined)).rejects.toThrow(
        '409 version_conflict',
      );
      // Back to the newest version with another text, to a named one, and not where there is none.
      const rollback = (name: string, version?: string) => rolledBack(ask, { name, version, reason: 'wrong' });
      expect(await rollback('ceilings.json')).toMatchObject({ from: '1', answer: { version: 3 } });
      expect((await plan()).changes).toMatchObject([{ what: 'update', version: 3 }]);
      expect(await rollback('ceilings.json', '2')).toMatchObject({ from: '2', answer: { version: 4 } });
      expect((await plan()).changes).toEqual([]);
      await expect(rollback('ceiling.rego')).rejects.toMatchObject({ exitCode: 4 });
      await expect(rollback('ceiling.rego', '../1')).rejects.toMatchObject({ exitCode: 2 });
      await expect(rollback('ceiling.rego', '9')).rejects.toThrow('404');
      rmSync(join(folder, 'finance/ceiling.rego'));
      expect(await plan()).toMatchObject({ changes: [], elsewhere: ['ceiling.rego'] });
      expect(await apply(true)).toEqual(['delete']);
      expect(await apply(true)).toEqual([]);
    } finally {
      await service.close();
      await management.close();
      await store.close();
    }
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
        return { name: 'pii_egress.json', version: 4 } as T;
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
    await setParameters(gate, { ...meant, parameters: { most_addresses: 6 } }, now.version, by);
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
        diff: '--- a\n+++ b\n+```\n+\u001b[2Jdeny\n',
      },
      { what: 'delete', name: 'old.rego', version: 1, diff: '' },
    ],
    elsewhere: [],
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
  };
  const window = { since: '2026-11-26T00:00:00Z', until: null, tenant: 'acme' };

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
an evaluation takes 250 µs (p99 990 µs); now 200 µs (p99 900 µs)
calls that change:
  2026-11-27T10:00:00.000Z pay of bot|\`x\`: ran, would be denied (people: approved); Violation: ceiling [c-1]
  and 2 more`);
    expect(weakerIn(result)).toBe(2);
  });

  it('is a report for a pull request, in which no text of others is markup', () => {
    const report = planMarkdown(plan, { result, window });
    expect(report).toContain('- update `ceiling.rego`\n- delete `old.rego`');
    expect(report).toContain('**2 calls would be judged more mildly.**');
    expect(report).toContain('| 1 | ran, would be denied |');
    expect(report).toContain("pay of bot\\|'x': ran");
    // The diff has three backticks in a line and a control character.
    expect(report).toContain('````diff\n--- a\n+++ b\n+```\n+\\u{1b}[2Jdeny\n````');
    expect(planMarkdown({ changes: [], elsewhere: [] }, null)).toContain('nothing would change');
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
