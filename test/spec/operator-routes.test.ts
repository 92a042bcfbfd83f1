import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { hilService } from '../support/hil-service.js';
import type { JsonObject } from '../../contracts/json.js';
import { echoTools, openLite } from '../support/lite.js';
import { DECISION_KEYS, openPipeline } from '../support/pipeline-fixture.js';

const TOKEN = 'operator-token-0123456789-0123456789';

interface Asked {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
}
interface Told {
  readonly status: number;
  readonly body: unknown;
}
/** One edition as its operators reach it. */
interface Edition {
  park(): Promise<{ row: string; call: string }>;
  ask(asked: Asked): Promise<Told>;
  close(): Promise<void>;
}

async function full(): Promise<Edition> {
  const gate = await openPipeline({ script: { tier: 'yellow' } });
  const service = hilService({
    reviews: gate.reviews,
    sender: gate.host,
    starter: { start: () => Promise.reject(new Error('no review is asked for here')) },
    decisionKey: DECISION_KEYS.privateKey,
    sessionKey: Buffer.alloc(32, 7),
    operators: [{ name: 'dev', tenant: 'acme', token: TOKEN }],
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    trustDomain: 'gate.local',
    resolveCaller: () => ({
      kind: 'service',
      spiffe: 'spiffe://gate.local/service/console',
      callerId: 'service-console',
      fingerprint: 'cd'.repeat(32),
    }),
  });
  return {
    async park() {
      const call = await gate.call({ tool: 'wire_transfer' });
      const parked = await gate.run(call);
      return { row: parked?.pending_id ?? '', call: call.correlation_id };
    },
    async ask({ method, path, headers, body }) {
      // What its certificate lets the console do without a token is reading in a tenant that it names.
      const named = headers['authorization'] === undefined && method === 'GET' ? {} : { 'x-gate-tenant-scope': 'acme' };
      const answer = await service.app.inject({
        method,
        url: path,
        headers: { ...named, ...headers },
        ...(body !== undefined && { payload: body }),
      });
      return { status: answer.statusCode, body: answer.json() };
    },
    async close() {
      await service.close();
      await gate.close();
    },
  };
}

async function lite(): Promise<Edition> {
  const tools = await echoTools();
  const gate = await openLite({ GATE_LITE_UPSTREAM_URL: tools.url, GATE_LITE_DECIDE_TOKEN: TOKEN });
  return {
    async park() {
      const { body } = await gate.call('wire_transfer');
      return { row: body['pending_id'] as string, call: body['correlation_id'] as string };
    },
    async ask({ method, path, headers, body }) {
      const answer = await fetch(`${gate.lite.url}${path}`, { method, headers, ...(body !== undefined && { body }) });
      return { status: answer.status, body: await answer.json() };
    },
    async close() {
      await gate.close();
      await tools.close();
    },
  };
}

