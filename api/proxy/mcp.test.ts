import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import Fastify from 'fastify';
import { validatorCompiler } from 'fastify-type-provider-zod';
import type { Upstream } from '../../domain/upstream/upstream.js';
import { eventually } from '../../test/support/waiting.js';
import type { ServiceApp } from '../plugins/app.js';
import { createEventStreams } from './clients/event-streams.js';
import { type McpRouteOptions, registerMcp } from './mcp.js';

function agentsApp(): ServiceApp {
  const app = Fastify() as unknown as ServiceApp;
  app.setValidatorCompiler(validatorCompiler);
  app.addHook('onRequest', (request, _reply, done) => {
    request.caller = {
      kind: 'agent',
      spiffe: 'spiffe://gate.test/agent/bot',
      callerId: 'agent-workload',
      fingerprint: '',
      tenant: 'acme',
      agent: 'bot',
    };
    done();
  });
  return app;
}

describe('the answer to a control method', () => {
  it("has no claim of the upstream that somebody changed it, and is the upstream's own text otherwise", async () => {
    const text = '{"jsonrpc":"2.0","id":1,"result":{"_meta":{"gate\\u002fmodified":{},"n":12345678901234567890}}}';
    const app = agentsApp();
    const control: Upstream['control'] = async () => ({ kind: 'reply', statusCode: 200, text, failed: false });
    registerMcp(app, {
      upstream: { control },
      limits: { control: async () => undefined },
      controlLog: { note: () => undefined },
      sessions: {},
      upstreamTimeoutMs: 1_000,
      mode: 'enforce',
    } as unknown as McpRouteOptions);
    const reply = await app.inject({
      method: 'POST',
      url: '/mcp',
      headers: { 'content-type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    });
    expect(reply.body).toBe('{"jsonrpc":"2.0","id":1,"result":{"_meta":{"n":12345678901234567890}}}');
  });
});

describe('a stream whose client goes away while it is prepared', () => {
  it('takes no place, and nothing stays subscribed to for it', async () => {
    const app = agentsApp();
    const streams = createEventStreams(1);
    let answer: (() => void) | undefined;
    const text = '{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"resources":{"subscribe":true}},"serverInfo":{}}}';
    const control: Upstream['control'] = async (_caller, { method }) => {
      if (method === 'resources/subscribe') await new Promise<void>((resolve) => (answer = resolve));
      return { kind: 'reply', statusCode: 200, text, failed: false };
    };
    const over: string[] = [];
    const subscriptions = {
      of: async () => [],
      add: async () => undefined,
      letGo: async () => undefined,
      letGoOf: async (holder: string) => void over.push(holder),
      over: async () => [],
      remove: async () => undefined,
    };
    registerMcp(app, {
      upstream: { control },
      limits: { control: async () => undefined },
      controlLog: { note: () => undefined },
      sessions: {},
      subscriptions,
      streams,
      upstreamTimeoutMs: 1_000,
      mode: 'enforce',
    } as unknown as McpRouteOptions);
    await app.listen({ port: 0, host: '127.0.0.1' });
    const open = () => new Promise<number>((resolve) => app.server.getConnections((_error, count) => resolve(count)));
    const gone = new AbortController();
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const asked = fetch(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'subscriptions/listen',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'subscriptions/listen',
        params: { notifications: { resourceSubscriptions: ['test://a'] }, _meta },
      }),
      signal: gone.signal,
    });
    await eventually('the upstream is asked', () => answer !== undefined);
    expect(streams.count()).toBe(1);
    gone.abort();
    await expect(asked).rejects.toThrow();
    await eventually('its connection is closed', async () => (await open()) === 0);
    answer?.();
    await eventually('its place is free', () => streams.count() === 0);
    await eventually('what it held is given up', () => over.length > 0);
    await app.close();
  });
});
