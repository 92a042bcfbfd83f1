import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from '../../../../test/support/stack.js';
import { eventually } from '../../../../test/support/waiting.js';
import { canonicalDigest, canonicalJson } from '../src/governed/canonical-json.js';
import { GateRecoveryRequired, governedTools, openFileJournal } from '../src/governed/index.js';
import { GateConfigError, GateTransportError } from '../src/index.js';
import { answerJson, stubGate } from './stub-gate.js';

const PACKAGE = fileURLToPath(new URL('..', import.meta.url));
const CHILD = fileURLToPath(new URL('./governed-child.mjs', import.meta.url));
const TSC = fileURLToPath(new URL('../../../../node_modules/typescript/bin/tsc', import.meta.url));
const AGENT = 'governed-bot';

describe('the canonical form', () => {
  it.each<[unknown, string]>([
    [{ b: 1, a: [true, null, 'ä\n'] }, '{"a":[true,null,"ä\\n"],"b":1}'],
    [{ '\u20ac': 1, '\r': 2, '\ud83d\ude00': 3, '1': 4 }, '{"\\r":2,"1":4,"\u20ac":1,"\ud83d\ude00":3}'],
    [{ n: [1e21, 1e-7, 0.1, -0, 333_333_333.333_333_3] }, '{"n":[1e+21,1e-7,0.1,0,333333333.3333333]}'],
  ])('of %p', (value, text) => {
    expect(canonicalJson(value)).toBe(text);
    expect(canonicalDigest(value)).toMatch(/^sha256:[0-9a-f]{64}$/);
  });
});

