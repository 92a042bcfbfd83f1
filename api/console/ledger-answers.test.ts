import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fastify, { type FastifyRequest } from 'fastify';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import { verifyProofBundle } from '../../domain/ledger/tlog/proof-bundle.js';
import { type ConsoleOverLedger, consoleOverLedger, OPERATORS } from '../../test/support/console-over-ledger.js';
import { testRow } from '../../test/support/ledger.js';
import { eventually } from '../../test/support/waiting.js';
import { ledgerService, type TestLedgerService } from '../../test/support/ledger-service.js';
import type { ServiceApp } from '../plugins/app.js';
import { ASK_LIMITS } from './ask-limits.js';
import { answerLedger, type LedgerAnswersOptions } from './ledger-answers.js';

const CALL = '55555555-5555-4555-8555-555555555555';
const NOBODYS = '77777777-7777-4777-8777-777777777777';
const JSON_ASKED = { accept: 'application/json' };
const bearer = (at: 0 | 1) => ({ ...JSON_ASKED, authorization: `Bearer ${OPERATORS[at].token}` });

let gate: TestLedgerService;
let page: ConsoleOverLedger;
let now: number;
beforeEach(async () => {
  now = Date.now();
  const checkpoints = {
    origin: 'gate.test/ledger',
    privateKey: generateKeyPairSync('ed25519').privateKey,
    witnesses: [],
  };
  gate = await ledgerService('sqlite', { ledger: { checkpoints } });
  page = consoleOverLedger(
    () => gate,
    () => now,
  );
});
afterEach(async () => {
  await page.close();
  await gate.close();
});
const append = (...rows: Partial<NewLedgerRow>[]) => gate.ledger.append(rows.map((row) => testRow(row)));
const json = (text: string): unknown => JSON.parse(text);

describe('a thousand requests of one session', () => {
  it('are answered eight at a time, a hundred wait, the others are 429; nobody else waits', async () => {
    await append({});
    const real = gate;
    const going: (() => void)[] = [];
    let isHeld = true;
    let most = 0;
    let underWay = 0;
    gate = {
      ...real,
      async call(...asked: Parameters<typeof real.call>) {
        if (!asked[0].includes('tenant=acme')) return real.call(...asked);
        most = Math.max(most, (underWay += 1));
        if (isHeld) await new Promise<void>((resolve) => going.push(resolve));
        underWay -= 1;
        return { status: 200, headers: {}, body: [], bytes: Buffer.from('[]') };
      },
    } as TestLedgerService;
    const ask = (as: 'acme' | 'globex' = 'acme') =>
      page.get(`/api/audit/correlation/${CALL}`, { as, headers: JSON_ASKED });
    try {
      const all = Array.from({ length: 1_000 }, () => ask());
      await eventually('eight are under way', () => going.length === 8);
      const away = await Promise.all(all.slice(108));
      expect(new Set(away.map(({ status, headers }) => `${status} ${String(headers['retry-after'])}`))).toEqual(
        new Set(['429 5']),
      );
      expect((await ask('globex')).status).toBe(200);
      isHeld = false;
      for (const go of going.splice(0)) go();
      expect(new Set((await Promise.all(all.slice(0, 108))).map(({ status }) => status))).toEqual(new Set([200]));
      expect(most).toBe(8);
    } finally {
      isHeld = false;
      for (const go of going) go();
      gate = real;
    }
  });
});

describe('a file', () => {
  it('is refused where its address has a name that is unknown, or one twice', async () => {
    const paths = [
      '/audit/export?as=csv&as=json',
      `/audit/correlation/${CALL}/proof?seq=1&seq=2`,
      `/audit/correlation/${CALL}/proof?seq=1&row=2`,
      `/cases/${CALL}/export?evidence=none`,
      `/cases/${CALL}/report?from=2026-01-01`,
      `/stops/reports/${CALL}?agent=x`,
    ];
    for (const path of paths) {
      const { status, text } = await page.get(path, { headers: JSON_ASKED });
      expect([path, status, json(text)]).toEqual([path, 400, expect.objectContaining({ error: 'invalid_request' })]);
    }
  });
});

