import { expect } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { CallState, Told } from '../support/kill-host.js';
import {
  type FaultBench,
  type HostKind,
  type HostOptions,
  pooled,
  type RunningHost,
  settled,
  until,
} from '../support/kill-host-driver.js';
import { seededRandom } from '../support/random.js';
import { timePasses } from '../support/waiting.js';

/** A fault with a name, and what must be true in spite of it. */
export interface Fault {
  readonly name: string;
  readonly run: (bench: FaultBench) => Promise<void>;
}

export const statusOf = (told: Told): number => told.status;

/** A call that waits for its operator; returns its key. */
export async function park(host: RunningHost, more: Record<string, string | number> = {}): Promise<string> {
  const key = randomUUID();
  expect(await host.call({ key, arguments: { ...more, tier: 'yellow' } })).toMatchObject({ status: 202 });
  return key;
}

/** The same request again, as its caller sends it. */
export const replayOf = (key: string, more: Record<string, string | number> = {}) => ({
  key,
  arguments: { ...more, tier: 'yellow' },
});

export const decide = (host: RunningHost, key: string, decision: 'approve' | 'deny') =>
  host.decide({ key, decision, requestId: randomUUID() });

/**
 * Decides, and again where the answer is 503, as the code of that error says: under one request id, because a decision that was answered 503
 * may have taken effect, and another one is refused then. So it does where a busy machine brought the decision to its call later than it was
 * signed for.
 */
export const decideInTheEnd = (host: RunningHost, key: string, decision: 'approve' | 'deny') => {
  const requestId = randomUUID();
  return until(
    'the decision is answered',
    () => host.decide({ key, decision, requestId }),
    (told) => told.status !== 503 && !('error' in told && told.error === 'decision_refused'),
  );
};

/** The rows a call must have, each once and in the order of docs/architecture/ledger-rows.md#event-kinds, by how it ended. */
export function rowsOfEnd({ state, pendingId, decision }: CallState): string[] {
  if (state === 'abandoned') return ['call.abandoned'];
  return [
    'proxy.verdict',
    'brain.inspection',
    'policy.evaluated',
    ...(pendingId ? ['hil.created'] : []),
    ...(decision ? [`hil.${decision}`] : []),
    ...((['completed', 'uncertain', 'not_run'] as (string | null)[]).includes(state) ? ['upstream.outcome'] : []),
  ];
}

/** Starts a host, does the work and ends everything. */
export async function withGate(
  bench: FaultBench,
  work: (gate: ReturnType<FaultBench['gate']>) => Promise<void>,
  settings: Parameters<FaultBench['gate']>[0] = {},
): Promise<void> {
  const gate = bench.gate(settings);
  try {
    await work(gate);
  } finally {
    await gate.end();
  }
}

const withHost = (bench: FaultBench, work: (host: RunningHost) => Promise<void>, options: HostOptions = {}) =>
  withGate(bench, async (gate) => work(await gate.start(options)));

