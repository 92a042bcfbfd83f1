import { expect } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { correlationIdFor, type Told } from '../support/kill-host.js';
import { type FaultBench, type RunningHost, settled, until } from '../support/kill-host-driver.js';
import { timePasses } from '../support/waiting.js';
import { type End, endsOf, type KillCase, STORIES } from './kill-points.js';

/** So long that only what hangs reaches it: the engine finds a lost worker by its time-outs, and a busy machine takes its own time. */
const LIMIT_MS = 200_000;

/** Cases that one process can play at once: what they need of its settings is the same. Who dies before its disk is synced dies alone. */
export function batchesOf(cases: readonly KillCase[]): readonly (readonly KillCase[])[] {
  const batches: KillCase[][] = [];
  const open = new Map<string, KillCase[]>();
  for (const given of cases) {
    const { ttlSecs, ...story }: (typeof STORIES)[keyof typeof STORIES] = STORIES[given.story];
    const alone = given.when === 'unsynced' || 'awaySecs' in story;
    const alike = `${ttlSecs} ${'escalateShares' in story} ${'settles' in story}`;
    let batch = alone ? undefined : open.get(alike);
    if (!batch || batch.length === TOGETHER) {
      batches.push((batch = []));
      if (!alone) open.set(alike, batch);
    }
    batch.push(given);
  }
  return batches;
}
/** More would need longer to come to their points than the first of them can be held there. */
const TOGETHER = 12;

/** How each case of a batch ended; `missed`: it was still on its way when the process died, and has to be played again. */
type Played = ReadonlyMap<KillCase, 'held' | 'missed' | Error>;

/**
 * Some cases of the table, in one process that dies when each call is at its point: the stories up to the kill, the restart with judgements
 * turned round, then what people do about a system that went away (the caller asks again, the operator decides again), then everything that
 * must be true of each call.
 */
export async function playTogether(bench: FaultBench, cases: readonly KillCase[]): Promise<Played> {
  const played = new Map<KillCase, 'held' | 'missed' | Error>();
  const [first] = cases;
  if (!first) return played;
  const { ttlSecs, ...settings }: (typeof STORIES)[keyof typeof STORIES] = STORIES[first.story];
  const stories = cases.map((given) => ({ given, key: randomUUID() }));
  const tiers = (of: 'tier' | 'otherwise') =>
    Object.fromEntries(stories.map(({ given, key }) => [key, STORIES[given.story][of]] as const));
  const gate = bench.gate({
    ttlSecs,
    ...('escalateShares' in settings && { escalateShares: settings.escalateShares }),
  });
  try {
    const before = await gate.start({
      kills: stories.map(({ key, given: { step, when, nth } }) => ({ key, step, when, ...(nth && { nth }) })),
      script: { tiers: tiers('tier') },
    });
    for (const { given, key } of stories) void tellStory(before, key, given);
    expect(await diedWithin(before, LIMIT_MS)).toBe('SIGKILL');
    const reached = new Set(gate.reached());

    if ('awaySecs' in settings) await timePasses(settings.awaySecs * 1_000, 'the deadline passes while nothing runs');
    // Whoever was to start a probe may have died: the schedule finds that.
    const after = await gate.start({
      script: { tiers: tiers('otherwise') },
      ...('settles' in settings && { reconcileEverySecs: 1 }),
    });
    await Promise.all(
      stories.map(async ({ given, key }) => {
        const there = reached.has(key) || cases.length === 1;
        try {
          if (there) await endsRight(bench, after, given, key);
          played.set(given, there ? 'held' : 'missed');
        } catch (error) {
          played.set(given, error instanceof Error ? error : new Error(String(error)));
        }
      }),
    );
    const seen = async () => {
      const states = await Promise.all(stories.map(({ key }) => after.state({ key })));
      return { rows: states.reduce((rows, { kinds }) => rows + kinds.length, 0), verified: await after.verify() };
    };
    // What is still under way adds rows between the two looks.
    const { verified } = await until(
      'every row is of one of the calls',
      seen,
      (now) => now.verified.entries === now.rows,
    );
    expect(verified.valid).toBe(true);
    after.release();
    return played;
  } finally {
    await gate.end();
  }
}

