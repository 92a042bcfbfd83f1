import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../contracts/json.js';
import { openLedgerReadOnly } from '../../adapters/ledger/read-only.js';
import { machineClock } from '../../lite/clock.js';
import { keysBeside } from '../../lite/keys.js';
import { replayCall } from '../../lite/replay.js';
import { commandLine } from '../support/command.js';
import {
  type Answered,
  editFile,
  type EchoTools,
  echoTools,
  type LiteFixture,
  liteFolder,
  openLite,
} from '../support/lite.js';
import { eventually } from '../support/waiting.js';

/** docs/architecture/drift.md, through the whole of lite: an agent with a history asks for something else. */
const OPERATOR = 'an-operators-own-token-of-some-length';
const DAY_MS = 86_400_000;
const MONDAY_TEN = Date.parse('2026-11-16T10:00:00.000Z');
/** Classed as an ordinary change: no rule but drift has anything to say of it. */
const TOOL = 'post_entry';

let folder: string;
let tools: EchoTools;
let gate: LiteFixture;
let nowMs = MONDAY_TEN;
const open = () =>
  openLite(
    { GATE_LITE_UPSTREAM_URL: tools.url, GATE_LITE_UPSTREAM_NAME: 'own', GATE_LITE_DECIDE_TOKEN: OPERATOR },
    { folder, clock: { ...machineClock, now: () => nowMs } },
  );
const asOperator = { authorization: `Bearer ${OPERATOR}` };
/** Asked again where Gate had no time to judge it, as its agent would. */
const pay = (amount: unknown, payee: string): Promise<Answered> => {
  nowMs += 1_000;
  return eventually('a verdict', async () => {
    const answer = await gate.call(TOOL, { arguments: { amount, payee, currency: 'EUR' } as JsonObject });
    return answer.status !== 503 && answer;
  });
};
async function rowOf({ headers }: Answered, kind: string) {
  const ledger = openLedgerReadOnly(gate.ledger, { sidecarKeys: keysBeside(gate.ledger) });
  const rows = await ledger.byCorrelation(headers.get('x-gate-correlation-id') as string);
  await ledger.close();
  return rows.find((row) => row.event_kind === kind);
}
const behaviourOf = async (answer: Answered): Promise<JsonObject> =>
  (((await rowOf(answer, 'brain.inspection'))?.policy_decision ?? {}) as JsonObject)['behaviour'] as JsonObject;

beforeAll(async () => {
  folder = await liteFolder();
  tools = await echoTools();
  gate = await open();
  const body = { tool: TOOL, class: 'change', unlisted: true };
  expect((await gate.send('POST', '/tools/class', { body, headers: asOperator })).status).toBe(200);
}, 60_000);
afterAll(async () => {
  await gate?.close();
  await tools?.close();
  await rm(folder, { recursive: true, force: true });
});

