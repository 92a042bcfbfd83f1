import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { CallInput } from '../../contracts/call.js';
import { closedIfOver } from '../../domain/call/expiry.js';
import { GateError } from '../../domain/errors.js';
import { openLite, type LiteFixture } from '../support/lite.js';
import { openPipeline, type PipelineFixture } from '../support/pipeline-fixture.js';
import type { Clock } from '../../lite/clock.js';

const HOUR = 3_600_000;
const START = Date.parse('2026-03-02T10:00:00Z');

/** A machine whose clock is put forward and back while its timers go on at their own pace, as the operating system's do. */
function machine(startMs = START): { clock: Clock; offsetMs: number; pass(ms: number): void } {
  let elapsedMs = 0;
  const sleepers = new Set<{ atMs: number; wake: () => void }>();
  const own = {
    offsetMs: 0,
    pass(ms: number) {
      elapsedMs += ms;
      for (const sleeper of sleepers) if (sleeper.atMs <= elapsedMs) sleeper.wake();
    },
    clock: {
      now: () => startMs + elapsedMs + own.offsetMs,
      sleep: (ms: number, signal: AbortSignal) =>
        new Promise<void>((resolve) => {
          const sleeper = { atMs: elapsedMs + ms, wake: () => (sleepers.delete(sleeper), resolve()) };
          sleepers.add(sleeper);
          signal.addEventListener('abort', sleeper.wake, { once: true });
        }),
    },
  };
  return own;
}

