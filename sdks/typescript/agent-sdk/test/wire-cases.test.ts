import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type LiteFixture, openLite } from '../../../../test/support/lite.js';
import {
  answersAs,
  expectOneRequest,
  type Expected,
  type LiveCase,
  WIRE_CASES,
  wantedOf,
} from '../../../../test/support/wire-cases.js';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from '../../../../test/support/stack.js';
import {
  type GateOptions,
  GateConfigError,
  GateDenied,
  GateMalformedCall,
  GateTransportError,
  inspectToolUse,
  inspectToolUses,
  resolvePending,
  type Verdict,
} from '../src/index.js';
import { openTransport, type Transport } from '../src/mtls.js';
import { type StubGate, stubGate } from './stub-gate.js';

const FAULTS = { transport: GateTransportError, config: GateConfigError, malformed: GateMalformedCall };

/** A verdict with the names of the wire. */
function onTheWire(verdict: Verdict): Record<string, unknown> {
  const snake = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const { payload, ...own } = verdict as Verdict & { payload?: object };
  return Object.fromEntries([
    ...Object.entries(payload ?? {}),
    ...Object.entries(own).map(([name, value]) => [snake(name), value] as const),
  ]);
}

const expectVerdict = (verdict: Verdict, row: Expected): void =>
  expect(onTheWire(verdict)).toMatchObject(wantedOf(row));

async function expectFault(asked: Promise<unknown>, { fault, code }: Expected): Promise<void> {
  const error = await asked.then(
    (value) => value,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(FAULTS[fault as 'transport']);
  if (code !== undefined) expect(error).toMatchObject({ code });
}

describe('what a verdict is made of', () => {
  let stub: StubGate;
  beforeAll(async () => {
    stub = await stubGate();
  });
  afterAll(() => stub.close());

  it.each(WIRE_CASES.answers.map((row) => [row.name, row] as const))('%s', async (_, row) => {
    answersAs(stub, row);
    const { port } = new URL(stub.url);
    const asked = inspectToolUse(
      { id: 'call-1', name: 'list_files', input: { path: 'a' } },
      {
        endpoint: `http://127.0.0.1:${port}/`,
        retry: { baseDelayMs: 1 },
        timeoutMs: row.first?.includes('slow') ? 200 : 10_000,
      },
    );
    if (row.fault) await expectFault(asked, row);
    else expectVerdict(await asked, row);
    expectOneRequest(stub, row);
  });
});

/** A running Gate as the table needs it: how an agent asks it, and how an operator decides. */
interface Asked {
  readonly options: GateOptions;
  decide(correlationId: string, decision: 'approve' | 'deny'): Promise<number>;
}

async function tryCase(row: LiveCase, { options: given, decide }: Asked): Promise<void> {
  const options = { ...given, idempotencyId: randomUUID(), ...(row.mode && { mode: row.mode }) };
  const calls = row.calls.map(({ name, arguments: input }, index) => ({ id: `call-${index}`, name, input }));
  let asked = inspectToolUses(calls, options);
  if (row.again !== undefined) {
    const first = await asked;
    const [call] = calls;
    asked = inspectToolUses(row.again === 'same' ? calls : [{ ...call!, input: { path: 'another' } }], options);
    if (row.again === 'same') expect(await asked).toEqual(first);
  }
  if (row.fault) return expectFault(asked, row);
  const verdict = await asked;
  expectVerdict(verdict, row);
  if (row.outcome === undefined) return;
  const correlationId = verdict.kind === 'pending' ? verdict.correlationId : '';
  const resolved = resolvePending(correlationId, given, { pollIntervalMs: 20 }).then(
    () => 'allow',
    (error: unknown) => (error instanceof GateDenied ? error.code : error),
  );
  if (row.then !== undefined) expect(await decide(correlationId, row.then)).toBe(200);
  expect(await resolved).toBe(row.outcome);
}

describe('calls at a running lite', () => {
  const gates = new Map<string, Promise<LiteFixture>>();
  const gateFor = ({ gate_mode: gateMode, ttl_secs: ttl = 60 }: LiveCase): Promise<LiteFixture> => {
    const mode = gateMode ?? 'enforce';
    const key = `${mode} ${ttl}`;
    const known = gates.get(key);
    if (known !== undefined) return known;
    const opened = openLite({ GATE_LITE_MODE: mode, GATE_LITE_PENDING_TTL_SECS: String(ttl) });
    gates.set(key, opened);
    return opened;
  };
  afterAll(async () => {
    for (const gate of gates.values()) await (await gate).close();
  });

  it.each(WIRE_CASES.live.map((row) => [row.name, row] as const))('%s', async (_, row) => {
    const gate = await gateFor(row);
    const decide: Asked['decide'] = async (id, decision) =>
      (await gate.send('POST', `/decide/${id}`, { body: { decision, reason: 'as the table says' } })).status;
    await tryCase(row, { options: { endpoint: gate.lite.url }, decide });
  });
});

describe('calls at a running stack, by certificate', () => {
  let gate: TestStack;
  let transport: Transport;
  beforeAll(async () => {
    gate = await startStack();
    await gate.agent('wire-bot');
    const leaf = join(gate.stateDir, 'pki/agents/acme/wire-bot');
    transport = await openTransport({
      caBundlePath: gate.development.proxy.ca,
      clientCertificatePath: `${leaf}.crt`,
      privateKeyPath: `${leaf}.key`,
    });
  }, STACK_START_LIMIT_MS);
  afterAll(async () => {
    transport?.close();
    await gate?.stop();
  }, 150_000);

  // What a stack of its own would be started for is tried with lite.
  const rows = WIRE_CASES.live.filter((row) => row.gate_mode === undefined && row.ttl_secs === undefined);
  it.each(rows.map((row) => [row.name, row] as const))('%s', async (_, row) => {
    const options = { endpoint: gate.development.proxy.url, fetch: transport.fetch };
    await tryCase(row, {
      options,
      decide: async (id, decision) => (await gate.operator.decide(id, decision, 'as the table says')).status,
    });
  });
});
