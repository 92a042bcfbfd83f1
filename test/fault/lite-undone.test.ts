import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openLedgerReadOnly } from '../../adapters/ledger/read-only.js';
import type { JsonObject } from '../../contracts/json.js';
import { keysBeside } from '../../lite/keys.js';
import { fieldIn } from '../support/html.js';
import { signedInAt } from '../support/lite-browser.js';
import { echoTools, openLite, type EchoTools, type LiteFixture } from '../support/lite.js';
import { eventually, timePasses } from '../support/waiting.js';
import { timesOf } from '../support/some-of.js';

/**
 * A transaction that the file does not take, once: what was done in it never was. The tool's list of definitions takes its time, so that a
 * commit falls between a call's claim and the attempt.
 */
let tools: EchoTools;
let gate: LiteFixture;
/** Which of the next commits fails, counted from one; 0 for none. */
let failing = 0;
let full = false;
/** One of so many commits fails; 0 for none. */
let everyOf = 0;
let commits = 0;
const beforeCommit = () => {
  commits += 1;
  if (full || (everyOf > 0 && commits % everyOf === 0) || (failing > 0 && --failing === 0))
    throw new Error('database or disk is full');
};
const LIST_MS = 30;
const LISTED = { tools: [{ name: 'wire_transfer', description: 'pays', inputSchema: { type: 'object' } }] };

beforeEach(async () => {
  failing = 0;
  tools = await echoTools();
  const { answer } = tools;
  tools.answer = async (request) => {
    if (request['method'] !== 'tools/list') return answer(request);
    await timePasses(LIST_MS, 'a list that takes its time');
    return { jsonrpc: '2.0', id: request['id'] ?? null, result: LISTED };
  };
  gate = await openLite({ GATE_LITE_UPSTREAM_URL: tools.url }, { beforeCommit });
});
afterEach(async () => {
  failing = 0;
  everyOf = 0;
  full = false;
  await gate.close();
  await tools.close();
});

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const parked = async (id: string) => {
  const { status, body } = await gate.call('wire_transfer', { id });
  expect(status).toBe(202);
  return textOf(body['pending_id'] ?? body['correlation_id']);
};
const decide = (pending: string, decision: 'approve' | 'deny', requestId = randomUUID()) =>
  gate.send('POST', `/decide/${pending}`, {
    body: { decision, reason: null },
    headers: { 'X-Request-Id': requestId },
  });
const alarmsIn = async () => {
  const ledger = openLedgerReadOnly(gate.ledger, { sidecarKeys: keysBeside(gate.ledger) });
  try {
    expect(await ledger.verify()).toMatchObject({ valid: true });
    return (await ledger.newest(400)).map(({ event_kind: kind }) => kind).filter((kind) => kind?.startsWith('alarm.'));
  } finally {
    await ledger.close();
  }
};
const UNDER_WAY = new Set<unknown>(['store_unavailable', 'pipeline_unavailable']);
/** What the call came to, asked again until it is no longer under way. */
const ended = (id: string) =>
  eventually('the end of the call', async () => {
    const { status, body } = await gate.call('wire_transfer', { id });
    return status === 200 || (status !== 202 && !UNDER_WAY.has(body['error'])) ? (body['error'] ?? 'done') : null;
  });
const settledAs = (pending: string) =>
  eventually('the row of a decided call', async () => {
    const { body } = await gate.send('GET', `/pending?id=${pending}`);
    const [row] = body as unknown as readonly JsonObject[];
    return row?.['status'] !== 'pending' && row?.['status'];
  });
const commitsOf = async (work: () => Promise<unknown>) => {
  failing = 1_000_000;
  await work();
  await timePasses(300, 'commits that come late are counted, too');
  const commits = 1_000_000 - failing;
  failing = 0;
  return commits;
};

