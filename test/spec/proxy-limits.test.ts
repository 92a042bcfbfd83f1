import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../contracts/json.js';
import { batchRequest, callsOf } from '../support/batch-request.js';
import { SELECTORS } from '../support/agent.js';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from '../support/stack.js';
import { eventually, timePasses } from '../support/waiting.js';

const WINDOW_SECS = 5;
const LIMIT = 5;
const MAX_IN_FLIGHT = 12;

/** An MCP server whose behaviour is the test's to choose, at one address through all of it. */
interface Tools {
  behaviour: 'answer' | 'hang' | 'page' | 'fail' | 'hang up';
  readonly url: string;
  /** Tool calls it took. */
  taken: number;
  /** Lets every request go that hangs. */
  release(): void;
  down(): Promise<void>;
  up(): Promise<void>;
}

let gate: TestStack;
let tools: Tools;
beforeAll(async () => {
  tools = await startTools();
  gate = await startStack({
    env: {
      GATE_UPSTREAM_URL: tools.url,
      GATE_UPSTREAM_TIMEOUT_SECS: '2',
      GATE_CALL_DEADLINE_SECS: '2',
      GATE_PROXY_MAX_IN_FLIGHT: String(MAX_IN_FLIGHT),
      GATE_VELOCITY_LIMIT: String(LIMIT),
      GATE_VELOCITY_WINDOW_SECS: String(WINDOW_SECS),
      GATE_REVIEW_MAX_PARKED_CALLS: '2',
      GATE_PROXY_CONTROL_LIMIT: '6',
      GATE_PROXY_REPLAY_BYTES: '1000',
    },
  });
}, STACK_START_LIMIT_MS);
afterAll(async () => {
  tools?.release();
  await gate?.stop();
  await tools?.down();
});

describe('velocity, 429', () => {
  it('admits exactly the limit within a window, however the calls arrive, and says when to come back', async () => {
    const bot = await gate.agent('busy-bot');
    const replies = await Promise.all(Array.from({ length: LIMIT + 2 }, () => bot.call('delete_file', { path: 'x' })));
    const refused = replies.filter(({ status }) => status === 429);
    expect(replies.filter(({ status }) => status === 403)).toHaveLength(LIMIT);
    expect(refused).toHaveLength(2);
    for (const reply of refused) {
      expect(reply.body).toEqual({
        error: 'rate_limited',
        scope: 'agent',
        key: 'acme/busy-bot',
        retry_after_secs: expect.any(Number),
        correlation_id: reply.correlationId,
        reasoning: `more than ${LIMIT} calls in ${WINDOW_SECS} s`,
        verdict: 'rate_limited',
        layer: 'proxy',
      });
      const secs = Number(reply.body.retry_after_secs);
      expect(secs).toBeGreaterThanOrEqual(1);
      expect(secs).toBeLessThanOrEqual(WINDOW_SECS);
      expect(reply.headers['retry-after']).toBe(String(secs));
    }
  });

  it('counts each call of a batch, and says of one that never fits that it never will', async () => {
    const bot = await gate.agent('batch-bot');
    const batch = (size: number) =>
      bot.send(batchRequest(callsOf('list_things', size), 'sdk'), {
        ...SELECTORS.decision,
        'x-gate-idempotency-id': randomUUID(),
      });
    expect(await batch(LIMIT + 1)).toMatchObject({ status: 400, body: { error: 'batch_too_large' } });
    expect(await batch(LIMIT)).toMatchObject({ status: 200 });
    const refused = await batch(1);
    expect(refused).toMatchObject({ status: 429, body: { error: 'rate_limited' } });
    expect(refused.headers['retry-after']).toBe(String(Number(refused.body.retry_after_secs)));
  });

  it('leaves one ledger row per agent and window, not one per refusal', async () => {
    const bot = await gate.agent('noisy-bot');
    const flood = async () => {
      const replies = await Promise.all(
        Array.from({ length: LIMIT + 4 }, () => bot.call('delete_file', { path: 'x' })),
      );
      return replies.filter(({ status }) => status === 429);
    };
    const rowsOf = async (refused: Awaited<ReturnType<typeof flood>>) =>
      (await Promise.all(refused.map(({ correlationId }) => gate.rows(correlationId)))).flat();
    const first = await flood();
    expect(first).toHaveLength(4);
    const rows = await rowsOf(first);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({
      event_kind: 'proxy.verdict',
      agent_id: 'noisy-bot',
      authorized: false,
      policy_decision: { outcome: 'rate_limited', scope: 'agent', key: 'acme/noisy-bot', limit: LIMIT },
    });
    await timePasses(Number(first[0]?.body.retry_after_secs) * 1000, 'the time that it was told to wait');
    expect(await rowsOf(await flood())).toHaveLength(1);
  });

  it('answers replays before it counts, and counts each agent by itself', async () => {
    const bot = await gate.agent('steady-bot');
    const idempotencyId = randomUUID();
    expect((await bot.call('list_things', {}, { idempotencyId })).status).toBe(200);
    await Promise.all(Array.from({ length: LIMIT }, () => bot.call('delete_file', { path: 'x' })));
    expect((await bot.call('list_things')).status).toBe(429);
    expect((await bot.call('list_things', {}, { idempotencyId })).status).toBe(200);
    expect((await bot.control('tools/list')).status).toBe(200);
    expect((await (await gate.agent('quiet-bot')).call('list_things')).status).toBe(200);
    const { text } = await gate.health('proxy', '/metrics');
    expect(text).toMatch(/gate_proxy_rate_limited_total [1-9]/);
  });

  it('lets the agent in again when the window has moved on', async () => {
    const bot = await gate.agent('patient-bot');
    await Promise.all(Array.from({ length: LIMIT }, () => bot.call('delete_file', { path: 'x' })));
    const refused = await bot.call('list_things');
    expect(refused.status).toBe(429);
    await timePasses(Number(refused.body.retry_after_secs) * 1000, 'the time that it was told to wait');
    expect((await bot.call('list_things')).status).toBe(200);
  });
});