/** Faults that both hosts know. */
export const COMMON_FAULTS: readonly Fault[] = [
  {
    name: 'two concurrent identical calls, one execution',
    run: (bench) =>
      withHost(bench, async (host) => {
        const key = randomUUID();
        const answers = await Promise.all([host.call({ key }), host.call({ key }), host.call({ key })]);
        expect(answers.map(statusOf)).toEqual([200, 200, 200]);
        expect(new Set(answers.map((told) => 'body' in told && told.body)).size).toBe(1);
        expect(bench.tools.executed(key)).toBe(1);
        expect((await settled(host, key)).kinds).toHaveLength(4);
      }),
  },
  {
    name: 'policy is away: 503, nothing is recorded, and the same id starts again',
    run: (bench) =>
      withHost(
        bench,
        async (host) => {
          const key = randomUUID();
          expect(await host.call({ key })).toMatchObject({ status: 503, error: 'pipeline_unavailable' });
          expect(await host.call({ key })).toMatchObject({ status: 503, error: 'pipeline_unavailable' });
          expect(await host.state({ key })).toMatchObject({ state: null, kinds: [] });
          await host.script({ policy: 'up' });
          expect(await host.call({ key })).toMatchObject({ status: 200 });
          expect(bench.tools.executed(key)).toBe(1);
        },
        { script: { policy: 'down' } },
      ),
  },
  {
    name: '50 concurrent decisions on one row, one winner',
    run: (bench) =>
      withHost(bench, async (host) => {
        const { pick } = seededRandom('50 concurrent decisions');
        const key = await park(host);
        const decisions = Array.from({ length: 50 }, () => pick(['approve', 'deny'] as const));
        const unheard = new Set<number>();
        const answers = await Promise.all(
          decisions.map(async (decision, index) => {
            const sent = { key, decision, requestId: randomUUID(), operator: `operator:${index}` };
            // "Not in time" asks for the same decision again; a crowded machine may say so.
            let told = await host.decide(sent);
            while ('error' in told && told.error === 'orchestrator_unavailable') {
              unheard.add(index);
              told = await host.decide(sent);
            }
            return told;
          }),
        );
        const seen = await settled(host, key);
        const winner = Number(seen.review?.decided_by?.replace('operator:', ''));
        const won = decisions[winner];
        // The others are told that somebody was faster, and so is a winner who was not heard in time and asked again.
        const told = answers.map(({ status }, index) => (index === winner && unheard.has(index) ? 200 : status));
        expect(told.map((status, index) => [index, status])).toEqual(
          told.map((_, index) => [index, index === winner ? 200 : 409]),
        );
        expect(answers.every(({ status }) => status === 200 || status === 409)).toBe(true);
        expect(seen.review?.decided_by).toBe(`operator:${winner}`);
        expect(seen.decision).toBe(won === 'approve' ? 'approved' : 'denied');
        expect(seen.review?.status).toBe(seen.decision);
        expect(bench.tools.executed(key)).toBe(won === 'approve' ? 1 : 0);
        expect(seen.kinds).toEqual(rowsOfEnd(seen));
      }),
  },
  {
    name: 'a 5 MB result is retained and replayed',
    run: (bench) =>
      withHost(bench, async (host) => {
        const call = { key: randomUUID(), arguments: { bytes: 5_000_000 } };
        const first = await host.call(call);
        expect(first).toMatchObject({ status: 200 });
        const replay = await host.call(call);
        expect(replay).toMatchObject({ status: 200, headers: { 'X-Gate-Server-Execution-Replayed': 'true' } });
        const bodies = [first, replay].map((told) => ('body' in told ? told.body : ''));
        expect(bodies[0]?.length).toBeGreaterThan(5_000_000);
        expect(bodies[1] === bodies[0]).toBe(true);
        expect(bench.tools.executed(call.key)).toBe(1);
      }),
  },
  {
    name: 'the ledger is down for a while under traffic: no call is blocked, nothing is lost',
    run: (bench) =>
      withHost(bench, async (host) => {
        const { pick } = seededRandom('ledger down');
        await host.script({ ledger: 'down' });
        const calls = Array.from({ length: 40 }, () => ({
          key: randomUUID(),
          arguments: { tier: pick(['green', 'yellow', 'red']) },
        }));
        const answers = pooled(calls, 8, (call) => host.call(call));
        for (const call of calls) {
          // Answered while the ledger is still down.
          const expected = { green: 200, yellow: 202, red: 403 }[call.arguments.tier as 'green' | 'yellow' | 'red'];
          expect(await answers.get(call)).toMatchObject({ status: expected });
        }
        const parked = calls.filter((call) => call.arguments.tier === 'yellow');
        for (const { key } of parked)
          expect(await decide(host, key, pick(['approve', 'deny']))).toMatchObject({ status: 200 });
        expect(await host.rowsDue()).toBe(true);
        await timePasses(3_000, 'a ledger that is away gets no row');
        expect(await host.verify()).toEqual({ valid: true, entries: 0 });

        await host.script({ ledger: 'up' });
        let rows = 0;
        for (const { key } of calls) {
          const seen = await settled(host, key, 90_000);
          expect(seen.kinds).toEqual(rowsOfEnd(seen));
          rows += seen.kinds.length;
        }
        expect(await host.rowsDue()).toBe(false);
        expect(await host.verify()).toEqual({ valid: true, entries: rows });
      }),
  },
  {
    name: 'kill -9 at any moment under traffic, again and again: every call ends once',
    run: (bench) =>
      withGate(bench, async (gate) => {
        const { next, pick } = seededRandom(`kill -9 at any moment (${bench.kind})`);
        const calls = Array.from({ length: 24 }, () => ({
          key: randomUUID(),
          arguments: { tier: pick(['green', 'yellow', 'red']), hold_ms: Math.floor(next() * 200) },
          decision: pick(['approve', 'deny'] as const),
        }));
        for (let round = 1; round <= 3; round += 1) {
          const host = await gate.start();
          const work = pooled(calls, 6, async ({ key, arguments: given, decision }) => {
            const told = await host.call({ key, arguments: given });
            if (told.status === 202) await decide(host, key, decision);
          });
          // Whatever of it is answered before the kill, and whatever not.
          await Promise.race([
            Promise.allSettled(work.values()),
            timePasses(100 + next() * 1_500, 'the kill comes at any moment'),
          ]);
          await host.kill();
        }
        const host = await gate.start();
        let rows = 0;
        for (const { key, arguments: given, decision } of calls) {
          const told = await untilAnswered(host, { key, arguments: given });
          if (told.status === 202) await decideInTheEnd(host, key, decision);
        }
        for (const { key, arguments: given } of calls) {
          const seen = await settled(host, key, 90_000);
          const executed = bench.tools.executed(key);
          expect({ key, ...seen }).toMatchObject({ kinds: rowsOfEnd(seen) });
          if (seen.state === 'completed') expect(executed).toBe(1);
          if (seen.state === 'denied' || seen.state === 'not_run') expect(executed).toBe(0);
          expect(executed).toBeLessThanOrEqual(1);
          if (seen.state !== 'abandoned') expect(seen.tier).toBe(given.tier);
          expect(seen.review?.status ?? null).toBe(seen.decision);
          rows += seen.kinds.length;
        }
        expect(await host.verify()).toEqual({ valid: true, entries: rows });
      }),
  },
];

/** Refusals that are the end of a call: nothing was executed, and its id is used up. */
const NOT_EXECUTED = ['call_abandoned', 'attempt_not_begun'];
const isOver = (told: Told): boolean =>
  NOT_EXECUTED.includes('body' in told ? (JSON.parse(told.body) as { readonly error: string }).error : told.error);
/** A caller that was told 503 asks again under the same id, unless the answer says that the call is over. */
export const untilAnswered = (host: RunningHost, call: Parameters<RunningHost['call']>[0]) =>
  until(
    `call ${call.key} is answered`,
    () => host.call(call),
    (told) => told.status !== 503 || isOver(told),
  );

/** Runs every fault of a host with some of them side by side; the result of each is for its own test. */
export const runFaults = (bench: FaultBench, faults: readonly Fault[], width: number) =>
  pooled(faults, width, ({ run }) => run(bench));

export const WIDTH: Readonly<Record<HostKind, number>> = { temporal: 4, lite: 3 };