/** `{row}`, `{call}` and `{other}` stand for ids of a call that waits, and for one that nobody knows. */
type Case = readonly [
  name: string,
  method: Asked['method'],
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
];
const APPROVE = { decision: 'approve', reason: 'fine' };
const CASES: readonly Case[] = [
  ['an approval by the id of its row', 'POST', '/decide/{row}', APPROVE],
  ['an approval by the id of its call', 'POST', '/decide/{call}', APPROVE],
  ['a denial with a channel of its own', 'POST', '/decide/{row}', { decision: 'deny', decided_via: 'chat' }],
  ['a request id of its own', 'POST', '/decide/{row}', APPROVE, { 'x-request-id': 'click-1' }],
  ['a bad request id', 'POST', '/decide/{row}', APPROVE, { 'x-request-id': 'click 1' }],
  ['a request id that is too long', 'POST', '/decide/{row}', APPROVE, { 'x-request-id': 'a'.repeat(129) }],
  ['an empty request id', 'POST', '/decide/{row}', APPROVE, { 'x-request-id': '' }],
  ['modify without a diff', 'POST', '/decide/{row}', { decision: 'modify' }],
  [
    'modify with no diff of the contract',
    'POST',
    '/decide/{row}',
    { decision: 'modify', modification_diff: { amount: 1 } },
  ],
  ['a diff that belongs to nothing', 'POST', '/decide/{row}', { ...APPROVE, modification_diff: { amount: 1 } }],
  ['another payload', 'POST', '/decide/{row}', { ...APPROVE, modified_payload: { amount: 1 } }],
  ['a channel of Gate’s own', 'POST', '/decide/{row}', { ...APPROVE, decided_via: 'system:ttl-sweep' }],
  ['the digest of another action', 'POST', '/decide/{row}', { ...APPROVE, action_digest: 'sha256:other' }],
  ['a field that nobody knows', 'POST', '/decide/{row}', { ...APPROVE, wish: 1 }],
  ['a word that is no decision', 'POST', '/decide/{row}', { decision: 'allow' }],
  ['a reason that is too long', 'POST', '/decide/{row}', { ...APPROVE, reason: 'a'.repeat(1001) }],
  ['a reason that no store keeps', 'POST', '/decide/{row}', { ...APPROVE, reason: 'a\u0000b' }],
  ['a decision written twice', 'POST', '/decide/{row}', '{"decision":"approve","decision":"deny"}'],
  ['no JSON', 'POST', '/decide/{row}', '{"decision":'],
  ['no body', 'POST', '/decide/{row}', ''],
  ['another kind of body', 'POST', '/decide/{row}', 'approve', { 'content-type': 'text/xml' }],
  ['an identity in a header of old', 'POST', '/decide/{row}', APPROVE, { 'x-gate-decided-by': 'ceo' }],
  ['an id that nobody knows', 'POST', '/decide/{other}', APPROVE],
  ['an invalid id', 'POST', '/decide/1', APPROVE],
  ['a decision without a token', 'POST', '/decide/{row}', APPROVE, { authorization: '' }],
  ['a decision with a wrong token', 'POST', '/decide/{row}', APPROVE, { authorization: 'Bearer wrong' }],
  ['a bad decision with a wrong token', 'POST', '/decide/{row}', '{', { authorization: 'Bearer wrong' }],
  ['the list', 'GET', '/pending'],
  ['what waits, in the other word', 'GET', '/pending?status=parked'],
  ['what was decided', 'GET', '/pending?status=decided'],
  ['what was denied', 'GET', '/pending?status=denied'],
  ['everything, newest first', 'GET', '/pending?status=all&sort=newest'],
  ['one row', 'GET', '/pending?id={row}'],
  ['one row by its call', 'GET', '/pending?id={call}'],
  ['a row that nobody knows', 'GET', '/pending?id={other}'],
  ['rows of one agent', 'GET', '/pending?agent_id=nobody'],
  ['a page behind no row', 'GET', '/pending?before={other}'],
  ['a word that is no status', 'GET', '/pending?status=open'],
  ['an unknown order', 'GET', '/pending?sort=size'],
  ['a choice that there is not', 'GET', '/pending?zzz=1'],
  ['a row of none', 'GET', '/pending?limit=0'],
  ['more rows than a page holds', 'GET', '/pending?limit=1001'],
  ['the most that a page holds', 'GET', '/pending?limit=1000'],
  ['an invalid id, in the list', 'GET', '/pending?id=1'],
  ['the list with a wrong token', 'GET', '/pending', undefined, { authorization: 'Bearer wrong' }],
];

/** What a client can rely on: code and names of fields, of a list those of its rows. */
const shapeOf = (body: unknown): unknown =>
  Array.isArray(body)
    ? [...new Set(body.map((row) => JSON.stringify(shapeOf(row))))]
    : { error: (body as JsonObject)['error'], names: Object.keys(body as JsonObject).toSorted() };

describe('what operators ask is answered alike by both editions', () => {
  let editions: Edition[];
  beforeAll(async () => {
    editions = await Promise.all([full(), lite()]);
  }, 60_000);
  afterAll(async () => {
    for (const edition of editions) await edition.close();
  });

  const told = async (edition: Edition, [, method, path, body, headers]: Case) => {
    const { row, call } = await edition.park();
    const given = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...headers };
    const { authorization, 'content-type': type, ...others } = given;
    const { status, body: answer } = await edition.ask({
      method,
      path: path.replace('{row}', row).replace('{call}', call).replace('{other}', randomUUID()),
      headers: {
        ...others,
        ...(authorization && { authorization }),
        ...(method === 'POST' && { 'content-type': type }),
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status, ...(shapeOf(answer) as object) };
  };

  it.each(CASES.map((one) => [one[0], one] as const))('%s', async (_name, one) => {
    const [inFull, inLite] = await Promise.all(editions.map((edition) => told(edition, one)));
    expect(inLite).toEqual(inFull);
  });

  it.each([
    ['an approval by the id of its call', 200, undefined],
    ['a bad request id', 400, 'invalid_request'],
    ['modify without a diff', 400, 'modification_diff_required'],
    ['modify with no diff of the contract', 422, 'invalid_modification_diff'],
    ['a diff that belongs to nothing', 400, 'invalid_request'],
    ['a decision written twice', 400, 'invalid_request'],
    ['an identity in a header of old', 400, 'legacy_identity_header'],
    ['the digest of another action', 409, 'action_digest_mismatch'],
    ['an id that nobody knows', 404, 'not_found'],
    ['a bad decision with a wrong token', 401, 'unauthenticated'],
    ['more rows than a page holds', 400, 'invalid_request'],
  ] as const)('%s is %i %s', async (name, status, error) => {
    const one = CASES.find(([known]) => known === name) as Case;
    for (const edition of editions) expect(await told(edition, one)).toMatchObject({ status, ...(error && { error }) });
  });
});