describe('wrong tokens', () => {
  it('are answered ten times, then 429; a good one is answered all the same', async () => {
    await append({ correlation_id: CALL });
    const path = `/api/audit/correlation/${CALL}`;
    const wrong = { ...JSON_ASKED, authorization: 'Bearer nobody' };
    const answers: number[] = [];
    for (let at = 0; at < 12; at += 1) answers.push((await page.get(path, { headers: wrong })).status);
    expect(answers).toEqual([...Array<number>(10).fill(401), 429, 429]);
    expect((await page.get(path, { headers: bearer(0) })).status).toBe(200);
  });
});

describe('exports at once', () => {
  it('are two of one person, and one more when one of them has left; nobody else waits', async () => {
    await append({}, { tenant: 'globex' });
    const real = gate;
    let isHeld = true;
    const going: (() => void)[] = [];
    gate = {
      ...real,
      async call(...asked: Parameters<typeof real.call>) {
        if (isHeld && asked[0].startsWith('GET /audit/') && asked[0].includes('tenant=acme'))
          await new Promise<void>((resolve) => going.push(resolve));
        return real.call(...asked);
      },
    } as TestLedgerService;
    try {
      const two = [page.get('/audit/export'), page.get('/audit/export')];
      await eventually('two are written', () => going.length === 2);
      const third = await page.get('/audit/export', { headers: JSON_ASKED });
      expect([third.status, third.headers['retry-after']]).toEqual([429, '10']);
      expect(json(third.text)).toMatchObject({ error: 'rate_limited' });
      expect((await page.get('/audit/export', { as: 'globex' })).status).toBe(200);
      going.shift()?.();
      await Promise.race(two);
      isHeld = false;
      expect((await page.get('/audit/export')).status).toBe(200);
      going.shift()?.();
      expect((await Promise.all(two)).map(({ status }) => status)).toEqual([200, 200]);
    } finally {
      for (const go of going) go();
      gate = real;
    }
  });
});

describe('exports whose readers left while their session was looked up', () => {
  it('hold no place, and nothing is read for them', async () => {
    let isLeaving = true;
    let come = 0;
    let gone = 0;
    const who = { person: { subject: 'oidc:ann', tenant: 'acme' }, proof: {}, session: { id: 'a' } };
    let read = 0;
    const rows = () => {
      read += 1;
      return Promise.resolve([]);
    };
    const app = fastify({ forceCloseConnections: true });
    app.setErrorHandler((error: Error & { code?: string }, _request, reply) =>
      reply.code(error.code === 'rate_limited' ? 429 : 500).send({}),
    );
    answerLedger(
      app as unknown as ServiceApp,
      {
        async entered(request: FastifyRequest) {
          come += 1;
          if (isLeaving) await once(request.raw.socket, 'close');
          gone += isLeaving ? 1 : 0;
          return who;
        },
        stands: () => Promise.resolve(true),
        bearerOf: () => null,
        services: () => ({ ledger: { rows } }),
        ledger: new Promise(() => undefined),
        limits: ASK_LIMITS,
        clock: () => now,
      } as unknown as LedgerAnswersOptions,
    );
    await app.listen({ host: '127.0.0.1', port: 0 });
    try {
      const { port } = app.server.address() as AddressInfo;
      const asked = [1, 2].map(() =>
        get({ host: '127.0.0.1', port, path: '/audit/export', agent: false }).on('error', () => undefined),
      );
      await eventually('both came', () => come === 2);
      for (const request of asked) request.destroy();
      await eventually('both are gone', () => gone === 2);
      isLeaving = false;
      for (let again = 0; again < 3; again += 1) expect((await app.inject('/audit/export')).statusCode).toBe(200);
      expect(read).toBe(3);
    } finally {
      await app.close();
    }
  });
});

