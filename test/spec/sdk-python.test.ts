import { type ChildProcessByStdio, execFile, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { answerJson, type StubGate, stubGate } from '../../sdks/typescript/agent-sdk/test/stub-gate.js';
import { type LiteFixture, openLite } from '../support/lite.js';
import { needs } from '../support/needs.js';
import { HAS_SDK_PYTHON, SDK_PYTHON } from '../support/sdk-python.js';
import { answersAs, expectOneRequest, type Expected, WIRE_CASES, wantedOf } from '../support/wire-cases.js';

const run = promisify(execFile);
const PACKAGE = join(PROJECT_ROOT, 'sdks/python/agent_sdk');
const has = (...python: string[]): boolean => {
  try {
    execFileSync('python3', python, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};
const HAS_PYTHON = has('-c', 'import sys; sys.exit(sys.version_info < (3, 11))');

const FAULTS = { transport: 'GateTransportError', config: 'GateConfigError', malformed: 'GateMalformedCall' };

interface Said {
  readonly value?: unknown;
  readonly error?: string;
  readonly code?: string | null;
  readonly message?: string;
  readonly correlation_id?: string | null;
}
/** The SDK in a process of Python, which carries out one thing after the other. */
class Driver {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #waiting: ((said: Said) => void)[] = [];

  constructor(way: 'async' | 'sync') {
    this.#child = spawn('python3', [join(PACKAGE, 'tests/driver.py'), ...(way === 'sync' ? ['sync'] : [])], {
      env: { ...process.env, PYTHONPATH: join(PACKAGE, 'src'), PYTHONDONTWRITEBYTECODE: '1' },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    createInterface(this.#child.stdout).on('line', (line) => this.#waiting.shift()?.(JSON.parse(line) as Said));
  }
  ask(what: object): Promise<Said> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#child.stdin.write(`${JSON.stringify(what)}\n`);
    });
  }
  close(): void {
    this.#child.stdin.end();
  }
}

function expectSaid(said: Said, row: Expected): void {
  const { fault, code } = row;
  if (fault) {
    expect(said).toMatchObject({ error: FAULTS[fault], ...(code !== undefined && { code }) });
    return;
  }
  expect(said.value).toMatchObject(wantedOf(row));
}

describe.each(['async', 'sync'] as const)(`the Python SDK, %s${needs('python3', HAS_PYTHON)}`, (way) => {
  const test = HAS_PYTHON ? it : it.skip;
  let driver: Driver;
  let stub: StubGate;
  const gates = new Map<string, Promise<LiteFixture>>();
  beforeAll(async () => {
    stub = await stubGate();
    if (HAS_PYTHON) driver = new Driver(way);
  });
  afterAll(async () => {
    driver?.close();
    await stub.close();
    for (const gate of gates.values()) await (await gate).close();
  });
  const CALL = { id: 'call-1', name: 'list_files', input: { path: 'a' } };

  test.each(WIRE_CASES.answers.map((row) => [row.name, row] as const))('%s', async (_, row) => {
    answersAs(stub, row);
    const timeout = row.first?.includes('slow') ? 0.2 : 10;
    const options = { endpoint: `${stub.url}/`, retry: { base_delay_s: 0.001 }, timeout_s: timeout };
    expectSaid(await driver.ask({ do: 'inspect', calls: [CALL], options }), row);
    expectOneRequest(stub, row);
  });

  test.each(WIRE_CASES.live.map((row) => [row.name, row] as const))('at a running lite: %s', async (_, row) => {
    const [mode, ttl] = [row.gate_mode ?? 'enforce', row.ttl_secs ?? 60];
    const key = `${mode} ${ttl}`;
    if (!gates.has(key)) gates.set(key, openLite({ GATE_LITE_MODE: mode, GATE_LITE_PENDING_TTL_SECS: String(ttl) }));
    const gate = await (gates.get(key) as Promise<LiteFixture>);
    const options = { endpoint: gate.lite.url, idempotency_id: randomUUID(), ...(row.mode && { mode: row.mode }) };
    const calls = row.calls.map(({ name, arguments: input }, index) => ({ id: `call-${index}`, name, input }));
    const ask = (asked: unknown) => driver.ask({ do: 'inspect', calls: asked, options });
    let said = await ask(calls);
    if (row.again === 'same') expect(await ask(calls)).toEqual(said);
    if (row.again === 'other') said = await ask([{ ...calls[0], input: { path: 'another' } }]);
    expectSaid(said, row);
    if (row.outcome === undefined) return;
    const { correlation_id: id } = said.value as { correlation_id: string };
    const resolved = driver.ask({
      do: 'resolve',
      correlation_id: id,
      options: { endpoint: gate.lite.url, wait: { poll_interval_s: 0.02 } },
    });
    if (row.then !== undefined) {
      const body = { decision: row.then, reason: 'as the table says' };
      expect((await gate.send('POST', `/decide/${id}`, { body })).status).toBe(200);
    }
    const { error, code } = await resolved;
    expect(error === undefined ? 'allow' : code).toBe(row.outcome);
  });

  describe('a call that is guarded', () => {
    const guard = (over: object = {}) =>
      driver.ask({
        do: 'guard',
        name: 'send_mail',
        input: { to: 'a' },
        options: { endpoint: stub.url, retry: { base_delay_s: 0.001 }, ...over },
      });
    const answers = (...answer: ((response: ServerResponse) => void)[]): void => {
      stub.asked.length = 0;
      stub.answer = (_asked, response) =>
        (answer[Math.min(stub.asked.length, answer.length) - 1] as (typeof answer)[number])(response);
    };
    const parked = (response: ServerResponse) =>
      answerJson(response, 202, { status: 'pending', correlation_id: 'c/1', poll_after_ms: 1 });
    const view = (body: object) => (response: ServerResponse) =>
      answerJson(response, 200, { correlation_id: 'c/1', ...body });

    test('may run where Gate allows it, and its caller is told', async () => {
      answers((response) => answerJson(response, 200, { decision: 'allow', correlation_id: 'c-1' }));
      expect(await guard()).toEqual({ value: { correlation_id: 'c-1', told: ['allow send_mail'] } });
    });

    test('is denied, limited, or waits', async () => {
      answers((response) => answerJson(response, 403, { error: 'policy_denied', reasons: ['no'] }));
      expect(await guard()).toMatchObject({
        error: 'GateDenied',
        code: 'policy_denied',
        message: 'gate denied tool "send_mail": no',
      });
      answers((response) => answerJson(response, 429, { error: 'rate_limited', reasons: [] }));
      expect(await guard()).toMatchObject({ error: 'GateRateLimited', code: 'rate_limited' });
      answers(parked);
      expect(await guard()).toMatchObject({ error: 'GatePending', correlation_id: 'c/1' });
    });

    test('waits for its person where its caller does', async () => {
      answers(
        parked,
        view({ status: 'pending', decision: null }),
        (response) => void response.writeHead(503).end(),
        view({ status: 'approved', decision: 'allow' }),
      );
      expect((await guard({ on_pending: 'wait' })).value).toMatchObject({ correlation_id: 'c/1' });
      expect(stub.asked.slice(1).every(({ path }) => path === '/pending/c%2F1')).toBe(true);
    });

    test.each<[string, object, string]>([
      ['a person says no', { status: 'denied', decision: 'deny' }, 'review_denied'],
      ['nobody decides', { status: 'expired', decision: null }, 'review_expired'],
      ['the agent took it back', { status: 'withdrawn', decision: null }, 'call_withdrawn'],
      ['Gate closed it', { status: 'aborted', decision: null }, 'call_aborted'],
      [
        'the approval counts no more',
        { status: 'approved', decision: null, authorization_refused: 'policy_changed' },
        'policy_changed',
      ],
      [
        'what was approved is another call',
        { status: 'approved', decision: 'allow', modified_payload_digest: 'x' },
        'call_changed',
      ],
    ])('does not run where %s', async (_, body, code) => {
      answers(parked, view(body));
      expect(await guard({ on_pending: 'wait' })).toMatchObject({ error: 'GateDenied', code });
    });

    test('ends without a decision when its time is over, and at once where the answer is about another call', async () => {
      answers(parked, view({ status: 'pending', decision: null }));
      expect(await guard({ on_pending: 'wait', wait: { timeout_s: 0.05 } })).toMatchObject({
        error: 'GateTransportError',
        message: expect.stringContaining('not decided within'),
      });
      answers(parked, (response) =>
        answerJson(response, 200, { correlation_id: 'c/2', status: 'approved', decision: 'allow' }),
      );
      expect(await guard({ on_pending: 'wait' })).toMatchObject({ error: 'GateTransportError' });
    });

    test.each<[string, object, RegExp]>([
      ['no address', { endpoint: '' }, /endpoint is missing/],
      ['the path of the MCP endpoint', { endpoint: 'https://gate/mcp' }, /without \/mcp/],
      ['user information', { endpoint: 'https://u:p@gate' }, /user information/],
      ['a token over a network in clear', { endpoint: 'http://gate.example', token: 't' }, /https alone/],
      ['a token of two lines', { token: 'a\nb' }, /one line/],
      ['no time', { timeout_s: 0 }, /timeout_s must be/],
      ['a header of its own', { extra_headers: { 'x-gate-idempotency-ID': 'x' } }, /set by this package/],
      ['a header that breaks the line', { extra_headers: { 'X-A': 'a\r\nX-B: b' } }, /no header/],
      ['an option that there is not', { tokne: 't' }, /no option tokne/],
      ['an id that is no UUID', { idempotency_id: 'x' }, /lower-case UUID/],
    ])('refuses %s before anything is sent', async (_, over, reason) => {
      stub.asked.length = 0;
      const { error, message } = await guard(over);
      expect([error, message]).toEqual(['GateConfigError', expect.stringMatching(reason)]);
      expect(stub.asked).toEqual([]);
    });
  });

  test('shows a realtime call, and arguments that parsers read differently as the text that they are', async () => {
    const event = {
      type: 'response.function_call_arguments.done',
      call_id: 'c',
      name: 'send_mail',
      arguments: '{"to":"a"}',
    };
    expect((await driver.ask({ do: 'realtime', event })).value).toEqual({
      id: 'c',
      name: 'send_mail',
      input: { to: 'a' },
    });
    const twice = { ...event, arguments: '{"to":1,"to":2}' };
    expect((await driver.ask({ do: 'realtime', event: twice })).value).toMatchObject({
      input: { input: twice.arguments },
    });
    expect(await driver.ask({ do: 'realtime', event: { type: 'x' } })).toMatchObject({ error: 'GateConfigError' });
  });
});

(HAS_SDK_PYTHON ? describe : describe.skip)(
  `the package of the Python SDK${needs('sdk-python', HAS_SDK_PYTHON)}`,
  () => {
    let folder: string;
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'gate-python-sdk-'));
      await run('cp', ['-r', PACKAGE, join(folder, 'package')]);
    });
    afterEach(() => rm(folder, { recursive: true, force: true }));
    const inPackage = (...given: string[]) =>
      run(SDK_PYTHON, given, {
        cwd: join(folder, 'package'),
        env: { ...process.env, PYTHONPATH: join(folder, 'package/src'), PYTHONDONTWRITEBYTECODE: '1' },
      }).catch((error: { stdout?: string; stderr?: string }) => {
        throw new Error(`${error.stdout}\n${error.stderr}`);
      });

    it('passes its own tests, with the packages that it works with', async () => {
      expect((await inPackage('-m', 'pytest')).stdout).toMatch(/^\d+ passed in/m);
    }, 600_000);

    it('is strict for mypy and pyright', async () => {
      await inPackage('-m', 'mypy', '--strict', 'src');
      await inPackage('-m', 'pyright', '--pythonpath', SDK_PYTHON, 'src');
    }, 300_000);

    it('brings nothing but itself into an empty environment, and its types are strict', async () => {
      await run(SDK_PYTHON, [
        '-m',
        'pip',
        'wheel',
        '--no-deps',
        '--no-build-isolation',
        '-q',
        '-w',
        folder,
        join(folder, 'package'),
      ]);
      await run(SDK_PYTHON, ['-m', 'venv', '--without-pip', join(folder, 'empty')]);
      const python = join(folder, 'empty/bin/python3');
      const { stdout: into } = await run(python, ['-c', 'import sysconfig; print(sysconfig.get_paths()["purelib"])']);
      await run(SDK_PYTHON, [
        '-m',
        'pip',
        'install',
        '-q',
        '--no-deps',
        '--no-index',
        '--target',
        into.trim(),
        join(folder, 'gate_agent_sdk-0.1.0-py3-none-any.whl'),
      ]);
      const { stdout } = await run(python, [
        '-c',
        'import gate_agent_sdk as g; print(g.ToolCall("a", {}).name, len(g.__all__))',
      ]);
      expect(stdout).toMatch(/^a \d+$/m);
      await writeFile(
        join(folder, 'agent.py'),
        'from gate_agent_sdk import ToolCall, Verdict, inspect_tool_use_sync\n\nverdict: Verdict = inspect_tool_use_sync(ToolCall("a", {}), endpoint="https://gate")\n',
      );
      const env = { ...process.env, MYPYPATH: join(PACKAGE, 'src'), MYPY_CACHE_DIR: join(folder, 'cache') };
      await run(SDK_PYTHON, ['-m', 'mypy', '--strict', join(folder, 'agent.py')], { env });
    }, 180_000);
  },
);

