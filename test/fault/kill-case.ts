import { expect } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { correlationIdFor, type Told } from '../support/kill-host.js';
import { type FaultBench, type RunningHost, settled, until } from '../support/kill-host-driver.js';
import { timePasses } from '../support/waiting.js';
import { type End, endsOf, type KillCase, STORIES } from './kill-points.js';

/** So long that only what hangs reaches it: the engine finds a lost worker by its time-outs, and a busy machine takes its own time. */
const LIMIT_MS = 200_000;

/**
 * One case of the table: the story up to the kill, the restart with judgements turned round, then what people do about a system that went
 * away (the caller asks again, the operator decides again), then everything that must be true.
 */
export async function runKillCase(bench: FaultBench, given: KillCase): Promise<void> {
  const story = STORIES[given.story];
  const key = randomUUID();
  const approvers = 'approvers' in story ? OPERATORS.slice(0, story.approvers) : OPERATORS.slice(0, 1);
  const call = {
    key,
    callback: true,
    ...('tool' in story && { tool: story.tool }),
    ...('arguments' in story && { arguments: story.arguments }),
  };
  const asks = (host: RunningHost): Promise<Told> => ('asks' in story ? host.ask({ key }) : host.call(call));
  const gate = bench.gate({
    ttlSecs: story.ttlSecs,
    ...('escalateShare' in story && { escalateShare: story.escalateShare }),
  });
  try {
    const before = await gate.start({
      kill: { step: given.step, when: given.when, ...(given.nth && { nth: given.nth }) },
      script: { tier: story.tier },
    });
    void tellStory(before, key, () => asks(before), story, approvers);
    expect(await diedWithin(before, LIMIT_MS)).toBe('SIGKILL');

    if ('awaySecs' in story) await timePasses(story.awaySecs * 1_000, 'the deadline passes while nothing runs');
    // Whoever was to start a probe may have died: the schedule finds that.
    const after = await gate.start({
      script: { tier: story.otherwise },
      ...('settles' in story && { reconcileEverySecs: 1 }),
    });
    await asks(after);
    const operator = given.operatorThen ?? story.operator;
    let again: Told | null = null;
    if (operator) for (const by of approvers) again = await decideWhenVisible(after, key, operator, by);
    if ('settles' in story) {
      const ends: readonly (string | null)[] = story.settles;
      await until(
        'a probe has settled it',
        () => after.state({ key }),
        ({ state }) => ends.includes(state),
        LIMIT_MS,
      );
    }
    const seen = await settled(after, key, LIMIT_MS);

    const ends = endsOf(given, bench.kind);
    const executed = bench.tools.executed(key);
    const end = ends.find((one) => one.state === seen.state && one.executed === executed) ?? (ends[0] as End);

    expect({ ...seen, error: null }).toMatchObject({
      state: end.state,
      decision: end.review,
      kinds: end.kinds,
      verdictAuthorized: end.allowed,
      review: end.review && { status: end.review, ...(end.by !== undefined && { decided_by: end.by }) },
    });
    expect(executed).toBe(end.executed);
    // The first decision stands: who comes after it with another one is told so.
    if (again && operator && end.review !== RESULT[operator]) expect(again).toMatchObject({ status: 409 });
    expect(await after.verify()).toEqual({ valid: true, entries: end.kinds.length });

    const replay = await asks(after);
    expect(replay).toMatchObject({ status: end.replay });
    if (end.state === 'completed')
      expect(replay).toMatchObject({ headers: { 'X-Gate-Server-Execution-Replayed': 'true' } });
    if ('answer' in story && 'body' in replay) expect(replay.body).toContain(story.answer);
    expect(bench.tools.executed(key)).toBe(end.executed);
    if (end.review && !('asks' in story)) await callbackTold(bench, key, end.review);
    if (bench.kind === 'temporal') await workflowsClosed(bench, key);
    after.release();
  } catch (error) {
    if (bench.kind === 'temporal' && error instanceof Error) error.message += `\n${await engineSays(bench, key)}`;
    throw error;
  } finally {
    await gate.end();
  }
}

/** The caller and the operator, until the process they talk to is gone. */
async function tellStory(
  host: RunningHost,
  key: string,
  asks: () => Promise<Told>,
  story: (typeof STORIES)[keyof typeof STORIES],
  operators: readonly string[],
): Promise<void> {
  try {
    await asks();
    if (story.operator)
      for (const operator of operators)
        await host.decide({
          key,
          decision: story.operator,
          requestId: randomUUID(),
          operator,
          ...('change' in story && { change: story.change }),
        });
  } catch {
    // The process was killed; what became of the call is asked after the restart.
  }
}

const diedWithin = (host: RunningHost, limitMs: number) =>
  Promise.race([
    host.ended,
    new Promise<string>((resolve) =>
      setTimeout(() => resolve(`still alive after ${limitMs} ms: the point was not reached`), limitMs).unref(),
    ),
  ]);

/** The first decides alone, except where the story needs more. */
const OPERATORS = ['operator:dev', 'operator:second'] as const;

const RESULT = { approve: 'approved', deny: 'denied' } as const;

/** The operator decides what is listed as pending, and again where the answer is 503; a row that is closed is the refusal. */
async function decideWhenVisible(
  host: RunningHost,
  key: string,
  decision: 'approve' | 'deny',
  operator: string,
): Promise<Told> {
  await until(
    'the review row is visible',
    () => host.state({ key }),
    ({ pendingId, review }) => pendingId !== null && review !== null,
    LIMIT_MS,
  );
  return until(
    'the decision is answered',
    () => host.decide({ key, decision, requestId: randomUUID(), operator }),
    ({ status }) => status !== 503,
    LIMIT_MS,
  );
}

async function callbackTold(bench: FaultBench, key: string, status: string): Promise<void> {
  const id = correlationIdFor(key);
  const bodies = await until(
    'the callback arrives',
    () => Promise.resolve(bench.tools.callbacks(id)),
    ({ length }) => length > 0,
    LIMIT_MS,
  );
  for (const body of bodies) expect(JSON.parse(body)).toMatchObject({ correlation_id: id, status });
  // At least once, and the same bytes each time.
  expect(new Set(bodies).size).toBe(1);
}

async function workflowsClosed(bench: FaultBench, key: string): Promise<void> {
  const client = await bench.engine.client();
  await until(
    'the workflow ends',
    async () => (await client.workflow.getHandle(correlationIdFor(key)).describe()).status.name,
    (status) => status === 'COMPLETED',
    LIMIT_MS,
  );
}

/** What the engine knows of a call that did not come to its end: each run, and what it waits for. */
async function engineSays(bench: FaultBench, key: string): Promise<string> {
  const client = await bench.engine.client();
  const said: string[] = [];
  try {
    for await (const { workflowId, runId, type, status, taskQueue } of client.workflow.list()) {
      if (!workflowId.includes(correlationIdFor(key))) continue;
      const { raw } = await client.workflow.getHandle(workflowId, runId).describe();
      const waits = [...(raw.pendingActivities ?? []), ...(raw.pendingWorkflowTask ? [raw.pendingWorkflowTask] : [])];
      said.push(`${type} ${status.name} on ${taskQueue}, waiting for ${JSON.stringify(waits)}`);
    }
  } catch (error) {
    said.push(`the engine was not asked: ${String(error)}`);
  }
  return said.join('\n');
}