describe('what one agent may have waiting for people', () => {
  it('is bounded: one more is a 429 that leaves no record and one row, and the same id may come again', async () => {
    const bot = await gate.agent('parking-bot');
    const park = (idempotencyId?: string) =>
      bot.call('wire_transfer', { amount: 25 }, idempotencyId === undefined ? {} : { idempotencyId });
    const parked = await park();
    expect([parked.status, (await park()).status]).toEqual([202, 202]);
    const idempotencyId = randomUUID();
    const refused = await park(idempotencyId);
    expect(refused).toMatchObject({
      status: 429,
      body: { error: 'review_backlog_full', key: 'acme/parking-bot', layer: 'hil' },
    });
    expect(refused.headers['retry-after']).toBe(String(Number(refused.body.retry_after_secs)));
    expect((await bot.call('list_things')).status).toBe(200);
    expect((await (await gate.agent('other-bot')).call('wire_transfer', { amount: 25 })).status).toBe(202);
    await eventually('the row of the refusal', async () => (await gate.rows(refused.correlationId)).length === 1);
    const again = await park(idempotencyId);
    expect(again.status).toBe(429);
    expect(await gate.rows(again.correlationId)).toMatchObject([
      { event_kind: 'proxy.verdict', authorized: false, policy_decision: { outcome: 'rate_limited' } },
    ]);
    await gate.operator.decide(parked.correlationId, 'deny');
    await eventually('a place that is free', async () => (await park(idempotencyId)).status === 202);
  });
});

describe('what passes before the velocity limit', () => {
  it('control calls: so many a minute, then 429 with one row', async () => {
    const bot = await gate.agent('listing-bot');
    const replies = [];
    for (let n = 0; n < 8; n += 1) replies.push(await bot.control(n % 2 ? 'ping' : 'tools/list'));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200, 429, 429]);
    expect(replies[6]?.body).toMatchObject({ error: 'rate_limited', key: 'acme/listing-bot', layer: 'proxy' });
    expect(Number(replies[6]?.headers['retry-after'])).toBeGreaterThan(0);
    const rows = await Promise.all(replies.slice(6).map(({ correlationId }) => gate.rows(correlationId)));
    expect(rows.flat()).toMatchObject([
      { policy_decision: { outcome: 'rate_limited', limit: 6 }, tool_name: 'tools/list' },
    ]);
    expect((await bot.call('list_things')).status).toBe(200);
  });

  it('retained results: so many bytes a minute, then 429; a first answer is none of them', async () => {
    const bot = await gate.agent('again-bot');
    const idempotencyId = randomUUID();
    const first = await bot.call('list_things', {}, { idempotencyId });
    const allowed = Math.ceil(1_000 / first.text.length);
    const replies = [];
    for (let n = 0; n < allowed + 2; n += 1) replies.push(await bot.call('list_things', {}, { idempotencyId }));
    expect(replies.slice(0, allowed).every(({ text }) => text === first.text)).toBe(true);
    expect(replies.slice(allowed).map(({ status }) => status)).toEqual([429, 429]);
    expect((await bot.call('list_things')).status).toBe(200);
  });
});