const EXAMPLES = ['google_adk', 'langchain', 'llama_index', 'openai_agents'];

/** Each example is an agent of a framework with a scripted model, and checks itself what ran (`examples/acts.py`). */
(HAS_SDK_PYTHON ? describe : describe.skip)(
  `the examples of the Python SDK${needs('sdk-python', HAS_SDK_PYTHON)}`,
  () => {
    let gate: LiteFixture;
    beforeAll(async () => {
      gate = await openLite();
    });
    afterAll(() => gate?.close());

    it('are all named here', async () => {
      const there = (await readdir(join(PACKAGE, 'examples'))).filter((name) => name.endsWith('_agent.py'));
      expect(there.toSorted()).toEqual(EXAMPLES.map((name) => `${name}_agent.py`));
    });

    const carriedOut = (name: string, decision: 'approve' | 'deny'): Promise<{ code: number | null; text: string }> =>
      new Promise((resolve) => {
        const child = spawn(SDK_PYTHON, [join(PACKAGE, `examples/${name}_agent.py`)], {
          env: {
            ...process.env,
            PYTHONPATH: join(PACKAGE, 'src'),
            PYTHONDONTWRITEBYTECODE: '1',
            GATE_ENDPOINT: gate.lite.url,
          },
        });
        let text = '';
        let decided = false;
        const hear = (bytes: Buffer): void => {
          text += bytes.toString('utf8');
          const [, id] = /decide ([0-9a-f-]{36})/.exec(text) ?? [];
          if (id === undefined || decided) return;
          decided = true;
          void gate.send('POST', `/decide/${id}`, { body: { decision, reason: 'as the test says' } });
        };
        child.stdout.on('data', hear);
        child.stderr.on('data', hear);
        child.once('close', (code) => resolve({ code, text }));
      });

    it.each(EXAMPLES)(
      '%s: reads run, what destroys does not, money runs once a person approved it',
      async (name) => {
        const { code, text } = await carriedOut(name, 'approve');
        for (const line of ['list_files: allow', 'delete_file: deny policy_denied', 'wire_transfer: pending'])
          expect(text).toContain(line);
        expect(text).toContain('as it should be');
        expect(code).toBe(0);
      },
      120_000,
    );

    it.each(EXAMPLES)(
      '%s: what a person denied does not run',
      async (name) => {
        const { code, text } = await carriedOut(name, 'deny');
        // The example expects an approval, and finds that the transfer did not run.
        expect(text).toContain("AssertionError: [('list_files', {'path': 'notes'})]");
        expect(code).not.toBe(0);
      },
      120_000,
    );
  },
);
