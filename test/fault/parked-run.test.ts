import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ENGINE_START_LIMIT_MS } from '../support/engine.js';
import { correlationIdFor, type Told } from '../support/kill-host.js';
import {
  type FaultBench,
  openBench,
  pooled,
  type RunningHost,
  settled,
  type TestGate,
  until,
} from '../support/kill-host-driver.js';

const CALLS = 24;
/** Several at once meet the moment between the runs; all at once would find out what a busy machine refuses. */
const AT_ONCE = 6;
let bench: FaultBench;
let gate: TestGate;
let host: RunningHost;
beforeAll(async () => {
  bench = await openBench('temporal');
  gate = bench.gate();
  host = await gate.start({ script: { tier: 'yellow' } });
}, ENGINE_START_LIMIT_MS);
afterAll(() => bench.end(), 60_000);

const decide = (key: string, decision: 'approve' | 'deny', operator?: string) =>
  host.decide({ key, decision, requestId: randomUUID(), ...(operator !== undefined && { operator }) });
const codeOf = (told: Told): number | string => ('error' in told ? told.error : told.status);
const keys = () => Array.from({ length: CALLS }, () => randomUUID());

describe('docs/decisions/continue-as-new-at-park: a parked call goes on as a run of its own', () => {
  it('every caller has its 202, although the run that judged the call ends with it', async () => {
    const answers = await Promise.all(pooled(keys(), AT_ONCE, (key) => host.call({ key })).values());
    expect(new Set(answers.map(codeOf))).toEqual(new Set([202]));
  });

  it('waits on the parked queue with a short history, under the same id', async () => {
    const key = randomUUID();
    await host.call({ key });
    const client = await bench.engine.client();
    const id = correlationIdFor(key);
    // The new run begins with the end of the old one; the moment it takes its first task is its own.
    const run = await until(
      'the parked run waits',
      () => client.workflow.getHandle(id).describe(),
      ({ historyLength, taskQueue }) => taskQueue === `${gate.taskQueue}-parked` && historyLength >= 4,
    );
    expect(run.status.name).toBe('RUNNING');
    expect(run.historyLength).toBeLessThanOrEqual(6);
    expect(run.searchAttributes).toMatchObject({ GateOutcome: ['parked'], GateTier: ['yellow'] });
  });

  it('a decision sent from the first moment its row is visible is applied, never lost between the runs', async () => {
    const first = await Promise.all(
      pooled(keys(), AT_ONCE, async (key) => {
        const answer = host.call({ key });
        let told = await decide(key, 'approve').catch((error: unknown) => ({ error: String(error) }) as Told);
        // Before the row is there nobody could have seen it. On a slow machine an answer may be too late, and the decision may stand then.
        const accepted = [200];
        for (
          let code = codeOf(told);
          code === 'not_found' || code === 'orchestrator_unavailable';
          code = codeOf(told)
        ) {
          if (code === 'orchestrator_unavailable') accepted.push(409);
          told = await decide(key, 'approve');
        }
        return { key, told: told.status, accepted, answer: codeOf(await answer) };
      }).values(),
    );
    expect(first.filter(({ told, accepted }) => !accepted.includes(told))).toEqual([]);
    // A caller whose answer was late finds its call decided and executed already.
    expect(first.filter(({ answer }) => answer !== 202 && answer !== 200)).toEqual([]);
    for (const { key } of first) {
      expect(await settled(host, key)).toMatchObject({ state: 'completed', decision: 'approved' });
      expect(bench.tools.executed(key)).toBe(1);
    }
  }, 120_000);

  it('of many decisions at once, some at the old run and some at the new one, the first wins and the others are told so', async () => {
    const key = randomUUID();
    const answer = host.call({ key });
    await until(
      'the row is visible',
      () => host.state({ key }),
      ({ review }) => review !== null,
    );
    const told = await Promise.all(
      // Nine people: what one person says twice within a millisecond is one decision.
      Array.from({ length: 9 }, (_, index) => decide(key, index % 2 === 0 ? 'approve' : 'deny', `operator:${index}`)),
    );
    expect(told.map(codeOf).filter((code) => code === 200)).toHaveLength(1);
    expect(new Set(told.map(codeOf).filter((code) => code !== 200))).toEqual(new Set(['already_decided']));
    await answer;
    const seen = await settled(host, key);
    expect(bench.tools.executed(key)).toBe(seen.decision === 'approved' ? 1 : 0);
  });

  it('the same request again is told the same pending call, before and after the new run has begun', async () => {
    const key = randomUUID();
    const both = await Promise.all([host.call({ key }), host.call({ key })]);
    const later = await host.call({ key });
    const pending = [...both, later].map((told) => ('body' in told ? JSON.parse(told.body).pending_id : told.error));
    expect(new Set(pending).size).toBe(1);
    expect((await host.state({ key })).pendingId).toBe(pending[0]);
  });

  it('rows that the ledger did not take before the run ended are appended by the new one', async () => {
    const key = randomUUID();
    await host.script({ ledger: 'down' });
    expect(codeOf(await host.call({ key }))).toBe(202);
    expect((await host.state({ key })).kinds).toEqual([]);
    await host.script({ ledger: 'up' });
    const seen = await until(
      'rows are appended',
      () => host.state({ key }),
      ({ kinds }) => kinds.length >= 4,
    );
    expect(seen.kinds).toEqual(['proxy.verdict', 'brain.inspection', 'policy.evaluated', 'hil.created']);
    expect(codeOf(await decide(key, 'deny'))).toBe(200);
    expect(await settled(host, key)).toMatchObject({ state: 'denied', decision: 'denied' });
  }, 60_000);
});
