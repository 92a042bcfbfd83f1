import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { IncidentCase } from '../../../contracts/cases.js';
import { fixture } from '../../../test/support/fixture.js';
import { STORES, testRow } from '../../../test/support/ledger.js';
import { ledgerService, type TestLedgerService } from '../../../test/support/ledger-service.js';

const AT = Date.parse('2026-01-02T03:04:05.006Z');
const NOWHERE = '/cases/99999999-9999-4999-8999-999999999999';

describe.each(STORES)('cases on %s', (kind) => {
  let gate: TestLedgerService;
  let now = AT;
  // Where each test opens a case of its own and looks at that one, they share the ledger.
  const { sharedHere } = fixture(
    async () => (gate = await ledgerService(kind, { ledger: { clock: () => now } })),
    () => gate.close(),
  );
  beforeEach(() => {
    now = AT;
  });

  const opened = async (change: Record<string, unknown> = {}) =>
    (await gate.call<IncidentCase>('POST /cases', { title: 'a case', agent_ids: [], correlation_ids: [], ...change }))
      .body;
  const read = async (id: string) =>
    (await gate.call<{ case: IncidentCase; evidence: { seq: number }[] }>(`GET /cases/${id}`)).body;

  describe('POST /cases', () => {
    sharedHere();
    it('opens a case: 201, its ids once each, and the first line of its timeline', async () => {
      const answer = await gate.call<IncidentCase>('POST /cases', {
        title: 'refunds at night',
        agent_ids: ['b', 'a', 'b'],
        correlation_ids: ['c'],
        actor: 'operator:dev',
      });
      expect(answer.status).toBe(201);
      expect(answer.body).toEqual({
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        title: 'refunds at night',
        status: 'open',
        created_at: '2026-01-02T03:04:05.006Z',
        updated_at: '2026-01-02T03:04:05.006Z',
        agent_ids: ['a', 'b'],
        correlation_ids: ['c'],
        timeline: [{ at: '2026-01-02T03:04:05.006Z', kind: 'opened', actor: 'operator:dev', detail: '' }],
      });
      expect((await read(answer.body.id)).case).toEqual(answer.body);
    });

    it('opens one case of what is sent again under its request id, and others of anything else', async () => {
      const request_id = randomUUID();
      const first = await opened({ request_id, actor: 'operator:dev', agent_ids: ['a', 'b'] });
      await gate.call(`POST /cases/${first.id}/status`, { status: 'contained', actor: 'operator:dev' });
      const again = await Promise.all(
        [1, 2].map(() => opened({ request_id, actor: 'operator:dev', agent_ids: ['b', 'a'] })),
      );
      expect(again).toEqual([(await read(first.id)).case, (await read(first.id)).case]);
      expect(again[0]?.status).toBe('contained');
      const once = randomUUID();
      const [one, other] = await Promise.all([1, 2].map(() => opened({ request_id: once })));
      expect(one?.id).toBe(other?.id);
      const others = [
        await opened({ request_id, actor: 'operator:dev', agent_ids: ['a', 'b'], title: 'another' }),
        await opened({ request_id, actor: 'operator:second', agent_ids: ['a', 'b'] }),
        await opened({ request_id: randomUUID(), actor: 'operator:dev', agent_ids: ['a', 'b'] }),
        (
          await gate.call<IncidentCase>('POST /cases?tenant=globex', {
            request_id,
            actor: 'operator:dev',
            title: 'a case',
            agent_ids: ['a', 'b'],
            correlation_ids: [],
          })
        ).body,
      ];
      expect(new Set([first, ...others].map(({ id }) => id)).size).toBe(5);
    });

    it('names the calling service where nobody else is named', async () => {
      expect((await opened()).timeline[0]?.actor).toBe('service-console');
    });

    it.each([
      ['no title', { title: '' }],
      ['a title of 201 characters', { title: 'x'.repeat(201) }],
      ['no list of agents', { agent_ids: undefined }],
      ['1,001 agents', { agent_ids: Array.from({ length: 1001 }, (_, index) => `a${index}`) }],
      ['an empty correlation id', { correlation_ids: [''] }],
    ])('refuses %s', async (_, change) => {
      const body = { title: 'x', agent_ids: [], correlation_ids: [], ...change };
      expect(await gate.call('POST /cases', body)).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    });
  });

  describe('GET /cases and GET /cases/{id}', () => {
    it('lists the newest first, by status, up to the limit', async () => {
      const ids: string[] = [];
      for (const title of ['one', 'two', 'three']) {
        ids.unshift((await opened({ title })).id);
        now += 1000;
      }
      await gate.call(`POST /cases/${ids[1]}/status`, { status: 'closed' });
      const list = async (query = '') =>
        (await gate.call<IncidentCase[]>(`GET /cases${query}`)).body.map(({ id }) => id);
      expect(await list()).toEqual(ids);
      expect(await list('?limit=2')).toEqual(ids.slice(0, 2));
      expect(await list('?status=closed')).toEqual([ids[1]]);
      expect(await list('?status=contained')).toEqual([]);
      for (const query of ['?status=gone', '?limit=0', '?limit=1001'])
        expect((await gate.call(`GET /cases${query}`)).status).toBe(400);
    });

    it('shows the rows of every agent and call once, newest first, and no hidden one', async () => {
      await gate.ledger.append([
        testRow({ agent_id: 'a', correlation_id: 'c' }),
        testRow({ agent_id: 'b', correlation_id: 'c' }),
        testRow({ agent_id: 'b', correlation_id: 'd' }),
        testRow({ agent_id: 'a', correlation_id: 'd', tenant: 'gone' }),
      ]);
      await gate.ledger.erasure.tombstoneTenant('gone');
      const { id } = await opened({ agent_ids: ['a'], correlation_ids: ['c'] });
      expect((await read(id)).evidence.map(({ seq }) => seq)).toEqual([2, 1]);
      expect((await read((await opened()).id)).evidence).toEqual([]);
    });

    it('shows 500 rows at most', async () => {
      await gate.ledger.append(Array.from({ length: 501 }, () => testRow()));
      const { evidence } = await read((await opened({ agent_ids: ['agent-a'] })).id);
      expect([evidence.length, evidence[0]?.seq, evidence.at(-1)?.seq]).toEqual([500, 501, 2]);
    });

    it('shows the newest of all agents and calls together, whichever of them has more', async () => {
      const rows = (agent_id: string, count: number) =>
        gate.ledger.append(
          Array.from({ length: count }, () => testRow({ agent_id, correlation_id: `call-${agent_id}` })),
        );
      await rows('a', 300);
      await rows('b', 300);
      await rows('c', 10);
      const { evidence } = await read(
        (await opened({ agent_ids: ['b', 'a'], correlation_ids: ['call-c', 'call-b'] })).id,
      );
      expect(evidence.map(({ seq }) => seq)).toEqual(Array.from({ length: 500 }, (_, index) => 610 - index));
    });

    it('is 404 case_not_found for an unknown id', async () => {
      expect(await gate.call(`GET ${NOWHERE}`)).toMatchObject({ status: 404, body: { error: 'case_not_found' } });
    });
  });

  describe('POST /cases/{id}/timeline', () => {
    sharedHere();

    it('adds once what is sent again under its request id, also at once, and anything else beside it', async () => {
      const { id } = await opened();
      const note = { at: '2026-01-02T03:04:05Z', kind: 'note', actor: 'operator:dev', detail: 'spoke to the owner' };
      const request_id = randomUUID();
      const add = (over = {}) => gate.call(`POST /cases/${id}/timeline`, { ...note, request_id, ...over });
      const later = { at: '2026-01-02T03:05:05Z' };
      const sent = await Promise.all([add(), add(later), add(later)]);
      expect(sent.map(({ status }) => status)).toEqual([204, 204, 204]);
      await add({ detail: 'and to the bank' });
      await add({ request_id: randomUUID() });
      await add({ request_id: undefined });
      const { timeline } = (await read(id)).case;
      expect(timeline.map(({ detail }) => detail)).toEqual([
        '',
        'spoke to the owner',
        'and to the bank',
        'spoke to the owner',
        'spoke to the owner',
      ]);
    });
    it('adds a line, its time in the form of the chain', async () => {
      const { id } = await opened();
      const line = { at: '2026-01-02T01:00:00+01:00', kind: 'call', actor: 'dev', detail: 'spoke to the owner' };
      expect((await gate.call(`POST /cases/${id}/timeline`, line)).status).toBe(204);
      expect((await read(id)).case.timeline[1]).toEqual({ ...line, at: '2026-01-02T00:00:00.000Z' });
    });

    it.each([
      ['a kind of 65 characters', { kind: 'x'.repeat(65) }],
      ['a detail of 2,001 characters', { detail: 'x'.repeat(2001) }],
      ['an invalid time', { at: 'yesterday' }],
      ['nobody as actor', { actor: '' }],
    ])('refuses %s', async (_, change) => {
      const { id } = await opened();
      const line = { at: '2026-01-02T01:00:00Z', kind: 'call', actor: 'dev', detail: '', ...change };
      expect((await gate.call(`POST /cases/${id}/timeline`, line)).status).toBe(400);
      expect((await read(id)).case.timeline).toHaveLength(1);
    });

    it('keeps every line that is written at the same moment', async () => {
      const { id } = await opened();
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          gate.call(`POST /cases/${id}/timeline`, {
            at: '2026-01-02T01:00:00Z',
            kind: `k${index}`,
            actor: 'a',
            detail: '',
          }),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 204));
      expect(new Set((await read(id)).case.timeline.map((line) => line.kind)).size).toBe(9);
    });
  });

  describe('POST /cases/{id}/status', () => {
    sharedHere();
    it('moves between any two, once per move', async () => {
      const { id } = await opened();
      for (const status of ['contained', 'contained', 'closed', 'open'])
        expect((await gate.call(`POST /cases/${id}/status`, { status, actor: 'dev' })).status).toBe(204);
      const { timeline, status } = (await read(id)).case;
      expect(status).toBe('open');
      expect(timeline.slice(1).map(({ kind: what, actor, detail }) => [what, actor, detail])).toEqual([
        ['status_changed', 'dev', 'open to contained'],
        ['status_changed', 'dev', 'contained to closed'],
        ['status_changed', 'dev', 'closed to open'],
      ]);
    });

    it('refuses another word with invalid_status', async () => {
      const { id } = await opened();
      expect(await gate.call(`POST /cases/${id}/status`, { status: 'done' })).toMatchObject({
        status: 400,
        body: { error: 'invalid_status' },
      });
    });
  });

  describe('POST /cases/{id}/classify', () => {
    sharedHere();
    it.each([
      ['serious', '2026-01-17T03:04:05.006Z'],
      ['death', '2026-01-12T03:04:05.006Z'],
      ['critical_infra', '2026-01-04T03:04:05.006Z'],
    ])('%s must be reported by %s', async (severity, regulatory_deadline) => {
      const { id } = await opened();
      const answer = await gate.call(`POST /cases/${id}/classify`, { severity });
      expect([answer.status, answer.body]).toEqual([200, { severity, regulatory_deadline }]);
      expect((await read(id)).case).toMatchObject({
        severity,
        regulatory_deadline,
        timeline: [{ kind: 'opened' }, { kind: 'classified' }],
      });
    });

    it('replaces what was said before', async () => {
      const { id } = await opened();
      await gate.call(`POST /cases/${id}/classify`, { severity: 'serious' });
      now += 3_600_000;
      await gate.call(`POST /cases/${id}/classify`, { severity: 'death' });
      expect((await read(id)).case).toMatchObject({
        severity: 'death',
        regulatory_deadline: '2026-01-12T04:04:05.006Z',
        updated_at: '2026-01-02T04:04:05.006Z',
      });
    });

    it('refuses another word with invalid_severity', async () => {
      const { id } = await opened();
      expect(await gate.call(`POST /cases/${id}/classify`, { severity: 'minor' })).toMatchObject({
        status: 400,
        body: { error: 'invalid_severity' },
      });
    });
  });

  describe('POST /cases/{id}/attach', () => {
    sharedHere();
    it('adds what is not there yet', async () => {
      const { id } = await opened({ agent_ids: ['a'] });
      const more = { agent_ids: ['b', 'a'], correlation_ids: ['c'] };
      for (let round = 0; round < 2; round++)
        expect((await gate.call(`POST /cases/${id}/attach`, more)).status).toBe(204);
      const { agent_ids, correlation_ids, timeline } = (await read(id)).case;
      expect([agent_ids, correlation_ids]).toEqual([['a', 'b'], ['c']]);
      expect(timeline.map(({ kind: what, detail }) => [what, detail])).toEqual([
        ['opened', ''],
        ['attached', '1 agents, 1 calls'],
        ['attached', '0 agents, 0 calls'],
      ]);
    });

    it('refuses more than 1,000 agents in all and changes nothing', async () => {
      const many = (name: string) => Array.from({ length: 600 }, (_, index) => `${name}${index}`);
      const { id } = await opened({ agent_ids: many('a') });
      const answer = await gate.call(`POST /cases/${id}/attach`, { agent_ids: many('b'), correlation_ids: [] });
      expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
      expect((await read(id)).case.agent_ids).toHaveLength(600);
    });
  });

  it('is 404 for an unknown case on every route', async () => {
    for (const [path, body] of [
      ['timeline', { at: '2026-01-02T01:00:00Z', kind: 'k', actor: 'a', detail: '' }],
      ['status', { status: 'closed' }],
      ['classify', { severity: 'death' }],
      ['attach', { agent_ids: [], correlation_ids: [] }],
    ] as const)
      expect(await gate.call(`POST ${NOWHERE}/${path}`, body)).toMatchObject({
        status: 404,
        body: { error: 'case_not_found' },
      });
  });

  describe('with a tenant', () => {
    const open = async (tenant: string | null, change = {}) =>
      (
        await gate.call<IncidentCase>(`POST /cases${tenant === null ? '' : `?tenant=${tenant}`}`, {
          title: `of ${tenant}`,
          agent_ids: ['bot'],
          correlation_ids: [],
          ...change,
        })
      ).body;

    it('a case is of that tenant, and found by it alone', async () => {
      const [acme, globex, before] = [await open('acme'), await open('globex'), await open(null)];
      expect([acme.tenant, before.tenant]).toEqual(['acme', undefined]);
      const list = async (query: string) =>
        (await gate.call<IncidentCase[]>(`GET /cases${query}`)).body.map(({ id }) => id).toSorted();
      expect(await list('?tenant=acme')).toEqual([acme.id]);
      expect(await list('?tenant=initech')).toEqual([]);
      // Who speaks of no tenant sees all, also what is from before cases had one.
      expect(await list('')).toEqual([acme.id, globex.id, before.id].toSorted());
      expect((await gate.call(`GET /cases/${acme.id}?tenant=acme`)).status).toBe(200);
    });

    it('a case shows the rows of its tenant alone, whoever asks', async () => {
      await gate.ledger.append([
        testRow({ agent_id: 'bot', tenant: 'acme' }),
        testRow({ agent_id: 'bot', tenant: 'globex', correlation_id: 'c' }),
      ]);
      const { id } = await open('acme', { correlation_ids: ['c'] });
      for (const query of ['', '?tenant=acme'])
        expect((await gate.call(`GET /cases/${id}${query}`)).body).toMatchObject({ evidence: [{ seq: 1 }] });
      expect((await read((await open(null)).id)).evidence.map(({ seq }) => seq)).toEqual([2, 1]);
    });

    describe('refused', () => {
      sharedHere();
      it.each([
        ['GET', '', undefined],
        ['POST', '/timeline', { at: '2026-01-02T01:00:00Z', kind: 'k', actor: 'a', detail: '' }],
        ['POST', '/status', { status: 'closed' }],
        ['POST', '/classify', { severity: 'death' }],
        ['POST', '/attach', { agent_ids: ['x'], correlation_ids: [] }],
      ] as const)(
        '%s /cases/{id}%s of another tenant, or of none, is 404 and changes nothing',
        async (method, path, body) => {
          for (const { id } of [await open('globex'), await open(null)]) {
            expect(await gate.call(`${method} /cases/${id}${path}?tenant=acme`, body)).toMatchObject({
              status: 404,
              body: { error: 'case_not_found' },
            });
            expect((await read(id)).case).toMatchObject({
              status: 'open',
              agent_ids: ['bot'],
              timeline: [{ kind: 'opened' }],
            });
          }
          expect(await gate.ledger.cases.notifyAuthority({ post: () => Promise.resolve(), intervalMs: 1_000 })).toEqual(
            {
              delivered: 0,
              failed: 0,
            },
          );
        },
      );

      it.each(['', 'a b', '../x'])('an invalid tenant is refused: %j', async (tenant) => {
        expect((await gate.call(`GET /cases?tenant=${encodeURIComponent(tenant)}`)).status).toBe(400);
      });
    });
  });

  it('is for console and deep review, changes no chain, and is 503 while the store is gone', async () => {
    for (const as of ['service-console', 'service-deep-review'])
      expect((await gate.call('POST /cases', { title: 'x', agent_ids: [], correlation_ids: [] }, { as })).status).toBe(
        201,
      );
    for (const as of ['service-proxy', 'service-hil', 'agent-workload'])
      for (const route of ['GET /cases', `GET ${NOWHERE}`, 'POST /cases', `POST ${NOWHERE}/status`])
        expect((await gate.call(route, undefined, { as })).status).toBe(403);
    expect(await gate.ledger.head()).toMatchObject({ length: 0 });
    await gate.ledger.close();
    expect((await gate.call('GET /cases')).body).toMatchObject({ error: 'ledger_store_unavailable' });
  });

  describe('the silence allowlist', () => {
    const entry = { agent_id: 'team/night-bot', reason: 'runs at month end', source: 'console' };

    it('takes an agent once: 201, then 200 with the entry as it was', async () => {
      const made = { ...entry, created_at: '2026-01-02T03:04:05.006Z', created_by: 'service-console' };
      expect(await gate.call('POST /silence-allowlist', entry)).toMatchObject({ status: 201, body: made });
      now += 1000;
      expect(await gate.call('POST /silence-allowlist', { ...entry, reason: 'another' })).toMatchObject({
        status: 200,
        body: made,
      });
      expect((await gate.call('GET /silence-allowlist')).body).toEqual({ entries: [made] });
    });

    it('lets an agent go: 204, then 404', async () => {
      await gate.call('POST /silence-allowlist', entry);
      expect((await gate.call('DELETE /silence-allowlist/team%2Fnight-bot')).status).toBe(204);
      expect(await gate.call('DELETE /silence-allowlist/team%2Fnight-bot')).toMatchObject({
        status: 404,
        body: { error: 'not_found' },
      });
      expect((await gate.call('GET /silence-allowlist')).body).toEqual({ entries: [] });
    });

    it('refuses an agent without a name, and anybody but the console; deep review may read', async () => {
      expect((await gate.call('POST /silence-allowlist', { ...entry, agent_id: '' })).status).toBe(400);
      expect((await gate.call('POST /silence-allowlist', { agent_id: 'a' })).status).toBe(400);
      for (const field of ['agent_id', 'reason', 'source'])
        expect((await gate.call('POST /silence-allowlist', { ...entry, [field]: 'a\0b' })).status).toBe(400);
      const as = 'service-deep-review';
      expect((await gate.call('GET /silence-allowlist', undefined, { as })).status).toBe(200);
      expect((await gate.call('POST /silence-allowlist', entry, { as })).status).toBe(403);
      expect((await gate.call('DELETE /silence-allowlist/a', undefined, { as })).status).toBe(403);
      expect((await gate.call('GET /silence-allowlist', undefined, { as: 'service-proxy' })).status).toBe(403);
    });
  });
});