describe('a clock that is put forward by an hour and back while a call waits', () => {
  let gate: PipelineFixture;
  let worker: ReturnType<typeof machine>;
  let hilAheadMs: number;
  let call: CallInput;
  afterEach(() => gate.close());

  async function parked(): Promise<void> {
    worker = machine();
    hilAheadMs = 0;
    gate = await openPipeline({
      clock: worker.clock,
      hilNow: () => START + hilAheadMs,
      script: { tier: 'yellow' },
    });
    call = await gate.call({ tool: 'wire_transfer' });
    await gate.run(call);
  }
  const row = async () => {
    const found = await gate.reviews.byCorrelation(call.correlation_id);
    if (!found) throw new Error('no row');
    return found;
  };
  const record = async () => {
    const found = await gate.calls.find(call.correlation_id);
    if (!found) throw new Error('no record');
    return found;
  };
  const decides = async (
    decision: 'approve' | 'deny',
    told: (error: GateError) => string = ({ code }) => code,
  ): Promise<string> =>
    gate
      .decide({
        id: (await row()).id,
        tenant: 'acme',
        decision,
        reason: null,
        decided_via: 'console',
        principal: () => ({
          subject: 'operator:dev',
          tenant: 'acme',
          method: 'console-bearer',
          credential: 'token',
          credential_kind: 'console-bearer',
        }),
        request_id: randomUUID(),
      })
      .then(
        ({ status }) => status,
        (error: unknown) => (error instanceof GateError ? told(error) : String(error)),
      );
  /** What the caller reads when he asks what became of his call. */
  const polls = async () => (await closedIfOver(gate.calls, await record(), worker.clock.now())).state;
  const looks = async () => [
    (await row()).status,
    (await gate.reviews.list({ tenant: 'acme', status: 'pending' })).rows.length,
  ];
  const hilKinds = async () => (await gate.kinds(call.correlation_id)).filter((kind) => kind?.startsWith('hil.'));
  /** The end, as everybody sees it. */
  async function agreed(status: 'approved' | 'expired'): Promise<void> {
    await gate.host.idle();
    expect(await row()).toMatchObject({ status });
    expect((await record()).decision).toMatchObject({ status });
    expect(await polls()).toBe(status === 'approved' ? 'completed' : 'expired');
    expect(await hilKinds()).toEqual(['hil.created', `hil.${status}`]);
    expect(gate.executed).toHaveLength(status === 'approved' ? 1 : 0);
  }

  it("HIL's alone: the row waits as its call does, a decision made by that clock ends nothing, and a later one is taken", async () => {
    await parked();
    hilAheadMs = HOUR;
    expect(await looks()).toEqual(['pending', 1]);
    for (const decision of ['approve', 'deny'] as const) expect(await decides(decision)).toBe('clocks_apart');
    expect(await looks()).toEqual(['pending', 1]);
    expect(await polls()).toBe('parked');
    hilAheadMs = 0;
    expect(await decides('approve')).toBe('approved');
    await agreed('approved');
  });

  it.each(['approve', 'deny'] as const)(
    "HIL's alone, behind by 12 s or a little less than a minute: what is decided (%s) counts",
    async (decision) => {
      for (const behindMs of [12_000, 55_000]) {
        await parked();
        hilAheadMs = -behindMs;
        expect(await decides(decision)).toBe(decision === 'approve' ? 'approved' : 'denied');
        await gate.host.idle();
        expect(gate.executed).toHaveLength(decision === 'approve' ? 1 : 0);
        if (behindMs === 12_000) await gate.close();
      }
    },
  );

  it("HIL's alone, behind by a minute: what is approved has its minute to begin", async () => {
    await parked();
    hilAheadMs = -60_000;
    const move = gate.calls.move.bind(gate.calls);
    const taken = jest.spyOn(gate.calls, 'move').mockImplementation(async (...args) => {
      const moved = await move(...args);
      if (args[1] === 'approve' && moved.applied) worker.pass(59_000);
      return moved;
    });
    expect(await decides('approve')).toBe('approved');
    await agreed('approved');
    taken.mockRestore();
  });

  it("HIL's alone, ahead by five minutes, and nothing is late: what is decided does not count, for it could be for as much longer", async () => {
    await parked();
    hilAheadMs = 5 * 60_000;
    for (const decision of ['approve', 'deny'] as const) expect(await decides(decision)).toBe('clocks_apart');
    expect(await polls()).toBe('parked');
    hilAheadMs = 55_000;
    expect(await decides('approve')).toBe('approved');
    await agreed('approved');
  });

  it("HIL's alone, behind by 20 minutes: the refusal says so in words of its own, and nothing ends", async () => {
    await parked();
    hilAheadMs = -20 * 60_000;
    expect(await decides('approve', ({ code, message }) => `${code}: ${message}`)).toMatch(
      /^clocks_apart: Nothing was decided: the clock of HIL is 1200 s behind that of the worker/,
    );
    expect(await polls()).toBe('parked');
    hilAheadMs = 0;
    expect(await decides('approve')).toBe('approved');
    await agreed('approved');
  });

  it("HIL's alone, and nobody decides: the row ends with its call, not before", async () => {
    await parked();
    hilAheadMs = HOUR;
    expect(await looks()).toEqual(['pending', 1]);
    hilAheadMs = 0;
    worker.pass(600_000);
    await gate.calls.waitFor(call.correlation_id, ({ state }) => state === 'expired', Date.now() + 5_000);
    await agreed('expired');
  });

  it.each(['approve', 'deny'] as const)(
    "the worker's alone: whoever is told that it is too late (%s) is told so of a call that is closed",
    async (decision) => {
      await parked();
      worker.offsetMs = HOUR;
      expect(await decides(decision)).toBe('pending_expired');
      worker.offsetMs = 0;
      expect(await decides(decision)).toBe('pending_expired');
      await agreed('expired');
    },
  );

  it("the worker's alone: a caller who was told that his call expired finds it expired ever after", async () => {
    await parked();
    worker.offsetMs = HOUR;
    expect(await polls()).toBe('expired');
    worker.offsetMs = 0;
    expect(await decides('approve')).toBe('pending_expired');
    await agreed('expired');
  });

  it("the worker's alone, and nobody asks: the call waits, and is decided when the clock is right again", async () => {
    await parked();
    worker.offsetMs = HOUR;
    worker.offsetMs = 0;
    expect(await decides('approve')).toBe('approved');
    await agreed('approved');
  });

  it('the clock stays ahead: the call ends within seconds, not after the rest of its ten minutes', async () => {
    await parked();
    worker.offsetMs = HOUR;
    worker.pass(15_000);
    await gate.calls.waitFor(call.correlation_id, ({ state }) => state === 'expired', Date.now() + 5_000);
    worker.offsetMs = 0;
    await agreed('expired');
  });

  it.each([
    ['the operator looks, then decides', [looks, () => decides('approve')]],
    ['the caller asks, then the operator decides', [polls, () => decides('approve')]],
    ['the operator decides, then the caller asks', [() => decides('approve'), polls]],
    ['the operator decides twice, one way and the other', [() => decides('deny'), () => decides('approve')]],
  ] as const)('both: %s; the call is expired for everybody', async (_, steps) => {
    await parked();
    worker.offsetMs = HOUR;
    hilAheadMs = HOUR;
    for (const step of steps) await step();
    worker.offsetMs = 0;
    hilAheadMs = 0;
    expect(await decides('approve')).toBe('pending_expired');
    await agreed('expired');
  });

  it('both behind, and back: the call waits until its own time is over', async () => {
    await parked();
    worker.offsetMs = -HOUR;
    hilAheadMs = -HOUR;
    expect([await looks(), await polls()]).toEqual([['pending', 1], 'parked']);
    worker.offsetMs = 0;
    hilAheadMs = 0;
    expect(await decides('approve')).toBe('approved');
    await agreed('approved');
  });
});

describe('the same in lite, whose parts share one clock', () => {
  let gate: LiteFixture;
  afterEach(() => gate.close());

  it('a call whose caller or operator was told that it expired runs never, also when the clock is right again', async () => {
    const own = machine(Date.now());
    gate = await openLite({ GATE_LITE_UPSTREAM_URL: 'http://127.0.0.1:9/mcp' }, { clock: own.clock });
    for (const told of ['caller', 'operator'] as const) {
      const id = randomUUID();
      const waiting = await gate.call('wire_transfer', { id });
      expect(waiting.status).toBe(202);
      const at = `/pending/${waiting.body.correlation_id as string}`;
      const approve = () =>
        gate.send('POST', `/decide/${waiting.body.pending_id as string}`, { body: { decision: 'approve' } });
      own.offsetMs = HOUR;
      if (told === 'caller')
        expect(await gate.call('wire_transfer', { id })).toMatchObject({
          status: 403,
          body: { error: 'review_expired' },
        });
      else expect(await approve()).toMatchObject({ status: 409, body: { error: 'pending_expired' } });
      own.offsetMs = 0;
      expect(await gate.send('GET', at)).toMatchObject({ body: { status: 'expired' } });
      expect(await approve()).toMatchObject({ status: 409, body: { error: 'pending_expired' } });
      expect(await gate.call('wire_transfer', { id })).toMatchObject({
        status: 403,
        body: { error: 'review_expired' },
      });
    }
  });
});
