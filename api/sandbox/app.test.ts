import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createSandboxClient } from '../../activities/clients/sandbox-client.js';
import type { ServiceFetch } from '../../activities/clients/service-client.js';
import { loadAnalyzer } from '../../adapters/sandbox/analyzer.js';
import { createLocalSandbox, type LocalSandbox } from '../../adapters/sandbox/local-sandbox.js';
import { sandboxReport } from '../../contracts/sandbox.js';
import { GateError } from '../../domain/errors.js';
import type { Analyzer } from '../../domain/sandbox/analyze.js';
import type { Sandbox } from '../../domain/sandbox/port.js';
import type { Caller } from '../plugins/app.js';
import type { Service } from '../plugins/service.js';
import { createSandboxService } from './app.js';
import { observedSandbox } from './metrics.js';

const workload = (name: string): Caller => ({
  kind: 'service',
  spiffe: `spiffe://gate.local/service/${name}`,
  callerId: `service-${name}`,
  fingerprint: 'f'.repeat(64),
});
const agent: Caller = {
  kind: 'agent',
  spiffe: 'spiffe://gate.local/tenant/a/agent/b',
  callerId: 'agent-workload',
  fingerprint: 'f'.repeat(64),
};
const deletion = { method: 'tools/call', params: { name: 'delete_file', arguments: { path: 'a.txt' } } };

/** The first analysis compiles the parsers, which takes long on a crowded machine. */
const PATIENT = { inPlaceMs: 30_000, limitMs: 60_000 };

let analyze: Analyzer;
let local: LocalSandbox;
let registry: Registry;
let service: Service;
let caller: Caller | null;
const start = (sandbox: Sandbox): void => {
  registry = new Registry();
  service = createSandboxService({
    sandbox: observedSandbox(sandbox, registry),
    registry,
    logger: pino({ level: 'silent' }),
    trustDomain: 'gate.local',
    resolveCaller: () => caller,
  });
};
beforeAll(async () => {
  analyze = await loadAnalyzer();
});
beforeEach(() => {
  caller = workload('proxy');
  local = createLocalSandbox(analyze, PATIENT);
  start(local);
});
afterEach(async () => {
  await service.close();
  await local.close();
});

const ask = (payload: unknown) =>
  service.app.inject({
    method: 'POST',
    url: '/analyze',
    headers: { 'content-type': 'application/json' },
    payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
  });

describe('POST /analyze', () => {
  it('answers with the report', async () => {
    const reply = await ask({ ...deletion, agent: 'acme/bot' });
    expect(reply.statusCode).toBe(200);
    expect(sandboxReport.parse(reply.json())).toEqual(analyze(deletion.method, deletion.params));
  });

  it('answers the same bytes to the same call, whoever asks for', async () => {
    const [one, other] = [await ask(deletion), await ask({ ...deletion, agent: 'acme/other' })];
    expect(one.body).toBe(other.body);
  });

  it.each([
    ['parameters that are a list', { method: 'tools/call', params: [1] }],
    ['no parameters', { method: 'tools/call' }],
    ['arguments that are a text', { method: 'tools/call', params: { name: 'read_file', arguments: 'a' } }],
  ])('reports %s as a call that cannot be read', async (_what, payload) => {
    const reply = await ask(payload);
    expect([reply.statusCode, reply.json()]).toEqual([
      200,
      expect.objectContaining({ operation_class: 'unknown', severity: 'risky' }),
    ]);
  });

  it.each([
    ['no method', { params: {} }],
    ['an empty method', { method: '', params: {} }],
    ['a method that is no text', { method: 1, params: {} }],
    ['a field that nobody knows', { ...deletion, tenant: 'acme' }],
    ['broken JSON', '{"method":'],
    ['no body', ''],
  ])('refuses %s with 400 invalid_request', async (_what, payload) => {
    const reply = await ask(payload);
    expect([reply.statusCode, reply.json()]).toEqual([400, expect.objectContaining({ error: 'invalid_request' })]);
  });

  it('is 503 sandbox_unavailable where there is no report in time', async () => {
    await service.close();
    start({ analyze: () => Promise.reject(new GateError('sandbox_unavailable')) });
    const reply = await ask(deletion);
    expect([reply.statusCode, reply.json()]).toEqual([503, expect.objectContaining({ error: 'sandbox_unavailable' })]);
    expect(await registry.metrics()).toContain('gate_sandbox_unanswered_total 1');
  });

  it('counts what it reports', async () => {
    await ask(deletion);
    expect(await registry.metrics()).toContain(
      'gate_sandbox_reports_total{operation_class="delete",severity="destructive"} 1',
    );
  });
});