describe('an agent that pays about 50 to four payees, through lite', () => {
  it('is not measured at first, and says so: anything passes that no other rule stops', async () => {
    const first = await pay(40, 'DE-1111-0001');
    expect(first.status).toBe(200);
    expect(await behaviourOf(first)).toEqual({
      available: false,
      score_bp: 0,
      reasons: [],
      calls: 0,
      days: 0,
      profile_sha256: null,
    });
  });

  it('has a history after three days, and its ordinary calls pass', async () => {
    for (let day = 0; day < 3; day += 1) {
      nowMs = MONDAY_TEN + day * DAY_MS + 60_000;
      for (let at = 0; at < 10; at += 1) expect((await pay(40 + at * 2, `DE-1111-000${at % 4}`)).status).toBe(200);
    }
    nowMs = MONDAY_TEN + 3 * DAY_MS;
    const usual = await pay(55, 'DE-1111-0002');
    expect(usual.status).toBe(200);
    expect(await behaviourOf(usual)).toMatchObject({ available: true, score_bp: 0, reasons: [], calls: 31, days: 3 });
  });

  it('waits for a person with four millions to a stranger, who reads why', async () => {
    const asked = await pay(4_000_000, 'GB-9999-4711');
    expect(asked.status).toBe(202);
    const { score_bp, reasons } = await behaviourOf(asked);
    expect(score_bp).toBe(6_000);
    expect(reasons).toEqual([
      { kind: 'amount_far', text: expect.stringMatching(/^amount 8\d{4} times the median of 31 calls of this tool$/) },
      { kind: 'destination', text: 'first time to this destination: 32 calls of this tool went to 4 others' },
    ]);
    const told = 'Review: drift: unlike what this agent did before: amount 8';
    expect((await rowOf(asked, 'policy.evaluated'))?.reasoning).toContain(told);
    const waiting = await gate.send('GET', '/pending', { headers: asOperator });
    expect(JSON.stringify(waiting.body)).toContain(told);
    const replayed = await replayCall(gate.ledger, asked.headers.get('x-gate-correlation-id') ?? '');
    expect(replayed).toMatchObject({ difference: null, differences: 0 });
  });

  it('learns nothing from a call that waits: the same call waits again for the same reasons, by the same profile', async () => {
    const [one, other] = [await pay(4_000_000, 'GB-9999-4711'), await pay(4_000_000, 'GB-9999-4711')];
    expect(one.status).toBe(202);
    expect(await behaviourOf(other)).toEqual(await behaviourOf(one));
  });

  it('remembers it all after a restart', async () => {
    const before = await behaviourOf(await pay(4_000_000, 'GB-9999-4711'));
    await gate.close();
    gate = await open();
    expect(await behaviourOf(await pay(4_000_000, 'GB-9999-4711'))).toEqual(before);
    expect((await pay(52, 'DE-1111-0003')).status).toBe(200);
  }, 60_000);

  it('waits with an amount that cannot be read, and with a payee that only looks like a known one', async () => {
    const unread = await pay('a lot, 12 or 13', 'DE-1111-0001');
    expect(unread.status).toBe(202);
    expect((await behaviourOf(unread))['reasons']).toContainEqual({
      kind: 'amount_unread',
      text: 'the amount cannot be read, and those of 33 calls before could be',
    });
    const alike = await pay(50, 'DE-1111-ооо1');
    expect(alike.status).toBe(202);
    expect((await behaviourOf(alike))['reasons']).toEqual([
      { kind: 'look_alike', text: 'a destination that looks like one of before, and is another' },
    ]);
  });

  it('runs once a person approved, and has then learned the destination', async () => {
    const asked = await pay(100_000, 'GB-9999-4711');
    expect(asked.status).toBe(202);
    const decided = await gate.send('POST', `/decide/${asked.body['pending_id'] as string}`, {
      body: { decision: 'approve' },
      headers: asOperator,
    });
    expect(decided.status).toBe(200);
    expect((await pay(50, 'GB-9999-4711')).status).toBe(200);
  });

  it('is checked and drafted at the command line, from the same ledger', async () => {
    const gateHere = commandLine(() => folder);
    const since = ['--since', '2026-11-01T00:00:00Z'];
    const agent = (await rowOf(await pay(50, 'DE-1111-0001'), 'proxy.verdict'))?.agent_id ?? '';
    const draft = await gateHere.done(['persona', 'draft', agent, ...since, '--out', 'drafted.md']);
    expect(draft).toMatchObject({ code: 0, out: expect.stringContaining('wrote drafted.md') });
    const checked = await gateHere.done(['persona', 'check', 'drafted.md', '--agent', agent, ...since]);
    expect(checked.code).toBe(0);
    expect(checked.out).toMatch(/post_entry would wait: .*amount 8\d{4} times the median of \d+ calls of this tool/);
    expect(checked.out).toMatch(/\d+ of \d+ calls of .* would drift under this persona/);
    const nobody = await gateHere.done(['persona', 'draft', 'nobody', ...since]);
    expect(nobody).toMatchObject({ code: 4, out: expect.stringContaining('no call of nobody ran') });
  }, 120_000);

  it('is measured anew where somebody edited what is remembered: nothing that Gate did not write counts', async () => {
    await gate.close();
    editFile(gate.ledger, `update agent_profiles set version = version + 1`);
    gate = await open();
    const next = await pay(50, 'DE-1111-0001');
    expect(await behaviourOf(next)).toMatchObject({ available: false, profile_sha256: null });
  }, 60_000);
});
