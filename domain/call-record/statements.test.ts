import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createActivities } from '../../workers/activities.js';
import { createStepActivities } from '../../activities/steps.js';
import { callMigrations } from '../../migrations/calls.js';
import { judgedInSteps } from '../../test/support/judged-in-steps.js';
import { openPipeline, type PipelineFixture, type Script } from '../../test/support/pipeline-fixture.js';
import { keyRing } from '../crypto/key-ring.js';
import { openStore } from '../store/database.js';
import { type CallStore, type CallTables, callStoreOver } from './call-store.js';

let folder: string;
let gate: PipelineFixture;
let asked: string[];
let counted: CallStore;
let activities: ReturnType<typeof createActivities>;

beforeEach(async () => {
  asked = [];
  folder = await mkdtemp(join(tmpdir(), 'gate-statements-'));
  let ports: Parameters<typeof createActivities>[0] | undefined;
  gate = await openPipeline({ compose: (given) => ((ports = given), createActivities(given)) });
  const beforeStatement = (text: string) => void asked.push(text);
  const store = await openStore<CallTables>(
    { file: join(folder, 'calls.db') },
    callMigrations,
    {},
    { beforeStatement },
  );
  counted = callStoreOver(store, {
    keys: keyRing(new Map([['records', Buffer.alloc(32, 1)]])),
    ledger: gate.ledger,
  });
  if (!ports) throw new Error('not composed');
  activities = createActivities({ ...ports, calls: counted });
});
afterEach(async () => {
  await counted.close();
  await gate.close();
  await rm(folder, { recursive: true, force: true });
});

describe('statements that a call costs the call store, from its admission to its rows', () => {
  it.each<[Script['tier'], number]>([
    ['red', 11],
    ['green', 18],
    ['yellow', 14],
  ])('%s: no more than %i, and what was staged here is not read again', async (tier, most) => {
    gate.script.tier = tier;
    const { body, call } = gate.unstaged();
    const steps = createStepActivities(activities);
    asked = [];
    await counted.find(call.correlation_id);
    await counted.admit(call, { body, callback_url: null }, { limit: 0, windowMs: 60_000 });
    const { version } = await judgedInSteps(steps, call);
    if (tier === 'yellow') await steps.park(call, Date.now());
    await steps.appendLedger(call.correlation_id, 'at_once');
    if (tier === 'green') {
      await steps.execute(call, call.not_after_ms, undefined, version);
      await steps.appendLedger(call.correlation_id, 'at_once');
    }
    await counted.find(call.correlation_id);
    expect(asked.filter((text) => /^\s*insert into call_records/.test(text))).toHaveLength(1);
    expect(asked.filter((text) => /^\s*select\b[^]*\bcall_requests\b/.test(text))).toEqual([]);
    expect({ tier, asked: asked.length <= most ? [] : asked }).toEqual({ tier, asked: [] });
  });
});