describe('who may ask', () => {
  it.each([
    ['the proxy and its worker', workload('proxy'), 200],
    ['the console', workload('console'), 403],
    ['the review service', workload('hil'), 403],
    ['an agent', agent, 403],
    ['nobody', null, 401],
  ])('%s', async (_who, who, status) => {
    caller = who;
    expect((await ask(deletion)).statusCode).toBe(status);
  });

  it('is judged before the body is read', async () => {
    caller = workload('hil');
    expect((await ask('{"broken":')).statusCode).toBe(403);
  });
});

describe('readiness', () => {
  it('is that a known call has its report', async () => {
    expect((await service.health.inject('/readyz')).json()).toMatchObject({ checks: { analyzer: 'ok' } });
  });

  it.each([
    ['there is none', () => Promise.reject(new Error('no parser'))],
    ['it is another', async () => analyze('tools/call', { name: 'read_file', arguments: { path: 'a' } })],
  ])('fails where %s', async (_what, answered) => {
    await service.close();
    start({ analyze: answered });
    const reply = await service.health.inject('/readyz');
    expect([reply.statusCode, reply.json().checks.analyzer]).toEqual([503, 'failed']);
  });
});

describe('the sandbox over HTTP', () => {
  const url = 'https://sandbox.example:8087';
  const overTheService: ServiceFetch = async (target, { headers = {}, body = '' }) => {
    const response = await service.app.inject({
      method: 'POST',
      url: new URL(target).pathname,
      headers,
      payload: body,
    });
    return { status: response.statusCode, text: () => Promise.resolve(response.body) };
  };

  it('gives the report that the analyzer gives', async () => {
    expect(await createSandboxClient({ url, fetch: overTheService }).analyze(deletion)).toEqual(
      analyze(deletion.method, deletion.params),
    );
  });

  const answered =
    (status: number, body: unknown): ServiceFetch =>
    () =>
      Promise.resolve({ status, text: () => Promise.resolve(JSON.stringify(body)) });
  it.each<[string, ServiceFetch]>([
    ['a 503', answered(503, { error: 'sandbox_unavailable', reason: 'busy' })],
    ['a refusal of the caller', answered(403, { error: 'capability_denied' })],
    ['a refusal of the request', answered(400, { error: 'invalid_request' })],
    ['an answer that is no report', answered(200, { severity: 'safe' })],
    ['no connection', () => Promise.reject(new Error('ECONNREFUSED'))],
  ])('has no report after %s', async (_what, fetch) => {
    await expect(createSandboxClient({ url, fetch }).analyze(deletion)).rejects.toMatchObject({
      code: 'sandbox_unavailable',
    });
  });

  it('has no report where the answer holds more than the contract has', async () => {
    const fetch = answered(200, { ...analyze(deletion.method, deletion.params), extra: 1 });
    await expect(createSandboxClient({ url, fetch }).analyze(deletion)).rejects.toMatchObject({
      code: 'sandbox_unavailable',
    });
  });

  it('has no report where an answer takes too long', async () => {
    const silent = createSandboxClient({
      url,
      timeoutMs: 20,
      fetch: (_url, { signal }) =>
        new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted')))),
    });
    await expect(silent.analyze(deletion)).rejects.toMatchObject({ code: 'sandbox_unavailable' });
  });
});