describe('execution that Gate governs', () => {
  let gate: TestStack;
  let folder: string;
  let env: Record<string, string>;
  beforeAll(async () => {
    gate = await startStack();
    await gate.agent(AGENT);
    await promisify(execFile)(process.execPath, [TSC, '-p', PACKAGE]);
  }, STACK_START_LIMIT_MS);
  afterAll(() => gate?.stop(), 150_000);
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gate-governed-'));
    const leaf = join(gate.stateDir, 'pki/agents/acme', AGENT);
    env = {
      ENDPOINT: gate.development.proxy.url,
      CA: gate.development.proxy.ca,
      CERT: `${leaf}.crt`,
      KEY: `${leaf}.key`,
      JOURNAL: join(folder, 'journal'),
      EFFECTS: join(folder, 'effects'),
      ID: randomUUID(),
    };
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  type Said = Readonly<Record<string, unknown>> | null;
  const child = (over: Record<string, string> = {}): Promise<{ said: Said; signal: string | null }> =>
    new Promise((resolve) => {
      const started = spawn(process.execPath, [CHILD], {
        env: { ...process.env, ...env, ...over },
      });
      let text = '';
      started.stdout.on('data', (bytes: Buffer) => {
        text += bytes.toString('utf8');
      });
      started.stderr.pipe(process.stderr);
      started.once('close', (_, signal) => resolve({ said: text === '' ? null : (JSON.parse(text) as Said), signal }));
    });
  const effects = (): number =>
    existsSync(env['EFFECTS'] as string) ? readFileSync(env['EFFECTS'] as string, 'utf8').split('\n').length - 1 : 0;
  const RESULT = { result: { done: 'list_files' } };

  it('runs an allowed call once, with a receipt in the ledger, and gives its result again', async () => {
    const { said } = await child();
    expect(said).toMatchObject({ ...RESULT, replayed: false, receiptDelivered: true });
    expect((await child()).said).toMatchObject({ ...RESULT, replayed: true });
    expect(effects()).toBe(1);
    const [name] =
      [
        ...readFileSync(join(env['JOURNAL'] as string, `${env['ID']}.intent.json`), 'utf8').matchAll(
          /"correlation_id":"([^"]+)"/g,
        ),
      ][0]?.slice(1) ?? [];
    expect((await gate.rows(name ?? '', (kinds) => kinds.includes('execution.completed'))).length).toBeGreaterThan(1);
  });

  it('runs nothing that is denied, or that nobody decided yet', async () => {
    expect((await child({ TOOL: 'delete_file' })).said).toMatchObject({ error: 'GateDenied', code: 'policy_denied' });
    expect((await child({ TOOL: 'wire_transfer', ID: randomUUID() })).said).toMatchObject({ error: 'GatePending' });
    expect(effects()).toBe(0);
  });

  it('runs what a person approved, also in the process after the one that asked', async () => {
    const over = { TOOL: 'wire_transfer' };
    const { said } = await child(over);
    const [id] = /[0-9a-f-]{36}/.exec(String(said?.['message'])) ?? [];
    await gate.operator.decide(id ?? '', 'approve', 'as the test says');
    await eventually(
      'the decision',
      async () => (await (await gate.agent(AGENT)).request('GET', `/pending/${id}`)).body['decision'] === 'allow',
    );
    expect((await child({ ...over, WAIT: 'yes' })).said).toMatchObject({
      result: { done: 'wire_transfer' },
      replayed: false,
    });
    expect(effects()).toBe(1);
  });

  it('runs a call once where two processes begin it at the same moment', async () => {
    const both = await Promise.all([child(), child()]);
    expect(effects()).toBe(1);
    const ran = both.filter(({ said }) => said?.['replayed'] === false);
    expect(ran).toHaveLength(1);
    for (const { said } of both)
      expect(said?.['replayed'] !== undefined || said?.['error'] === 'GateRecoveryRequired').toBe(true);
  });

  // What is known after each end, and what recovery finds. Nowhere is the effect made twice.
  it.each([
    ['before-intent', 0, 'runs'],
    ['after-intent', 0, 'uncertain'],
    ['before-effect', 0, 'uncertain'],
    ['after-effect', 1, 'recovered'],
    ['before-completion', 1, 'recovered'],
    ['after-completion', 1, 'replayed'],
    ['before-delivered', 1, 'replayed'],
  ])('killed %s, with %i effects, it is %s', async (step, before, after) => {
    expect((await child({ KILL_AT: step })).signal).toBe('SIGKILL');
    expect(effects()).toBe(before);
    const { said } = await child();
    if (after === 'runs') expect(said).toMatchObject({ ...RESULT, replayed: false });
    else if (after === 'replayed') expect(said).toMatchObject({ ...RESULT, replayed: true });
    else {
      expect(said).toMatchObject({ error: 'GateRecoveryRequired' });
      const recovered = (await child({ RECOVER: 'yes' })).said;
      if (after === 'recovered') expect(recovered).toMatchObject({ ...RESULT, replayed: true, receiptDelivered: true });
      else expect(recovered).toMatchObject({ error: 'GateRecoveryRequired' });
    }
    expect(effects()).toBe(after === 'runs' ? 1 : before);
  });

  it('delivers later what Gate could not take, and runs nothing for it', async () => {
    expect((await child({ KILL_AT: 'after-completion' })).signal).toBe('SIGKILL');
    expect((await child({ DELIVER: 'yes' })).said).toEqual({ delivered: 1, failed: 0 });
    expect((await child({ DELIVER: 'yes' })).said).toEqual({ delivered: 0, failed: 0 });
    expect(effects()).toBe(1);
  });

  it('takes another call under the same id for a fault', async () => {
    await child();
    expect((await child({ TOOL: 'read_file' })).said).toMatchObject({ error: 'GateConfigError' });
  });

  describe('with a Gate that lies', () => {
    const certificate = () => ({
      cert: readFileSync(env['CERT'] as string, 'utf8'),
      key: readFileSync(env['KEY'] as string, 'utf8'),
    });
    const against = async (change: (signed: Record<string, Record<string, unknown>>) => void): Promise<unknown> => {
      const bot = await gate.agent(AGENT);
      const stub = await stubGate();
      stub.answer = ({ method, path, headers, text }, response) =>
        void bot
          .request(method as 'GET', path, {
            headers: Object.fromEntries(
              Object.entries(headers).filter(([name]) => name.startsWith('x-gate') || name === 'content-type'),
            ) as Record<string, string>,
            ...(text && { body: JSON.parse(text) as never }),
          })
          .then((reply) => {
            const body = reply.body as Record<string, Record<string, unknown>>;
            if (path.startsWith('/authorizations/')) change(body);
            answerJson(response, reply.status, body);
          });
      const ran: unknown[] = [];
      const tools = governedTools({
        endpoint: stub.url,
        executorId: 'a-host',
        journal: await openFileJournal(env['JOURNAL'] as string),
        certificate: certificate(),
      });
      const error = await tools
        .execute({ name: 'list_files', input: { path: 'notes' } }, async (authorized) => {
          ran.push(authorized);
          return { result: null, effectId: 'e' };
        })
        .catch((thrown: unknown) => thrown);
      await stub.close();
      expect(ran).toEqual([]);
      return error;
    };

    it.each<[string, (signed: Record<string, Record<string, unknown>>) => void, RegExp]>([
      [
        'about the request',
        ({ authorization }) => Object.assign(authorization as object, { execution_payload: { method: 'x' } }),
        /signature does not hold/,
      ],
      [
        'about the time',
        ({ authorization }) => Object.assign(authorization as object, { exp: 9_999_999_999 }),
        /signature does not hold/,
      ],
      [
        'by the key of another',
        ({ identity_signature: by }) => Object.assign(by as object, { key_id: 'another' }),
        /key is none of Gate/,
      ],
      [
        'by another algorithm',
        ({ identity_signature: by }) => Object.assign(by as object, { algorithm: 'none' }),
        /signature does not hold/,
      ],
    ])('%s, nothing runs', async (_, change, reason) => {
      const error = await against(change);
      expect(error).toBeInstanceOf(GateTransportError);
      expect(String(error)).toMatch(reason);
    });
  });

  it('says that an executor which failed may have done it', async () => {
    const leaf = { cert: readFileSync(env['CERT'] as string, 'utf8'), key: readFileSync(env['KEY'] as string, 'utf8') };
    const { openTransport } = await import('../src/mtls.js');
    const transport = await openTransport({
      caBundlePath: env['CA'] as string,
      clientCertificatePath: env['CERT'] as string,
      privateKeyPath: env['KEY'] as string,
    });
    const tools = governedTools({
      endpoint: env['ENDPOINT'] as string,
      fetch: transport.fetch,
      executorId: 'a-host',
      journal: await openFileJournal(env['JOURNAL'] as string),
      certificate: leaf,
    });
    const error = await tools
      .execute({ name: 'list_files', input: {} }, () => Promise.reject(new Error('in the middle')))
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(GateRecoveryRequired);
    expect(error).toMatchObject({ cause: { message: 'in the middle' }, intent: { name: 'list_files' } });
    transport.close();
  });

  it.each<[string, () => unknown]>([
    [
      'no executor',
      async () =>
        governedTools({
          endpoint: 'https://gate',
          executorId: ' ',
          journal: await openFileJournal(join(folder, 'j')),
          certificate: { cert: '', key: '' },
        }),
    ],
    [
      'no certificate',
      async () =>
        governedTools({
          endpoint: 'https://gate',
          executorId: 'a',
          journal: await openFileJournal(join(folder, 'j')),
          certificate: { cert: 'x', key: 'y' },
        }),
    ],
    ['an id that is no UUID', async () => (await openFileJournal(join(folder, 'j'))).load('../../etc/passwd')],
  ])('refuses %s', async (_, make) => {
    await expect(Promise.resolve().then(() => make())).rejects.toThrow(GateConfigError);
  });
});
