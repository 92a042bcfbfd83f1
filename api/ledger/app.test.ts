import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { sha256Hex, uuidFromDigest } from '../../domain/crypto/digest.js';
import { type EvidencedLedger, openEvidencedLedger } from '../../test/support/evidenced-ledger.js';
import { ledgerPlace, type TestLedgerPlace, testRow } from '../../test/support/ledger.js';
import type { Caller } from '../plugins/app.js';
import type { Service } from '../plugins/service.js';
import { createLedgerService } from './app.js';

const id = (name: string) => uuidFromDigest('test', name);
const as = (callerId: string | null) => ({ 'x-test-caller': callerId ?? '' });
const PROXY = as('service-proxy');

let place: TestLedgerPlace;
let ledger: EvidencedLedger;
let service: Service;
let registry: Registry;

beforeEach(async () => {
  place = await ledgerPlace('sqlite');
  ledger = await openEvidencedLedger({ target: place.target, sidecarKeys: place.keys });
  registry = new Registry();
  service = createLedgerService({
    ledger,
    evidence: ledger,
    logger: pino({ level: 'silent' }),
    registry,
    trustDomain: 'gate.local',
    resolveCaller(request): Caller | null {
      const callerId = request.headers['x-test-caller'];
      if (typeof callerId !== 'string' || callerId === '') return null;
      const kind = callerId === 'agent-workload' ? 'agent' : 'service';
      return { kind, callerId, spiffe: 'spiffe://gate.local/service/test', fingerprint: 'ab'.repeat(32) };
    },
  });
});
afterEach(async () => {
  await service.close();
  await ledger.close();
  await place.remove();
});

const post = async (path: string, payload: unknown, headers: Record<string, string> = PROXY) => {
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
  const response = await service.app.inject({
    method: 'POST',
    url: path,
    headers: { 'content-type': 'application/json', ...headers },
    payload: text,
  });
  return { status: response.statusCode, body: response.json<Record<string, unknown>>() };
};
const get = async (url: string, headers: Record<string, string> = as('service-console')) => {
  const response = await service.app.inject({ method: 'GET', url, headers });
  return { status: response.statusCode, body: response.json<unknown>() };
};