/** What people do about a call after the restart, and what must be true of it then. */
async function endsRight(bench: FaultBench, after: RunningHost, given: KillCase, key: string): Promise<void> {
  const story = STORIES[given.story];
  try {
    await asks(after, key, given);
    // Who decides before it is told of an escalation has nothing to be told of.
    if ('escalateShares' in story)
      await until(
        'its row is escalated',
        () => after.state({ key }),
        ({ escalated }) => escalated.row.length > 0,
        LIMIT_MS,
      );
    const operator = given.operatorThen ?? story.operator;
    let again: Told | null = null;
    if (operator) for (const by of approversOf(given)) again = await decideWhenVisible(after, key, operator, by);
    if ('settles' in story) {
      const states: readonly (string | null)[] = story.settles;
      await until(
        'a probe has settled it',
        () => after.state({ key }),
        ({ state }) => states.includes(state),
        LIMIT_MS,
      );
    }
    const seen = await settled(after, key, LIMIT_MS);

    const ends = endsOf(given, bench.kind);
    const executed = bench.tools.executed(key);
    const end = ends.find((one) => one.state === seen.state && one.executed === executed) ?? (ends[0] as End);

    // The row of a callback comes when its receiver has answered, beside the others, and once.
    const kinds = seen.kinds.filter((kind) => kind !== 'callback.delivered');
    expect(seen.kinds.length - kinds.length).toBeLessThanOrEqual(1);
    expect({ ...seen, kinds, error: null }).toMatchObject({
      state: end.state,
      decision: end.review,
      kinds: end.kinds,
      verdictAuthorized: end.allowed,
      review: end.review && { status: end.review, ...(end.by !== undefined && { decided_by: end.by }) },
    });
    // Its row says the same escalations as its record, each once, with the time of the first try.
    expect(seen.escalated.row).toEqual(seen.escalated.record);
    expect(seen.escalated.row).toHaveLength(end.kinds.filter((kind: string) => kind === 'hil.escalated').length);
    expect(executed).toBe(end.executed);
    // The first decision stands: who comes after it with another one is told so.
    if (again && operator && end.review !== RESULT[operator]) expect(again).toMatchObject({ status: 409 });

    const replay = await asks(after, key, given);
    expect(replay).toMatchObject({ status: end.replay });
    if (end.state === 'completed')
      expect(replay).toMatchObject({ headers: { 'X-Gate-Server-Execution-Replayed': 'true' } });
    if ('answer' in story && 'body' in replay) expect(replay.body).toContain(story.answer);
    expect(bench.tools.executed(key)).toBe(end.executed);
    if (end.review && !('asks' in story)) await callbackTold(bench, key, end.review);
    if (bench.kind === 'temporal') await workflowsClosed(bench, key);
  } catch (error) {
    if (bench.kind === 'temporal' && error instanceof Error) error.message += `\n${await engineSays(bench, key)}`;
    throw error;
  }
}

function asks(host: RunningHost, key: string, { story: name }: KillCase): Promise<Told> {
  const story = STORIES[name];
  if ('asks' in story) return host.ask({ key });
  return host.call({
    key,
    callback: true,
    ...('tool' in story && { tool: story.tool }),
    ...('arguments' in story && { arguments: story.arguments }),
  });
}

/** The first decides alone, except where the story needs more. */
function approversOf({ story: name }: KillCase): readonly string[] {
  const story = STORIES[name];
  return OPERATORS.slice(0, 'approvers' in story ? story.approvers : 1);
}

/** The caller and the operator, until the process they talk to is gone. */
async function tellStory(host: RunningHost, key: string, given: KillCase): Promise<void> {
  const story = STORIES[given.story];
  try {
    await asks(host, key, given);
    if (story.operator)
      for (const operator of approversOf(given))
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