describe('the audit replay: GET /api/audit/correlation/{id}', () => {
  beforeEach(() =>
    append(
      {},
      { correlation_id: NOBODYS, tenant: 'globex' },
      { method: 'upstream.outcome', event_kind: 'upstream.outcome' },
    ),
  );
  const replay = (id: string, options: Parameters<ConsoleOverLedger['get']>[1]) =>
    page.get(`/api/audit/correlation/${id}`, options);

  it.each([
    ['a session', { headers: JSON_ASKED }],
    ['an operator token', { as: null, headers: bearer(0) }],
  ] as const)('gives all rows in order to %s', async (_who, options) => {
    const { status, text } = await replay(CALL, options);
    expect(status).toBe(200);
    expect(json(text)).toMatchObject([
      { seq: 1, method: 'proxy.verdict' },
      { seq: 3, method: 'upstream.outcome' },
    ]);
  });

  it("is empty for an unknown id, for what is no id, and for another tenant's call", async () => {
    for (const id of ['88888888-8888-4888-8888-888888888888', 'x', NOBODYS]) {
      const { status, text } = await replay(id, { as: null, headers: bearer(0) });
      expect([status, json(text)]).toEqual([200, []]);
    }
    expect(json((await replay(CALL, { as: null, headers: bearer(1) })).text)).toEqual([]);
    expect(json((await replay(NOBODYS, { as: null, headers: bearer(1) })).text)).toMatchObject([{ seq: 2 }]);
  });

  it('is 401 for nobody, and for a wrong token even beside a session', async () => {
    expect((await replay(CALL, { as: null, headers: JSON_ASKED })).status).toBe(401);
    for (const authorization of ['Bearer wrong', `Basic ${OPERATORS[0].token}`, OPERATORS[0].token, ''])
      expect((await replay(CALL, { headers: { ...JSON_ASKED, authorization } })).status).toBe(401);
  });

  it('is 503 with its code where the ledger is away', async () => {
    page.ledgerIsAway = true;
    const { status, text } = await replay(CALL, { headers: JSON_ASKED });
    expect([status, json(text)]).toMatchObject([503, { error: 'console_neighbour_away' }]);
  });
});

describe('the proof of a row', () => {
  beforeEach(() => append({}, { correlation_id: NOBODYS, tenant: 'globex' }));
  const proof = (cid: string, seq: string, as: 'acme' | 'globex' | null = 'acme') =>
    page.get(`/audit/correlation/${cid}/proof?seq=${seq}`, { as, headers: JSON_ASKED });

  it('is a file that is checked without Gate', async () => {
    const { status, headers, text } = await proof(CALL, '1');
    expect([status, headers['content-disposition']]).toEqual([200, 'attachment; filename="gate-proof-1.json"']);
    expect(verifyProofBundle(json(text))).toMatchObject({ valid: true });
  });

  it('is refused for a row of another call or tenant, for none, and for nobody', async () => {
    for (const [cid, seq] of [
      [CALL, '2'],
      [NOBODYS, '2'],
      [NOBODYS, '1'],
      [CALL, '9'],
      [CALL, '0'],
      [CALL, 'x'],
      [CALL, ''],
    ] as const)
      expect([cid, seq, (await proof(cid, seq)).status]).toEqual([cid, seq, 404]);
    expect((await proof(NOBODYS, '2', 'globex')).status).toBe(200);
    expect((await proof(CALL, '1', null)).status).toBe(401);
    page.ledgerIsAway = true;
    expect((await proof(CALL, '1')).status).toBe(503);
  });
});

describe('the export of what the audit page shows', () => {
  const lines = async (address: string) =>
    (await page.get(address)).text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { seq?: number; export?: string; rows?: number });

  it('has the rows of the same address as JSON lines, newest first, and says that they are all', async () => {
    await append({}, { agent_id: 'b-1', tool_name: 'x' }, { tenant: 'globex' }, { agent_id: 'b-2' });
    expect((await lines('/audit/export')).map(({ seq }) => seq)).toEqual([4, 2, 1, undefined]);
    expect(await lines('/audit/export?agent=B-*&tool=x')).toEqual([
      expect.objectContaining({ seq: 2 }),
      { export: 'complete', rows: 1 },
    ]);
    expect(await lines('/audit/export?before=2')).toMatchObject([{ seq: 1 }, { export: 'complete' }]);
  });

  it('asks the ledger for a page at a time', async () => {
    await append(...Array.from({ length: 501 }, () => ({})));
    const found = await lines('/audit/export');
    expect([found.length, found.at(-1)]).toEqual([502, { export: 'complete', rows: 501 }]);
    expect(page.asked.filter((path) => path.startsWith('/audit/'))).toEqual([
      '/audit/agent/rows?tenant=acme&agent_id=*&limit=500',
      '/audit/agent/rows?tenant=acme&agent_id=*&limit=500&before=2',
    ]);
  });

  it('is refused for nobody, with an invalid window or format, and without the ledger', async () => {
    const status = async (path: string, as: 'acme' | null = 'acme') =>
      (await page.get(path, { as, headers: JSON_ASKED })).status;
    expect(await status('/audit/export', null)).toBe(401);
    expect(await status('/audit/export?from=yesterday')).toBe(400);
    for (const as of ['xml', 'CSV', 'json']) expect([as, await status(`/audit/export?as=${as}`)]).toEqual([as, 400]);
    expect(await status('/audit/export?as=')).toBe(200);
    page.ledgerIsAway = true;
    expect(await status('/audit/export')).toBe(503);
  });
});