describe('POST /log', () => {
  it('appends a row with the required fields only: 201 and where it stands', async () => {
    const { status, body } = await post('/log', {
      agent_id: 'agent-a',
      method: 'proxy.verdict',
      intent_category: 'Direct Execution',
      authorized: true,
      reasoning: '',
      policy_decision: null,
      state_namespace: 'operator',
      a_property_nobody_knows: 1,
    });
    expect(status).toBe(201);
    expect(body).toEqual({
      status: 'created',
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      seq: 1,
      entry_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      chain_version: 6,
    });
  });

  it('answers the very same row with 200 and `retained`', async () => {
    const created = await post('/log', testRow({ id: id('a') }));
    const again = await post('/log', testRow({ id: id('a') }));
    expect(again).toEqual({ status: 200, body: { ...created.body, status: 'retained' } });
  });

  it('answers another row under a known id with 409, the id, and appends nothing of it', async () => {
    await post('/log', testRow({ id: id('a') }));
    const { status, body } = await post('/log', testRow({ id: id('a'), authorized: false }));
    expect([status, body['error'], body['id']]).toEqual([409, 'ledger_entry_conflict', id('a')]);
    expect(await ledger.get(id('a'))).toMatchObject({ authorized: true });
  });

  it.each([
    ['a missing field', { ...testRow(), method: undefined }, 'method'],
    ['a field of the wrong type', { ...testRow(), authorized: 'yes' }, 'authorized'],
    ['a namespace that is neither', { ...testRow(), state_namespace: 'other' }, 'state_namespace'],
    ['a policy_decision that was left out', { ...testRow(), policy_decision: undefined }, 'policy_decision'],
    ['a value over its bound', testRow({ reasoning: 'x'.repeat(8193) }), 'reasoning'],
    ['a list for a body', [], 'row'],
    ['text for a body', '"row"', 'row'],
    ['a body that is no JSON', '{"agent_id":', 'body'],
    ['no body at all', '', 'body'],
    ['a key written twice', '{"agent_id":"a","agent_id":"b"}', 'body'],
    ['an integer that JavaScript rounds', '{"policy_decision":{"a":9007199254740993}}', 'body'],
    ['a lone surrogate', '{"reasoning":"\\ud800"}', 'body'],
    ['U+0000', '{"reasoning":"\\u0000"}', 'body'],
    ['a body nested beyond reason', `{"policy_decision":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 'body'],
  ])('refuses %s with 400 and the field', async (_, body, field) => {
    const answer = await post('/log', body);
    expect([answer.status, answer.body['error'], answer.body['field']]).toEqual([400, 'invalid_log_request', field]);
    expect((await ledger.head()).length).toBe(0);
  });

  it('refuses bytes that do not hash to their digest', async () => {
    const row = testRow({ payload_sha256: sha256Hex('{}'), payload_canonical_json: '{ }' });
    const { status, body } = await post('/log', row);
    expect([status, body['error']]).toEqual([400, 'payload_commitment_invalid']);
  });

  it('refuses half a signature', async () => {
    const { status, body } = await post('/log', testRow({ signature: 'AAAA' }));
    expect([status, body['error']]).toEqual([400, 'partial_signature']);
  });

  it('takes 1,048,576 bytes and refuses one more with 413', async () => {
    const text = JSON.stringify(testRow());
    const padded = (bytes: number) => `${text.slice(0, -1)},"pad":"${'x'.repeat(bytes - text.length - 9)}"}`;
    expect(padded(1_048_576)).toHaveLength(1_048_576);
    expect((await post('/log', padded(1_048_576))).status).toBe(201);
    const { status, body } = await post('/log', padded(1_048_577));
    expect([status, body['error']]).toEqual([413, 'payload_too_large']);
  });

  it('is for the proxy and deep review only', async () => {
    for (const caller of ['service-hil', 'service-identity', 'service-brain', 'service-console', 'agent-workload']) {
      const { status, body } = await post('/log', testRow(), as(caller));
      expect([caller, status, body['error']]).toEqual([caller, 403, 'capability_denied']);
    }
    expect((await post('/log', testRow(), as(null))).status).toBe(401);
    expect((await post('/log', testRow(), as('service-deep-review'))).status).toBe(201);
  });

  it('is 503 while the store is gone', async () => {
    await ledger.close();
    const { status, body } = await post('/log', testRow());
    expect([status, body['error']]).toEqual([503, 'ledger_store_unavailable']);
    ledger = await openEvidencedLedger({ target: place.target, sidecarKeys: place.keys });
  });
});

describe('POST /log/batch: the rows of one call in one transaction', () => {
  it('answers with one receipt per row, 201 if anything is new, else 200', async () => {
    const rows = [testRow({ id: id('a') }), testRow({ id: id('b') })];
    const first = await post('/log/batch', { rows });
    expect(first.status).toBe(201);
    expect(first.body['receipts']).toMatchObject([
      { status: 'created', seq: 1 },
      { status: 'created', seq: 2 },
    ]);
    const again = await post('/log/batch', { rows });
    expect(again.status).toBe(200);
    expect(again.body['receipts']).toMatchObject([{ status: 'retained' }, { status: 'retained' }]);
  });

  it('stores nothing when one row is refused', async () => {
    const { status, body } = await post('/log/batch', { rows: [testRow(), testRow({ tenant: 'a/b' })] });
    expect([status, body['error'], body['field']]).toEqual([400, 'invalid_log_request', 'tenant']);
    expect((await ledger.head()).length).toBe(0);
  });

  it.each([
    ['no rows', { rows: [] }],
    ['257 rows', { rows: Array.from({ length: 257 }, () => testRow()) }],
    ['rows that are no list', { rows: {} }],
    ['a body without rows', {}],
    ['null', 'null'],
  ])('refuses %s', async (_, body) => {
    const answer = await post('/log/batch', body);
    expect([answer.status, answer.body['error'], answer.body['field']]).toEqual([400, 'invalid_log_request', 'rows']);
  });

  it.each([
    ['no body at all', ''],
    ['a body that is no JSON', '{"rows":'],
    ['a key written twice', '{"rows":[],"rows":[]}'],
  ])('refuses %s as no body', async (_, body) => {
    const answer = await post('/log/batch', body);
    expect([answer.status, answer.body['error'], answer.body['field']]).toEqual([400, 'invalid_log_request', 'body']);
  });

  it('is for the proxy, and for the rows of policy changes for the policy engine', async () => {
    expect((await post('/log/batch', { rows: [testRow()] }, as('service-deep-review'))).status).toBe(403);
    const changed = (more: object = {}) => ({
      ...testRow(),
      agent_id: 'gate-policy-engine',
      method: 'policy.updated',
      event_kind: 'policy.updated',
      ...more,
    });
    const asEngine = async (...rows: object[]) =>
      (await post('/log/batch', { rows }, as('service-policy-engine'))).status;
    expect(await asEngine(changed())).toBe(201);
    for (const row of [
      testRow(),
      changed({ agent_id: 'acme/bot' }),
      changed({ method: 'policy.evaluated', event_kind: 'policy.evaluated' }),
      changed({ method: 'proxy.verdict' }),
    ])
      expect(await asEngine(changed(), row)).toBe(403);
  });

  it('is for identity for the rows of certificates', async () => {
    const issued = (more: object = {}) => ({
      ...testRow(),
      agent_id: 'gate-identity',
      method: 'identity.svid_issued',
      event_kind: 'identity.svid_issued',
      ...more,
    });
    const asIdentity = async (...rows: object[]) => (await post('/log/batch', { rows }, as('service-identity'))).status;
    expect(await asIdentity(issued())).toBe(201);
    for (const row of [
      testRow(),
      issued({ agent_id: 'acme/bot' }),
      issued({ method: 'policy.updated', event_kind: 'policy.updated' }),
      issued({ method: 'proxy.verdict' }),
    ])
      expect(await asIdentity(issued(), row)).toBe(403);
  });
});

describe('GET /verify', () => {
  const verify = (query = '', caller: string | null = 'service-console') => get(`/verify${query}`, as(caller));

  it('is open to every certificate of the CA and walks the whole chain', async () => {
    await ledger.append([testRow(), testRow()]);
    const { status, body } = await verify('', 'agent-workload');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      valid: true,
      entries_checked: 2,
      first_invalid_seq: null,
      anchor_mismatch: null,
      commitment: { contract: 'gate.verified-chain/v1', length: 2, tail_chain_version: 6 },
    });
  });

  it('is 200 with `valid: false` and no commitment once a row was changed, and sets the gauge an alert looks at', async () => {
    await ledger.append([testRow(), testRow(), testRow()]);
    await verify();
    expect(await registry.metrics()).toContain('gate_ledger_chain_valid 1');
    await place.unlock();
    await place.sql('update ledger_entries set reasoning = ? where seq = 2', ['nothing to see']);
    const { status, body } = await verify();
    expect(status).toBe(200);
    expect(body).toMatchObject({ valid: false, entries_checked: 1, first_invalid_seq: 2 });
    expect(body).not.toHaveProperty('commitment');
    expect(await registry.metrics()).toContain('gate_ledger_chain_valid 0');
  });

  it('walks once for agents that loop it, in either form, and afresh for the console', async () => {
    await ledger.append([testRow(), testRow()]);
    let walks = 0;
    ledger.observeWalks(() => (walks += 1));
    for (let n = 0; n < 10; n += 1)
      expect((await verify(n % 2 ? '' : '?since_checkpoint=true', 'agent-workload')).body).toMatchObject({
        valid: true,
      });
    await Promise.all(Array.from({ length: 10 }, () => verify('', 'agent-workload')));
    expect(walks).toBe(2);
    await ledger.append([testRow()]);
    expect((await verify('', 'agent-workload')).body).toMatchObject({ entries_checked: 2 });
    expect((await verify()).body).toMatchObject({ entries_checked: 3 });
  });

  it('looks only behind the last valid walk when asked to', async () => {
    await ledger.append([testRow(), testRow()]);
    await verify();
    await ledger.append([testRow()]);
    await place.unlock();
    await place.sql('update ledger_entries set reasoning = ? where seq = 1', ['x']);
    expect((await verify('?since_checkpoint=true')).body).toMatchObject({ valid: true, entries_checked: 3 });
    expect((await verify()).body).toMatchObject({ valid: false, first_invalid_seq: 1 });
  });

  it('refuses a query it cannot read, and is 503 while the store is gone', async () => {
    expect((await verify('?since_checkpoint=perhaps')).status).toBe(400);
    await ledger.close();
    expect(await verify()).toMatchObject({ status: 503, body: { error: 'ledger_store_unavailable' } });
    ledger = await openEvidencedLedger({ target: place.target, sidecarKeys: place.keys });
  });
});

describe('reads over HTTP', () => {
  const correlation = '99999999-9999-4999-8999-999999999999';

  it('lists the rows of one call in order, with the readable projections', async () => {
    await ledger.append([
      testRow({ correlation_id: correlation }),
      testRow(),
      testRow({
        correlation_id: correlation,
        method: 'hil.approved',
        policy_decision: { decided_by: 'operator:dev', status: 'approved' },
      }),
    ]);
    const { status, body } = await get(`/audit/correlation/${correlation}`);
    expect(status).toBe(200);
    expect(body).toMatchObject([
      { seq: 1, method: 'proxy.verdict', tool_type: 'files.read', decided_by: null, status: null },
      { seq: 3, method: 'hil.approved', decided_by: 'operator:dev', status: 'approved' },
    ]);
    expect((await get(`/audit/correlation/${correlation}?tenant=acme`)).body).toHaveLength(2);
    expect((await get(`/audit/correlation/${correlation}?tenant=other`)).body).toEqual([]);
    expect(await get('/audit/correlation/unknown')).toEqual({ status: 200, body: [] });
  });

  it('lists the agents and the rows of one, by page and window', async () => {
    for (let index = 0; index < 4; index++) await ledger.append([testRow({ method: `m${index}` })]);
    await ledger.append([testRow({ agent_id: 'agent/b' })]);
    expect((await get('/agents')).body).toEqual({ agents: ['agent-a', 'agent/b'] });
    const seqs = async (path: string) => ((await get(path)).body as { seq: number }[]).map((row) => row.seq);
    expect(await seqs('/audit/agent-a')).toEqual([1, 2, 3, 4]);
    expect(await seqs('/audit/agent%2Fb')).toEqual([5]);
    expect(await seqs('/audit/agent-a?limit=2')).toEqual([4, 3]);
    expect(await seqs('/audit/agent-a?limit=1&after=1')).toEqual([2]);
    expect(await seqs('/audit/agent-a?methods=m0,m3')).toEqual([1, 4]);
    expect(await seqs('/audit/agent-a?since=2100-01-01T00:00:00Z')).toEqual([]);
    expect(await seqs('/audit/agent-a?to=2100-01-01T00:00:00%2B02:00&seq_from=2&seq_to=3')).toEqual([2, 3]);
  });

  it.each(['limit=0', 'limit=5001', 'after=-1', 'since=yesterday', 'tenant=a/b'])('refuses ?%s', async (query) => {
    expect((await get(`/audit/agent-a?${query}`)).status).toBe(400);
  });

  it('are for console, deep review and proxy', async () => {
    for (const path of ['/agents', '/audit/agent-a', `/audit/correlation/${correlation}`]) {
      expect((await get(path, as('service-proxy'))).status).toBe(200);
      expect((await get(path, as('service-deep-review'))).status).toBe(200);
      expect((await get(path, as('service-hil'))).status).toBe(403);
      expect((await get(path, as('agent-workload'))).status).toBe(403);
    }
  });
});

describe('the plain listener of the ledger', () => {
  it('counts what the watchdogs flagged and the vacuum took away', async () => {
    await ledger.append([testRow({ agent_id: 'quiet' })]);
    expect(await ledger.watchdogs.silence({ thresholdHours: 0 })).toBe(1);
    const text = await registry.metrics();
    expect(text).toContain('gate_ledger_watchdog_flags_total{kind="agent_silent"} 1');
    expect(text).toContain('gate_ledger_vacuumed_entries_total 0');
  });

  const plain = (url: string) => service.health.inject({ method: 'GET', url });

  it('is ready while the ledger can append, and says so when it cannot', async () => {
    await ledger.append([testRow()]);
    expect((await plain('/readyz')).statusCode).toBe(200);
    await place.unlock();
    await place.sql('delete from ledger_entries');
    const response = await plain('/readyz');
    expect(response.statusCode).toBe(503);
    expect(response.json()).toMatchObject({ status: 'not_ready', checks: { storage: 'failed' } });
  });

  it('counts rows, commits and conflicts', async () => {
    await post('/log/batch', { rows: [testRow({ id: id('a') }), testRow()] });
    await post('/log', testRow({ id: id('a'), authorized: false }));
    const metrics = (await plain('/metrics')).body;
    // Two rows, and the alarm about the third.
    expect(metrics).toContain('gate_ledger_append_rows_total 3');
    expect(metrics).toContain('gate_ledger_append_batch_rows_count 2');
    expect(metrics).toContain('gate_ledger_append_seconds_count 2');
    expect(metrics).toContain('gate_ledger_entry_conflict_total 1');
    expect(metrics).toContain('gate_ledger_chain_valid Nan');
  });
});