describe('limits of the upstream', () => {
  it('down: 502, surely nothing was executed, and the row says so; the same id stays what it is', async () => {
    const bot = await gate.agent('unlucky-bot');
    const idempotencyId = randomUUID();
    await tools.down();
    const reply = await bot.call('list_things', {}, { idempotencyId });
    const control = await bot.control('tools/list');
    await tools.up();
    expect(reply.status).toBe(502);
    expect(reply.body).toMatchObject({ error: 'upstream_unreachable', verdict: 'error', layer: 'upstream' });
    expect(control.status).toBe(502);
    expect(control.body).toMatchObject({ error: 'upstream_unreachable', layer: 'upstream' });
    const rows = await gate.rows(reply.correlationId, (kinds) => kinds.includes('upstream.outcome'));
    expect(rows.at(-1)).toMatchObject({ authorized: false, policy_decision: { stage: 'not_run' } });
    const replay = await bot.call('list_things', {}, { idempotencyId });
    expect([replay.status, replay.text]).toEqual([502, reply.text]);
    expect((await bot.call('list_things')).status).toBe(200);
  });

  it('silent: a tool call is uncertain and never sent again; a control method is 504', async () => {
    const bot = await gate.agent('waiting-bot');
    const before = tools.taken;
    tools.behaviour = 'hang';
    const idempotencyId = randomUUID();
    const [reply, control] = await Promise.all([
      bot.call('list_things', {}, { idempotencyId }),
      bot.control('tools/list'),
    ]);
    tools.behaviour = 'answer';
    tools.release();
    expect(reply.status).toBe(409);
    expect(reply.body).toMatchObject({ error: 'server_execution_uncertain', verdict: 'error', layer: 'proxy' });
    expect(reply.body.reasoning).toMatch(/timed out/);
    expect(control.status).toBe(504);
    expect(control.body).toMatchObject({ error: 'upstream_timeout', layer: 'upstream' });
    expect((await bot.call('list_things', {}, { idempotencyId })).status).toBe(409);
    expect(tools.taken).toBe(before + 1);
  });

  it('no MCP server: a control method is 502 upstream_invalid_response, a tool call uncertain', async () => {
    const bot = await gate.agent('puzzled-bot');
    expect((await bot.call('list_things')).status).toBe(200);
    tools.behaviour = 'page';
    const control = await bot.control('tools/list');
    const reply = await bot.call('list_things');
    tools.behaviour = 'answer';
    expect([control.status, control.body.error]).toEqual([502, 'upstream_invalid_response']);
    expect([reply.status, reply.body.error]).toEqual([409, 'server_execution_uncertain']);
  });

  it('refusing by HTTP: an answer is a result, retained with its status', async () => {
    const bot = await gate.agent('refused-bot');
    const idempotencyId = randomUUID();
    const before = tools.taken;
    tools.behaviour = 'fail';
    const reply = await bot.call('list_things', {}, { idempotencyId });
    tools.behaviour = 'answer';
    expect(reply.status).toBe(500);
    expect(reply.body).toMatchObject({ jsonrpc: '2.0', id: 1, error: { message: 'upstream answered HTTP 500' } });
    const replay = await bot.call('list_things', {}, { idempotencyId });
    expect([replay.status, replay.text]).toEqual([500, reply.text]);
    expect(tools.taken).toBe(before + 1);
    const rows = await gate.rows(reply.correlationId, (kinds) => kinds.includes('upstream.outcome'));
    expect(rows.at(-1)).toMatchObject({ policy_decision: { stage: 'failed', status_code: 500 } });
  });
});

