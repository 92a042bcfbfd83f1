import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../contracts/json.js';
import { stopFault } from '../domain/identity/stops.js';
import { createCallTalks, type Listener } from '../domain/upstream/call-talks.js';
import { NO_BUDGETS } from '../domain/spend/spend.js';
import { fixtureFolder, openPipeline } from '../test/support/pipeline-fixture.js';
import { createActivities } from '../workers/activities.js';
import { NO_DECOYS } from '../domain/identity/decoy-readings.js';
import { createMcpUpstream } from './mcp-upstream.js';

/** What a tool of MCP 2026-07-28 answers a call that has to be sent again. */
const AGAIN = { result: { resultType: 'input_required', requestState: 'more' } };
const ASKS = {
  result: {
    resultType: 'input_required',
    inputRequests: { sure: { method: 'elicitation/create', params: { message: 'Sure?', requestedSchema: {} } } },
  },
};
const HEADERS_DIFFER = { error: { code: -32_020, message: 'a header is missing' } };
const DONE = { result: { resultType: 'complete', content: [{ type: 'text', text: 'paid' }] } };

const closes: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closes.splice(0).toReversed()) await close();
});

/** Such a tool, which answers its first call so, and every later one as done. */
async function toolThat(answersFirst: object, onCall: () => void) {
  let sent = 0;
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (part: Buffer) => (text += part.toString()));
    request.on('end', () => {
      const { id, method } = JSON.parse(text || '{}') as JsonObject;
      const say = (body: object, status = 200) =>
        response
          .writeHead(status, { 'content-type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id, ...body }));
      if (method === 'server/discover')
        return say({ result: { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } } });
      if (method === 'tools/list') return say({ result: { tools: [] } });
      if (method !== 'tools/call') return say({ error: { code: -32_601, message: 'no' } }, 400);
      sent += 1;
      if (sent > 1) return say(DONE);
      onCall();
      return say(answersFirst);
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const upstream = createMcpUpstream({ url: `http://127.0.0.1:${port}/mcp` });
  closes.push(() => {
    server.closeAllConnections();
    server.close();
  });
  closes.push(() => upstream.close());
  return { upstream, sent: () => sent };
}

async function run(answersFirst: object, stopsAt: 'first request' | 'answer' | 'never') {
  let stopped = false;
  const answered: string[] = [];
  const tool = await toolThat(answersFirst, () => (stopped ||= stopsAt === 'first request'));
  const talks = createCallTalks();
  const gate = await openPipeline({
    folder: await fixtureFolder(),
    script: {
      tier: 'green',
      upstream: (request, limits) =>
        tool.upstream.callTool({ tenant: 'acme', agent: 'one', client_can: ['elicitation'] }, request, limits),
    },
    compose: (ports) =>
      createActivities({
        ...ports,
        talks,
        standing: {
          agentFault: () => null,
          toolFault: (tenant, tools) => (stopped ? stopFault({ tenant, tool: tools[0] ?? '' }) : null),
          forcesReview: () => false,
          budgetsOf: () => NO_BUDGETS,
          decoysOf: () => NO_DECOYS,
          grantFault: () => null,
        },
      }),
  });
  closes.push(() => gate.close());
  const call = await gate.call();
  const listener: Listener = {
    progress: false,
    told: () => undefined,
    async asked(method) {
      answered.push(method);
      stopped ||= stopsAt === 'answer';
      return ['result', '{"action":"accept","content":{}}'];
    },
  };
  talks.listen(call.correlation_id, listener);
  await gate.run(call);
  const outcome = (await gate.calls.find(call.correlation_id))?.outcome;
  const result = (await gate.calls.result(call.correlation_id))?.toString('utf8') ?? '';
  return { stage: outcome?.stage, outcome, result, sent: tool.sent(), answered };
}

describe('a call of a tool that is sent it in several requests', () => {
  it.each<[string, object, 'first request' | 'answer', readonly string[]]>([
    ['wants to be asked again', AGAIN, 'first request', []],
    ['wants other headers', HEADERS_DIFFER, 'first request', []],
    ['asks its client something', ASKS, 'first request', []],
    ['was stopped while its client thought about the answer', ASKS, 'answer', ['elicitation/create']],
  ])('is sent to it no more once it is stopped: one that %s', async (_, answersFirst, stopsAt, asked) => {
    const { stage, outcome, result, sent, answered } = await run(answersFirst, stopsAt);
    expect({ stage, sent, answered }).toEqual({ stage: 'failed', sent: 1, answered: asked });
    // What was answered reached no tool.
    expect(outcome).not.toHaveProperty('answers');
    expect(result).toContain('tool_suspended');
  });

  it.each([
    ['wants to be asked again', AGAIN],
    ['wants other headers', HEADERS_DIFFER],
    ['asks its client something', ASKS],
  ])('is sent again while it is in use: one that %s', async (_, answersFirst) => {
    expect(await run(answersFirst, 'never')).toMatchObject({ stage: 'completed', sent: 2 });
  });
});
