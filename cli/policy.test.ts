import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { opaCompiler } from '../adapters/policy/opa-compiler.js';
import { openTemplates } from '../adapters/policy/template-files.js';
import { openPolicyStore } from '../adapters/policy/policy-store.js';
import { shippedPolicyDirectory } from '../adapters/policy/policy-sources.js';
import { createPolicyService } from '../api/policy/app.js';
import { openManagement } from '../api/policy/management.js';
import { findOpa } from '../stack/programs/find-program.js';
import { casesOf, faultsOf, readPolicyFolder, rulesOf, shippedFloor } from './policy-folder.js';
import { parametersIn, trialLines, triedYesterday } from './policy-templates.js';
import { applied, type AskPolicies, planOf } from './policy-plan.js';

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
});