describe('a commit that fails once', () => {
  it('at any moment of an approved call: one effect at most, told as it is, and no alarm', async () => {
    const counted = await parked(randomUUID());
    const commits = await commitsOf(() => decide(counted, 'approve'));
    expect(commits).toBeGreaterThan(2);
    for (let nth = 1; nth <= commits; nth += 1) {
      const id = randomUUID();
      const pending = await parked(id);
      tools.executed.length = 0;
      failing = nth;
      const click = randomUUID();
      const first = await decide(pending, 'approve', click);
      await timePasses(3 * LIST_MS, 'commits after the answer meet the fault, too');
      failing = 0;
      expect([200, 503]).toContain(first.status);
      // Also of a call that is long over: what was answered 503 has its answer when it is sent again.
      expect({ nth, ...(await decide(pending, 'approve', click)) }).toMatchObject({ nth, status: 200 });
      const end = await ended(id);
      // An attempt that could not begin was not made; of one whose result was lost nobody can say how it ended. Neither is repeated.
      expect(['done', 'attempt_not_begun', 'server_execution_uncertain']).toContain(end);
      expect({ nth, effects: tools.executed.length }).toEqual({ nth, effects: end === 'attempt_not_begun' ? 0 : 1 });
      expect(await settledAs(pending)).toBe('approved');
    }
    expect(await alarmsIn()).toEqual([]);
  }, 120_000);

  it('at any moment of a denied call: denied at the latest when it is decided again, never run, and no alarm', async () => {
    const counted = await parked(randomUUID());
    const commits = await commitsOf(() => decide(counted, 'deny'));
    for (let nth = 1; nth <= commits; nth += 1) {
      const pending = await parked(randomUUID());
      failing = nth;
      const click = randomUUID();
      expect([200, 503]).toContain((await decide(pending, 'deny', click)).status);
      await timePasses(LIST_MS, 'commits after the answer meet the fault, too');
      failing = 0;
      expect({ nth, ...(await decide(pending, 'deny', click)) }).toMatchObject({ nth, status: 200 });
      expect(await settledAs(pending)).toBe('denied');
    }
    expect(tools.executed).toHaveLength(0);
    expect(await alarmsIn()).toEqual([]);
  }, 120_000);

  it('at any moment of a call that is let through: one effect at most, and the same answer when it is asked again', async () => {
    const commits = await commitsOf(() => gate.call('read_file'));
    for (let nth = 1; nth <= commits; nth += 1) {
      const id = randomUUID();
      tools.executed.length = 0;
      failing = nth;
      const told = await gate.call('read_file', { id });
      failing = 0;
      const again = await eventually('the end of the call', async () => {
        const answer = await gate.call('read_file', { id });
        return answer.status === 200 || !UNDER_WAY.has(answer.body['error']) ? answer : null;
      });
      if (told.status === 200) expect(again.body).toEqual(told.body);
      expect({ nth, told: told.status, effects: tools.executed.length }).toEqual({
        nth,
        told: told.status,
        effects: again.body['error'] === 'attempt_not_begun' ? 0 : 1,
      });
    }
    expect(await alarmsIn()).toEqual([]);
  }, 120_000);

  it('of another call while a tool works: who waits for that tool has its answer', async () => {
    const { answer } = tools;
    let release: () => void = () => undefined;
    const works = new Promise<void>((resolve) => (release = resolve));
    tools.answer = async (request) => {
      if (JSON.stringify(request).includes('slow.txt')) await works;
      return answer(request);
    };
    const slow = gate.call('read_file', { arguments: { path: 'slow.txt' } });
    await eventually('the slow call at its tool', () => tools.executed.length === 1);
    failing = 1;
    expect(await gate.call('read_file', { arguments: { path: 'other.txt' } })).toMatchObject({ status: 503 });
    release();
    expect(await slow).toMatchObject({ status: 200 });
  }, 60_000);

  it('of another call until a decision is answered is nothing to it: answered 200 where it stands, 503 where it does not', async () => {
    for (let place = 0; place < timesOf(10, 30); place += 1) {
      const pending = await parked(randomUUID());
      failing = 1;
      const other = gate.call('read_file');
      await timePasses(place % 10, 'the fault comes at any moment');
      const told = await decide(pending, 'deny');
      await other;
      failing = 0;
      const { body } = await gate.send('GET', `/pending?id=${pending}`);
      const [row] = body as unknown as readonly JsonObject[];
      expect({ place, told: told.status }).toEqual({ place, told: row?.['status'] === 'denied' ? 200 : 503 });
    }
  }, 60_000);

  it.each(['deny', 'approve'] as const)(
    'of another call while the answer of a decision leaves is nothing to it: %s',
    async (decision) => {
      const settled = decision === 'deny' ? 'denied' : 'approved';
      const seen = new Set<number>();
      for (let place = 0; place < timesOf(16, 48); place += 1) {
        const pending = await parked(randomUUID());
        await timePasses(10, 'its own commits are over');
        const click = randomUUID();
        const deciding = decide(pending, decision, click);
        await timePasses(place % 12, 'the fault comes at any moment');
        failing = 1;
        const other = gate.call('read_file');
        const { status } = await deciding;
        await other;
        failing = 0;
        seen.add(status);
        const { body } = await gate.send('GET', `/pending?id=${pending}`);
        const [row] = body as unknown as readonly JsonObject[];
        expect({ place, status, row: row?.['status'] }).toEqual({
          place,
          status,
          row: status === 200 ? settled : 'pending',
        });
        if (status !== 200) expect(await decide(pending, decision, click)).toMatchObject({ status: 200 });
      }
      expect(seen).toContain(200);
    },
    60_000,
  );

  it('beside decisions at once is told in the form of Gate, to those that it had refused as well', async () => {
    const told = new Set<string>();
    const some = () => round >= timesOf(3, 8) && told.has('503 store_unavailable');
    let round = 0;
    for (; round < 8 && !some(); round += 1) {
      const waiting = await Promise.all(Array.from({ length: 6 }, () => parked(randomUUID())));
      everyOf = 3;
      const sent = waiting.flatMap((pending, place) =>
        (['deny', 'deny', 'approve'] as const).map(async (decision, turn) => {
          await timePasses(((place + round) * 7 + turn * 5) % 30, 'decisions come at any moment');
          return decide(pending, decision);
        }),
      );
      for (const { status, body } of await Promise.all(sent)) {
        told.add(`${status} ${textOf(body['error'])}`);
        // The form in which these routes refuse.
        if (status === 503) expect([body['reason'], body['reasoning']]).toEqual([expect.any(String), undefined]);
      }
      everyOf = 0;
    }
    expect([...told].filter((one) => !['200 ', '409 already_decided'].includes(one))).toEqual([
      '503 store_unavailable',
    ]);
  }, 60_000);

  it('is told as a page to an operator at the console, and nothing is shown as decided that is not', async () => {
    const browser = await signedInAt(gate.lite);
    const { text: page } = await browser.get('/me');
    const csrf = fieldIn(page, 'csrf');
    const seen = new Set<number>();
    const ids: string[] = [];
    for (let count = 0; count < 30; count += 1) ids.push(await parked(randomUUID()));
    const rows = new Map<string, string>();
    for (const id of ids) rows.set(id, fieldIn((await browser.get(`/hil/${id}`)).text, 'digest'));
    // Which of them wait for a commit that fails is chance, and on a crowded machine it may be none of a round.
    for (let round = 0; round < 20 && seen.size < 2; round += 1) {
      everyOf = 2;
      const busy = Array.from({ length: 60 }, () => gate.call('read_file'));
      const told = await Promise.all(
        [...rows].slice(round * 3, round * 3 + 3).map(async ([id, digest]) => {
          const fields = { csrf, digest, request: randomUUID(), reason: 'no' };
          const { status, text, headers } = await browser.post(`/hil/${id}/deny`, fields);
          return { id, status, text, type: headers.get('content-type') };
        }),
      );
      await Promise.all(busy);
      everyOf = 0;
      for (const { id, status, text, type } of told) {
        seen.add(status);
        const row = (await gate.send('GET', `/pending?id=${id}`)).body as unknown as JsonObject[];
        if (status === 303) expect(row[0]?.['status']).toBe('denied');
        else
          expect([type, text]).toEqual([
            expect.stringMatching(/^text\/html/),
            expect.stringContaining('store_unavailable'),
          ]);
      }
    }
    expect([...seen].filter((status) => ![303, 503].includes(status))).toEqual([]);
    expect(seen).toContain(503);
  }, 60_000);

  it('is nothing to the probes: the process is up, and says what is wrong', async () => {
    full = true;
    const busy = Array.from({ length: 60 }, () => gate.call('read_file'));
    const probes = await Promise.all(
      ['/health', '/readyz', '/metrics'].flatMap((path) =>
        Array.from({ length: 20 }, async () => `${path} ${(await fetch(`${gate.lite.url}${path}`)).status}`),
      ),
    );
    for (const { status } of await Promise.all(busy)) expect(status).toBe(503);
    full = false;
    expect(new Set(probes)).toEqual(new Set(['/health 200', '/readyz 200', '/metrics 200']));
  }, 60_000);

  it('when the wait of a call is over: it expires at the next look, and is not aborted', async () => {
    await gate.close();
    const TTL_SECS = 2;
    gate = await openLite(
      { GATE_LITE_UPSTREAM_URL: tools.url, GATE_LITE_PENDING_TTL_SECS: String(TTL_SECS) },
      { beforeCommit },
    );
    const statusOf = async (pending: string) => {
      const { body } = await gate.send('GET', `/pending?id=${pending}`);
      return (body as unknown as readonly JsonObject[])[0]?.['status'];
    };
    let id = '';
    let pending = '';
    // On a busy machine a call may have expired before the fault is set: then another one is to meet it.
    do {
      id = randomUUID();
      pending = await parked(id);
      await timePasses(TTL_SECS * 1_000 - 300, 'shortly before the deadline');
      failing = 1;
      await eventually('its end', async () => failing === 0 || (await statusOf(pending)) === 'expired');
    } while (failing !== 0);
    expect(await settledAs(pending)).toBe('expired');
    expect(await ended(id)).toBe('review_expired');
    expect(await alarmsIn()).toEqual([]);
    expect(tools.executed).toHaveLength(0);
  }, 120_000);

  it('while the body of a request comes is nothing to it', async () => {
    const { hostname, port } = new URL(gate.lite.url);
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'read_file', arguments: {} },
    });
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST /mcp HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/json\r\nX-Gate-Server-Execution-Contract: gate.server-execution/v1\r\nX-Gate-Idempotency-Id: ${randomUUID()}\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    await timePasses(LIST_MS, 'the head of the request has arrived');
    failing = 1;
    expect(await gate.call('read_file')).toMatchObject({ status: 503 });
    socket.write(body);
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 /);
  }, 60_000);

  it('and one that goes on failing: everybody is told so in the form of Gate', async () => {
    full = true;
    const told = await Promise.all(
      Array.from({ length: timesOf(100, 300) }, async (_, place) => {
        await timePasses(place, 'one after another');
        return gate.call(place % 2 === 0 ? 'read_file' : 'wire_transfer');
      }),
    );
    full = false;
    expect(new Set(told.map(({ status, body }) => `${status} ${textOf(body['error'])}`))).toEqual(
      new Set(['503 store_unavailable']),
    );
    expect(tools.executed).toHaveLength(0);
  }, 60_000);
});