describe('the stream of rows', () => {
  it("is the ledger's, of the person's tenant alone, and ends with it", async () => {
    page.streamed = (async function* () {
      yield Buffer.from('event: entry\nid: 1\ndata: {}\n\n');
    })();
    const { status, headers, text } = await page.get('/stream/audit', { headers: { 'last-event-id': '0' } });
    expect([status, headers['content-type'], text]).toEqual([
      200,
      'text/event-stream',
      'event: entry\nid: 1\ndata: {}\n\n',
    ]);
    expect(page.asked).toEqual(['/stream/audit?tenant=acme']);
    expect(page.streamsAsked).toEqual([expect.objectContaining({ 'last-event-id': '0' })]);
  });

  it.each([
    ['none is sent', {}],
    ['it is empty', { 'last-event-id': '' }],
  ])('begins anew where no last event is named: %s', async (_, headers) => {
    page.streamed = (async function* () {})();
    expect((await page.get('/stream/audit', { headers })).status).toBe(200);
    expect(page.streamsAsked).toEqual([expect.not.objectContaining({ 'last-event-id': expect.anything() })]);
  });

  it('is 401 for nobody, 503 without the ledger', async () => {
    expect((await page.get('/stream/audit', { as: null, headers: JSON_ASKED })).status).toBe(401);
    expect((await page.get('/stream/audit', { headers: JSON_ASKED })).status).toBe(503);
  });
});

describe('the status of the chain', () => {
  it('is what one walk of all rows found, for everybody, until it is five minutes old', async () => {
    await append({}, {});
    const ask = async () => json((await page.get('/api/chain-status', { headers: JSON_ASKED })).text);
    const first = await ask();
    expect(first).toMatchObject({
      valid: true,
      length: 2,
      checked_at: expect.any(String),
      checkpoint: { origin: 'gate.test/ledger', size: 2, witnesses: [] },
    });
    await append({});
    expect(await ask()).toEqual(first);
    expect(page.asked.filter((path) => path.startsWith('/verify'))).toEqual(['/verify']);
    now += 300_000;
    expect(await ask()).toMatchObject({ valid: true, length: 3 });
  });

  it('is told as not known yet while the first walk goes on, and as no fault', async () => {
    const real = gate;
    let goes: () => void = () => undefined;
    const walked = new Promise<void>((resolve) => (goes = resolve));
    gate = {
      ...real,
      async call(...asked: Parameters<typeof real.call>) {
        if (asked[0].startsWith('GET /verify')) await walked;
        return real.call(...asked);
      },
    } as TestLedgerService;
    try {
      const { status, headers, text } = await page.get('/api/chain-status', { headers: JSON_ASKED });
      expect([status, headers['retry-after'], json(text)]).toMatchObject([409, '5', { error: 'chain_walk_under_way' }]);
      expect((await page.get('/health-of-services')).status).toBe(200);
    } finally {
      goes();
      gate = real;
    }
    const known = () => page.get('/api/chain-status', { headers: JSON_ASKED });
    await eventually('it is known', async () => (await known()).status === 200);
  });

  it('is 401 for nobody, 503 without the ledger, and asked again then', async () => {
    const status = async (as: 'acme' | null) =>
      (await page.get('/api/chain-status', { as, headers: JSON_ASKED })).status;
    expect(await status(null)).toBe(401);
    page.ledgerIsAway = true;
    expect(await status('acme')).toBe(503);
    page.ledgerIsAway = false;
    expect(await status('acme')).toBe(200);
  });
});
