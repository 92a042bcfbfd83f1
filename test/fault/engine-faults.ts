import { expect } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { type Client, WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { CallSummary } from '../../contracts/call.js';
import type { DecisionVerdict } from '../../activities/review.js';
import type { SignedDecision } from '../../contracts/review.js';
import { answerUpdate, decideUpdate, FAILURES } from '../../workflows/tool-call/messages.js';
import { bundleToFile } from '../support/engine.js';
import { correlationIdFor } from '../support/kill-host.js';
import { type FaultBench, type RunningHost, settled, until } from '../support/kill-host-driver.js';
import { decide, decideInTheEnd, type Fault, park, replayOf, rowsOfEnd, statusOf, withGate } from './faults.js';
import { timePasses } from '../support/waiting.js';

const workflowOf = (client: Client, key: string) => client.workflow.getHandle(correlationIdFor(key));

const ends = (client: Client, key: string, status: string) =>
  until(
    `the workflow of ${key} is ${status}`,
    async () => (await workflowOf(client, key).describe()).status.name,
    (name) => name === status,
  );

/** What an update that was refused was refused with: at once, or when the record had been asked. */
const refusalOf = async (update: Promise<DecisionVerdict | CallSummary>): Promise<string | null | undefined> => {
  try {
    const told = await update;
    if ('applied' in told && !told.applied) return told.code;
  } catch (error) {
    if (error instanceof WorkflowUpdateFailedError && error.cause instanceof ApplicationFailure)
      return error.cause.type;
    throw error;
  }
  throw new Error('the update was not refused');
};

const sendDecision = (client: Client, key: string, decision: SignedDecision): Promise<DecisionVerdict> =>
  workflowOf(client, key).executeUpdate(decideUpdate, { args: [decision] });

async function deleteHistory(client: Client, key: string): Promise<void> {
  const workflowId = correlationIdFor(key);
  await client.workflowService.deleteWorkflowExecution({
    namespace: 'gate',
    workflowExecution: { workflowId },
  });
  await until(
    'the history is gone',
    async () => {
      try {
        await client.workflow.getHandle(workflowId).describe();
        return 'there';
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return 'gone';
        throw error;
      }
    },
    (seen) => seen === 'gone',
  );
}

/** Everything that must still be true of a call that was executed once. */
async function executedOnce(bench: FaultBench, host: RunningHost, key: string): Promise<void> {
  const seen = await settled(host, key);
  expect(seen.state).toBe('completed');
  expect(seen.kinds).toEqual(rowsOfEnd(seen));
  expect(bench.tools.executed(key)).toBe(1);
}

/** A parked call that lost its workflow: nobody can approve it any more, and it is closed, fail closed. */
const closedByReconciliation = (what: string, lose: (client: Client, key: string) => Promise<unknown>): Fault => ({
  name: `${what}: an approval is refused, reconciliation closes row and ledger, same id again: nothing runs`,
  run: (bench) =>
    withGate(
      bench,
      async (gate) => {
        const client = await bench.engine.client();
        const host = await gate.start();
        const key = await park(host);
        await lose(client, key);
        expect(await decide(host, key, 'approve')).toMatchObject({ status: 409, error: 'not_pending' });
        expect(await host.call(replayOf(key))).toMatchObject({ status: 202 });
        expect(await host.reconcile()).toMatchObject({ closed: 1 });
        const seen = await settled(host, key);
        expect(seen).toMatchObject({
          state: 'aborted',
          review: { status: 'aborted', decided_by: 'system:reconciliation' },
          kinds: [
            'proxy.verdict',
            'brain.inspection',
            'policy.evaluated',
            'hil.created',
            'call.aborted',
            'alarm.reconciled',
          ],
        });
        expect(await host.reconcile()).toMatchObject({ closed: 0 });
        expect(await host.call(replayOf(key))).toMatchObject({ status: 503, body: expect.stringContaining('aborted') });
        await host.startAnew({ key });
        expect(await settled(host, key)).toEqual(seen);
        expect(bench.tools.executed(key)).toBe(0);
      },
      { reconcileGraceMs: 0 },
    ),
});

/** Faults of the engine, or of the road to it. */
export const ENGINE_FAULTS: readonly Fault[] = [
  {
    name: 'history deleted, same id again: no second effect',
    run: (bench) =>
      withGate(bench, async (gate) => {
        const client = await bench.engine.client();
        const host = await gate.start();
        const key = randomUUID();
        expect(await host.call({ key })).toMatchObject({ status: 200 });
        await executedOnce(bench, host, key);
        await ends(client, key, 'COMPLETED');
        await deleteHistory(client, key);
        // The caller's road ends at the record; and past it, too, the new run finds the old outcome.
        expect(await host.call({ key })).toMatchObject({ status: 200 });
        expect(await host.startAnew({ key })).toMatchObject({ state: 'completed' });
        await ends(client, key, 'COMPLETED');
        await executedOnce(bench, host, key);
      }),
  },
  closedByReconciliation('history of a parked call deleted', deleteHistory),
  {
    name: 'workflow terminated while the tool runs: uncertain at worst, same id again: no second effect',
    run: (bench) =>
      withGate(bench, async (gate) => {
        const client = await bench.engine.client();
        const host = await gate.start();
        const key = randomUUID();
        const call = { key, arguments: { hold_ms: 8_000 } };
        const answer = host.call(call);
        await until(
          'the tool runs',
          () => Promise.resolve(bench.tools.executed(key)),
          (count) => count === 1,
        );
        await workflowOf(client, key).terminate('by hand');
        // The worker learns of it with its next heartbeat and lets the call go; the caller waits on the record all the while.
        expect(await answer).toMatchObject({ status: 409 });
        await host.startAnew({ key });
        const seen = await settled(host, key);
        expect(seen.state).toBe('uncertain');
        expect(await host.call(call)).toMatchObject({ status: 409 });
        await host.reconcile();
        expect((await settled(host, key)).kinds).toEqual(rowsOfEnd(seen));
        expect(bench.tools.executed(key)).toBe(1);
      }),
  },
  closedByReconciliation('workflow of a parked call terminated', (client, key) =>
    workflowOf(client, key).terminate('by hand'),
  ),
  {
    name: 'workflow reset: the first verdict, the first decision and the first outcome stand',
    run: (bench) =>
      withGate(bench, async (gate) => {
        const client = await bench.engine.client();
        const host = await gate.start();
        const key = await park(host);
        expect(await decide(host, key, 'approve')).toMatchObject({ status: 200 });
        await executedOnce(bench, host, key);
        await ends(client, key, 'COMPLETED');
        await host.script({ tier: 'red' });

        const { events } = await workflowOf(client, key).fetchHistory();
        const firstTask = events?.find((event) => event.workflowTaskCompletedEventAttributes)?.eventId;
        const { runId } = (await workflowOf(client, key).describe()) as { runId: string };
        await client.workflowService.resetWorkflowExecution({
          namespace: 'gate',
          workflowExecution: { workflowId: correlationIdFor(key), runId },
          reason: 'by hand',
          requestId: randomUUID(),
          workflowTaskFinishEventId: firstTask ?? null,
        });
        // A run of its own, told of nothing but the call; what it needs to know stands in the record.
        await decide(host, key, 'deny');
        await ends(client, key, 'COMPLETED');
        expect(((await workflowOf(client, key).describe()) as { runId: string }).runId).not.toBe(runId);
        await executedOnce(bench, host, key);
        expect(await host.state({ key })).toMatchObject({ decision: 'approved', review: { status: 'approved' } });
      }),
  },
  ...(['during', 'after'] as const).map(
    (when): Fault => ({
      name: `killed ${when} an inspection by models that was kept: it is heard, and nobody is asked twice`,
      run: (bench) =>
        withGate(
          bench,
          async (gate) => {
            const killed = await gate.start({ kills: [{ step: 'inspect', when }] });
            const key = randomUUID();
            void killed.call({ key }).catch(() => undefined);
            await killed.ended;
            const host = await gate.start();
            await executedOnce(bench, host, key);
            expect(gate.questions()).toBe(1);
          },
          { inspectionTimeoutMs: 5_000 },
        ),
    }),
  ),
  {
    name: 'killed while models are asked: the call ends without a verdict, and its run asks nobody again',
    run: (bench) =>
      withGate(
        bench,
        async (gate) => {
          const client = await bench.engine.client();
          const killed = await gate.start({ kills: [{ step: 'inspect', when: 'model asked' }] });
          const key = randomUUID();
          void killed.call({ key }).catch(() => undefined);
          await killed.ended;
          const host = await gate.start();
          await ends(client, key, 'FAILED');
          expect(gate.questions()).toBe(1);
          expect(bench.tools.executed(key)).toBe(0);
          // The same request again is a new question.
          expect(await host.call({ key })).toMatchObject({ status: 200 });
          expect([gate.questions(), bench.tools.executed(key)]).toEqual([2, 1]);
        },
        { inspectionTimeoutMs: 5_000 },
      ),
  },
  {
    name: 'worker down and the caller gave up: no ghost execution later',
    run: (bench) =>
      withGate(
        bench,
        async (gate) => {
          const proxy = await gate.start({ worker: false });
          const key = randomUUID();
          expect(await proxy.call({ key })).toMatchObject({ status: 503, error: 'pipeline_unavailable' });
          await proxy.kill();
          const host = await gate.start();
          const seen = await settled(host, key);
          expect(seen).toMatchObject({ state: 'abandoned', kinds: ['call.abandoned'] });
          expect(await host.call({ key })).toMatchObject({ status: 503 });
          expect(bench.tools.executed(key)).toBe(0);
        },
        { callDeadlineMs: 1_500 },
      ),
  },
  {
    name: 'approve with the worker down, caller got 503, then deny: the deny stands',
    run: (bench) =>
      withGate(
        bench,
        async (gate) => {
          const before = await gate.start();
          const key = await park(before);
          await before.kill();
          const proxy = await gate.start({ worker: false });
          expect(await decide(proxy, key, 'approve')).toMatchObject({
            status: 503,
            error: 'orchestrator_unavailable',
          });
          await proxy.kill();
          const host = await gate.start();
          expect(await decideInTheEnd(host, key, 'deny')).toMatchObject({ status: 200 });
          const seen = await settled(host, key);
          expect(seen).toMatchObject({ state: 'denied', decision: 'denied', review: { status: 'denied' } });
          expect(seen.kinds).toEqual(rowsOfEnd(seen));
          expect(bench.tools.executed(key)).toBe(0);
        },
        { decisionLifeMs: 2_000 },
      ),
  },
  {
    name: 'approve after the deadline with the worker down: expired',
    run: (bench) =>
      withGate(
        bench,
        async (gate) => {
          const client = await bench.engine.client();
          const before = await gate.start();
          const key = await park(before);
          const sign = () => before.sign({ key, decision: 'approve', requestId: randomUUID(), lifeMs: 120_000 });
          const [inTime, late] = [await sign(), await sign()];
          await before.kill();
          // One is on its way before the deadline, one after it; both reach a workflow whose time is over.
          const first = refusalOf(sendDecision(client, key, inTime));
          await timePasses(4_000, 'the deadline passes');
          const second = refusalOf(sendDecision(client, key, late));
          const host = await gate.start();
          expect(await Promise.all([first, second])).toEqual(['pending_expired', 'pending_expired']);
          expect(await decide(host, key, 'approve')).toMatchObject({ status: 409, error: 'pending_expired' });
          const seen = await settled(host, key);
          expect(seen).toMatchObject({ state: 'expired', decision: 'expired', review: { status: 'expired' } });
          expect(seen.kinds).toEqual(rowsOfEnd(seen));
          expect(await host.call(replayOf(key))).toMatchObject({ status: 403 });
          expect(bench.tools.executed(key)).toBe(0);
        },
        { ttlSecs: 3 },
      ),
  },
  {
    name: "a decision sent to the engine directly with no key: refused, an alarm row, and the operator's own still works",
    run: (bench) =>
      withGate(bench, async (gate) => {
        const host = await gate.start();
        const key = await park(host);
        const real = await host.sign({ key, decision: 'deny', requestId: randomUUID(), lifeMs: 60_000 });
        const forged: SignedDecision = { ...real, decision: 'approve' };

        // Whoever reaches the engine's port and has no key at all.
        const [ours] = bench.engine.codecs;
        const stranger = await bench.engine.client([
          // What it sends is in clear; the refusal is read with the key only for this test to see it.
          { encode: (payloads) => Promise.resolve(payloads), decode: (payloads) => ours.decode(payloads) },
        ]);
        expect(await refusalOf(sendDecision(stranger, key, forged))).toBe('decision_refused');
        const alarms = async () => (await host.state({ key })).kinds.filter((kind) => kind === 'alarm.forged_decision');
        await until('the alarm row of the unsealed one', alarms, ({ length }) => length === 1);
        // Whoever has the engine's payload key, as every worker has, and not HIL's.
        const insider = await bench.engine.client();
        expect(await sendDecision(insider, key, forged)).toMatchObject({ applied: false, code: 'decision_refused' });
        await until('the alarm row of the unsigned one', alarms, ({ length }) => length === 2);
        expect(await host.state({ key })).toMatchObject({ state: 'parked', review: { status: 'pending' } });
        expect(bench.tools.executed(key)).toBe(0);

        expect(await decide(host, key, 'approve')).toMatchObject({ status: 200 });
        expect(await settled(host, key)).toMatchObject({ state: 'completed', decision: 'approved' });
        expect(bench.tools.executed(key)).toBe(1);
      }),
  },
  {
    name: "one call's decision, repeated sealed as it was at another call: refused, and nothing runs",
    run: (bench) =>
      withGate(bench, async (gate) => {
        const host = await gate.start();
        const [key, other] = [await park(host), await park(host)];
        const signed = await host.sign({ key, decision: 'approve', requestId: randomUUID(), lifeMs: 60_000 });
        // Whoever reads the engine's store, has no key, and sends what lies there.
        const [ours] = bench.engine.codecs;
        let kept: Awaited<ReturnType<typeof ours.encode>> = [];
        const reader = await bench.engine.client([
          {
            encode: async (payloads) => (kept = await ours.encode(payloads)),
            decode: (payloads) => ours.decode(payloads),
          },
        ]);
        expect(await sendDecision(reader, key, signed)).toMatchObject({ applied: true });
        expect(await settled(host, key)).toMatchObject({ state: 'completed', decision: 'approved' });
        const thief = await bench.engine.client([
          { encode: () => Promise.resolve(kept), decode: (payloads) => ours.decode(payloads) },
        ]);
        expect(await refusalOf(sendDecision(thief, other, signed))).toBe('decision_refused');
        expect(await host.state({ key: other })).toMatchObject({ state: 'parked', review: { status: 'pending' } });
        expect([bench.tools.executed(key), bench.tools.executed(other)]).toEqual([1, 0]);
      }),
  },
  {
    name: 'a pipeline bug (poisoned workflow): the reconciliation schedule closes expiry, row and ledger',
    run: (bench) =>
      withGate(
        bench,
        async (gate) => {
          const client = await bench.engine.client();
          const before = await gate.start();
          const key = await park(before);
          await before.kill();
          const bundleFile = await bundleToFile(bench.engine.folder, 'test/support/engine-poisoned-workflows.ts');
          const host = await gate.start({ bundleFile, reconcileEverySecs: 1 });
          try {
            // The alarm row follows when everything else of the call is settled.
            const seen = await until(
              'the alarm row',
              () => settled(host, key),
              ({ kinds }) => kinds.includes('alarm.reconciled'),
            );
            expect(seen).toMatchObject({
              state: 'expired',
              review: { status: 'expired' },
              kinds: [
                'proxy.verdict',
                'brain.inspection',
                'policy.evaluated',
                'hil.created',
                'hil.expired',
                'alarm.reconciled',
              ],
            });
            await ends(client, key, 'TERMINATED');
            expect(await host.call(replayOf(key))).toMatchObject({ status: 403 });
            expect(bench.tools.executed(key)).toBe(0);
          } finally {
            await client.schedule.getHandle('gate-reconcile').delete();
          }
        },
        { ttlSecs: 3, reconcileGraceMs: 0 },
      ),
  },
  {
    name: 'a pipeline bug from the first task on: 503, and after the repair no ghost execution',
    run: (bench) =>
      withGate(
        bench,
        async (gate) => {
          const bundleFile = await bundleToFile(bench.engine.folder, 'test/support/engine-poisoned-workflows.ts');
          const broken = await gate.start({ bundleFile });
          const key = randomUUID();
          expect(await broken.call({ key })).toMatchObject({ status: 503, error: 'pipeline_unavailable' });
          await broken.kill();
          const repaired = await gate.start();
          expect(await settled(repaired, key)).toMatchObject({ state: 'abandoned', kinds: ['call.abandoned'] });
          expect(bench.tools.executed(key)).toBe(0);
        },
        { callDeadlineMs: 2_000 },
      ),
  },
  {
    name: "ten waiting callers never block an operator's decision",
    run: (bench) =>
      withGate(bench, async (gate) => {
        const client = await bench.engine.client();
        const host = await gate.start({ script: { inspectMs: 1_000 } });
        const key = randomUUID();
        const call = { key, arguments: { tier: 'yellow', hold_ms: 2_000 } };
        const first = host.call(call);
        const handle = workflowOf(client, key);
        await until(
          'the run begins',
          () =>
            handle.describe().then(
              ({ status }) => status.name,
              () => 'not yet',
            ),
          (status) => status === 'RUNNING',
        );
        // Nine more callers by the engine's own road, each an update that is held open until the call is parked; ten are the limit.
        const { digest } = await digestOf(client, key);
        const waiting = Array.from({ length: 9 }, () => handle.executeUpdate(answerUpdate, { args: [{ digest }] }));
        expect(await first).toMatchObject({ status: 202 });
        for (const answer of waiting) expect(await answer).toMatchObject({ state: 'parked' });
        expect(await decide(host, key, 'approve')).toMatchObject({ status: 200 });
        // And ten that wait for the result while the tool runs: they wait on the record.
        const replays = await Promise.all(Array.from({ length: 10 }, () => host.call(call)));
        expect(replays.map(statusOf)).toEqual(replays.map(() => 200));
        await executedOnce(bench, host, key);
      }),
  },
  {
    name: 'what workflows fail with is not readable in a history',
    run: (bench) =>
      withGate(bench, async (gate) => {
        const client = await bench.engine.client();
        const host = await gate.start();
        const key = await park(host);
        const other = await refusalOf(
          workflowOf(client, key).executeUpdate(answerUpdate, { args: [{ digest: 'sha256:other' }] }),
        );
        expect(other).toBe(FAILURES.conflict);
        const real = await host.sign({ key, decision: 'deny', requestId: randomUUID(), lifeMs: 60_000 });
        await sendDecision(client, key, { ...real, reason: 'somebody-elses-words' });
        expect(await decide(host, key, 'deny')).toMatchObject({ status: 200 });
        await settled(host, key);
        const history = JSON.stringify(await workflowOf(client, key).fetchHistory());
        for (const words of ['somebody-elses-words', 'money movement', 'operator:dev', 'another request'])
          expect(history).not.toContain(words);
      }),
  },
];

/** The digest of a call, from its workflow's own view. */
async function digestOf(client: Client, key: string): Promise<{ digest: string }> {
  const { events } = await workflowOf(client, key).fetchHistory();
  const payload = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0];
  if (!payload) throw new Error('the history has no input');
  const [codec] = client.options.loadedDataConverter.payloadCodecs;
  const [input] = (await codec?.decode([payload])) ?? [];
  return JSON.parse(Buffer.from(input?.data ?? []).toString('utf8')) as { digest: string };
}
