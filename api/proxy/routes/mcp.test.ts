import { describe, expect, it } from '@jest/globals';
import Fastify from 'fastify';
import { validatorCompiler } from 'fastify-type-provider-zod';
import type { Upstream } from '../../../domain/pipeline/upstream.js';
import type { ServiceApp } from '../../plugins/app.js';
import { type McpRouteOptions, registerMcp } from './mcp.js';

describe('the answer to a control method', () => {
  it("has no claim of the upstream that somebody changed it, and is the upstream's own text otherwise", async () => {
    const text = '{"jsonrpc":"2.0","id":1,"result":{"_meta":{"gate\\u002fmodified":{},"n":12345678901234567890}}}';
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
