import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { needs } from '../support/needs.js';
import { HAS_SDK_PYTHON, SDK_PYTHON } from '../support/sdk-python.js';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from '../support/stack.js';
import { eventually } from '../support/waiting.js';

const PACKAGE = join(PROJECT_ROOT, 'sdks/python/agent_sdk');
const AGENT = 'governed-python';

/** What one execution comes to is tested in the package itself (`tests/test_governed.py`); here it is a whole Gate that authorizes. */
(HAS_SDK_PYTHON ? describe : describe.skip)(
  `execution that Gate governs, from Python${needs('sdk-python', HAS_SDK_PYTHON)}`,
  () => {
    let gate: TestStack;
    let folder: string;
    let env: Record<string, string>;
    beforeAll(async () => {
      gate = await startStack();
      await gate.agent(AGENT);
    }, STACK_START_LIMIT_MS);
    afterAll(() => gate?.stop(), 150_000);
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'gate-python-governed-'));
      const leaf = join(gate.stateDir, 'pki/agents/acme', AGENT);
      env = {
        PYTHONPATH: join(PACKAGE, 'src'),
        PYTHONDONTWRITEBYTECODE: '1',
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
        const started = spawn(SDK_PYTHON, [join(PACKAGE, 'tests/governed_child.py')], {
          env: { ...process.env, ...env, ...over },
        });
        let text = '';
        started.stdout.on('data', (bytes: Buffer) => {
          text += bytes.toString('utf8');
        });
        started.stderr.pipe(process.stderr);
        started.once('close', (_, signal) =>
          resolve({ said: text === '' ? null : (JSON.parse(text) as Said), signal }),
        );
      });
    const effects = (): number =>
      existsSync(env['EFFECTS'] as string) ? readFileSync(env['EFFECTS'] as string, 'utf8').split('\n').length - 1 : 0;

    it.each(['sync', 'async'])('runs an allowed call once, with a receipt that Gate verified (%s)', async (way) => {
      const done = { result: { done: 'list_files' }, receipt_delivered: true };
      expect((await child({ WAY: way })).said).toMatchObject({ ...done, replayed: false });
      expect((await child({ WAY: way })).said).toMatchObject({ ...done, replayed: true });
      expect(effects()).toBe(1);
    });

    it('runs nothing that is denied', async () => {
      expect((await child({ TOOL: 'delete_file' })).said).toMatchObject({ error: 'GateDenied', code: 'policy_denied' });
      expect(effects()).toBe(0);
    });

    it('runs what a person approved, also in the process after the one that asked', async () => {
      const over = { TOOL: 'wire_transfer' };
      const { said } = await child(over);
      expect(said).toMatchObject({ error: 'GatePending' });
      const [id] = /[0-9a-f-]{36}/.exec(String(said?.['message'])) ?? [];
      await gate.operator.decide(id ?? '', 'approve', 'as the test says');
      await eventually(
        'the decision',
        async () => (await (await gate.agent(AGENT)).request('GET', `/pending/${id}`)).body['decision'] === 'allow',
      );
      expect((await child({ ...over, WAIT: 'yes' })).said).toMatchObject({ replayed: false, receipt_delivered: true });
      expect(effects()).toBe(1);
    });

    it('killed after the effect, it is recovered and not run again, and Gate has its receipt', async () => {
      expect((await child({ KILL_AT: 'after-effect' })).signal).toBe('SIGKILL');
      expect((await child()).said).toMatchObject({ error: 'GateRecoveryRequired' });
      expect((await child({ RECOVER: 'yes' })).said).toMatchObject({ replayed: true, receipt_delivered: true });
      expect(effects()).toBe(1);
    });
  },
);