describe('not ready, 503', () => {
  it('too many calls under way: refused with the layer and when to come back; replays are answered all the same', async () => {
    const bots = await Promise.all(['crowd-a', 'crowd-b', 'crowd-c'].map((name) => gate.agent(name)));
    const finished = randomUUID();
    await bots[0]?.call('list_things', {}, { idempotencyId: finished });
    tools.behaviour = 'hang';
    const under = bots.flatMap((bot) => Array.from({ length: 4 }, () => bot.call('list_things')));
    await eventually('the proxy is full', () => inFlight(MAX_IN_FLIGHT));
    const bot = await gate.agent('late-bot');
    const refusedId = randomUUID();
    const refused = await bot.call('list_things', {}, { idempotencyId: refusedId });
    const replay = await bots[0]?.call('list_things', {}, { idempotencyId: finished });
    tools.behaviour = 'answer';
    tools.release();
    await Promise.all(under);
    expect(refused.status).toBe(503);
    expect(refused.body).toMatchObject({ error: 'pipeline_unavailable', verdict: 'error', layer: 'proxy' });
    expect(refused.headers['retry-after']).toBe('2');
    expect(replay?.status).toBe(200);
    // Nothing was recorded: the same id may come again.
    expect(await gate.rows(refused.correlationId)).toEqual([]);
    expect((await bot.call('list_things', {}, { idempotencyId: refusedId })).status).toBe(200);
  });

  it('the engine silent: refused within the deadline, no effect, and not ready; afterwards all is well', async () => {
    const bot = await gate.agent('stalled-bot');
    const { pid } = JSON.parse(readFileSync(join(gate.stateDir, 'run', 'temporal.pid'), 'utf8')) as { pid: number };
    const before = tools.taken;
    process.kill(pid, 'SIGSTOP');
    const idempotencyId = randomUUID();
    try {
      const reply = await bot.call('list_things', {}, { idempotencyId });
      expect(reply.status).toBe(503);
      expect(reply.body).toMatchObject({ error: 'pipeline_unavailable', verdict: 'error', layer: 'engine' });
      expect(reply.headers['retry-after']).toBe('2');
      expect(tools.taken).toBe(before);
      // What needs no engine goes on: control methods, refusals.
      expect((await bot.control('tools/list')).status).toBe(200);
      expect((await bot.send('nonsense')).status).toBe(400);
      const ready = await gate.health('proxy', '/readyz');
      expect(ready.status).toBe(503);
      expect(JSON.parse(ready.text)).toMatchObject({
        status: 'not_ready',
        checks: { orchestrator: 'failed', ledger: 'ok' },
      });
      expect((await gate.health('proxy', '/health')).status).toBe(200);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await eventually('the proxy is ready', async () => (await gate.health('proxy', '/readyz')).status === 200);
    // The start may have waited in the engine: then it came too late and was abandoned. In no case did it run behind the caller's back.
    const again = await eventually('an answer', async () => {
      const reply = await bot.call('list_things', {}, { idempotencyId });
      return reply.status === 503 && reply.body.error === 'pipeline_unavailable' ? null : reply;
    });
    if (again.status !== 200) expect([again.status, again.body.error]).toEqual([503, 'call_abandoned']);
    expect(tools.taken - before).toBe(again.status === 200 ? 1 : 0);
    expect((await bot.call('list_things')).status).toBe(200);
  });

  it('the chain holds after all of it', async () => {
    expect(await gate.verify()).toMatchObject({ valid: true });
  });
});

async function inFlight(count: number): Promise<boolean> {
  const { text } = await gate.health('proxy', '/metrics');
  return text.includes(`gate_proxy_calls_in_flight ${count}\n`);
}

async function startTools(): Promise<Tools> {
  let server: Server;
  let port = 0;
  const hanging = new Set<ServerResponse>();
  const state: Tools = {
    behaviour: 'answer',
    taken: 0,
    get url() {
      return `http://127.0.0.1:${port}/mcp`;
    },
    release() {
      for (const response of hanging) response.destroy();
      hanging.clear();
    },
    async down() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
      // On a connection that is closed under a call nobody knows what became of it.
      await timePasses(200, 'nothing outside Gate tells when it has read the end of a connection');
    },
    up: () => listen(),
  };
  const json = (response: ServerResponse, body: JsonObject) =>
    response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's' }).end(JSON.stringify(body));
  async function listen(): Promise<void> {
    server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString()));
      request.on('end', () => {
        if (request.method !== 'POST') return void response.writeHead(405).end();
        const body = JSON.parse(text) as JsonObject;
        if (body.method === 'initialize')
          return void json(response, {
            jsonrpc: '2.0',
            id: body.id ?? null,
            result: {
              protocolVersion: '2025-06-18',
              capabilities: { tools: {} },
              serverInfo: { name: 't', version: '1' },
            },
          });
        if (body.id === undefined) return void response.writeHead(202).end();
        if (body.method === 'tools/call') state.taken += 1;
        switch (state.behaviour) {
          case 'hang':
            return void hanging.add(response);
          case 'hang up':
            return void response.destroy();
          case 'page':
            return void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>hello</p>');
          case 'fail':
            return void response.writeHead(500).end();
          case 'answer':
            return void json(response, { jsonrpc: '2.0', id: body.id, result: { tools: [], content: [] } });
        }
      });
    });
    await new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening));
    port = (server.address() as { port: number }).port;
  }
  await listen();
  return state;
}
