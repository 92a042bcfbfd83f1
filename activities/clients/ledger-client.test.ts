import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLedgerService } from '../../api/ledger/app.js';
import type { Service } from '../../api/plugins/service.js';
import type { JsonObject } from '../../contracts/json.js';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import { egressSource } from '../../domain/evidence/egress/source.js';
import { sidecarSha256 } from '../../domain/ledger/sidecar-digest.js';
import { sha256Hex, uuidFromDigest } from '../../domain/crypto/digest.js';
import { type EvidencedLedger, openEvidencedLedger } from '../../test/support/evidenced-ledger.js';
import { ledgerPlace, type TestLedgerPlace, testRow } from '../../test/support/ledger.js';
import { calledByProxy, overTheService } from '../../test/support/in-process-service.js';
import { createLedgerClient, type LedgerClient } from './ledger-client.js';

const id = (name: string) => uuidFromDigest('test', name);
let place: TestLedgerPlace;
let store: EvidencedLedger;
let service: Service;

beforeEach(async () => {
  place = await ledgerPlace('sqlite');
  store = await openEvidencedLedger({ target: place.target, sidecarKeys: place.keys });
  service = createLedgerService({
    ledger: store,
    evidence: store,
    ...calledByProxy(),
  });
});
afterEach(async () => {
  await service.close();
  await store.close();
  await place.remove();
});

const hosts: [string, () => LedgerClient][] = [
  [
    'in process',
    () => ({
      ...store,
      ...egressSource(store),
      replayPage: store.reports.replayPage,
      decidedPage: store.reports.decidedPage,
    }),
  ],
  ['over HTTP', () => createLedgerClient({ url: 'https://ledger.example:8083', fetch: overTheService(() => service) })],
];

describe.each(hosts)('the ledger as the pipeline needs it, %s', (_, host) => {
  let ledger: LedgerClient;
  beforeEach(() => {
    ledger = host();
  });

  it('reads rows in chain order for streams to sinks', async () => {
    const receipts = await ledger.append([testRow(), testRow(), testRow()]);
    const page = await ledger.egressPage(1, 1);
    expect(page).toMatchObject({ rows: [{ seq: 2, id: receipts[1]?.id }], through: 2, head: 3 });
    expect(await ledger.egressPage(3, 10)).toEqual({ rows: [], through: 3, head: 3 });
    expect(await place.sql('select * from egress_cursors')).toEqual([]);
    await ledger.egressPage(2, 10, 'splunk');
    expect(await place.sql('select sink_id, last_seq from egress_cursors')).toMatchObject([{ sink_id: 'splunk' }]);
  });

  it('appends, and knows a row again', async () => {
    const payload = '{"memo":"é😀"}';
    const rows = [
      testRow({ id: id('a'), payload_sha256: sha256Hex(payload), payload_canonical_json: payload }),
      testRow(),
    ];
    expect(await ledger.append([])).toEqual([]);
    const first = await ledger.append(rows);
    expect(first).toMatchObject([
      { status: 'created', id: id('a'), seq: 1, chain_version: 6 },
      { status: 'created', seq: 2 },
    ]);
    expect(await ledger.append([rows[0] as NewLedgerRow])).toEqual([{ ...first[0], status: 'retained' }]);
    expect(await store.sidecar(id('a'))).toMatchObject({ text: payload });
  });

  it('refuses with the code and the field', async () => {
    await expect(ledger.append([testRow({ policy_decision: { a: Number.NaN } })])).rejects.toMatchObject({
      name: 'GateError',
      code: 'invalid_log_request',
      fields: { field: 'policy_decision' },
    });
    await ledger.append([testRow({ id: id('a') })]);
    await expect(ledger.append([testRow({ id: id('a'), reasoning: 'other' })])).rejects.toMatchObject({
      name: 'GateError',
      code: 'ledger_entry_conflict',
      status: 409,
      fields: { id: id('a') },
    });
  });

  it('verifies and reads', async () => {
    await ledger.append([testRow({ correlation_id: 'one call' }), testRow()]);
    const result = await ledger.verify();
    expect(result).toMatchObject({ valid: true, entries_checked: 2, commitment: { length: 2 } });
    expect(await ledger.verify({ sinceCheckpoint: true })).toEqual(result);
    expect(await ledger.byCorrelation('one call')).toEqual(await store.byCorrelation('one call'));
    expect(await ledger.byCorrelation('one call', { tenant: 'other' })).toEqual([]);
  });

  it('says which rows there are', async () => {
    await ledger.append([testRow({ id: id('a') })]);
    expect(await ledger.held([id('a'), id('b')])).toEqual(new Set([id('a')]));
    expect(await ledger.held([])).toEqual(new Set());
  });

  it('is ledger_store_unavailable while the store is gone', async () => {
    await store.close();
    await expect(ledger.append([testRow()])).rejects.toMatchObject({ code: 'ledger_store_unavailable', status: 503 });
    await expect(ledger.verify()).rejects.toMatchObject({ code: 'ledger_store_unavailable' });
    await expect(ledger.held([id('a')])).rejects.toMatchObject({ code: 'ledger_store_unavailable' });
    store = await openEvidencedLedger({ target: place.target, sidecarKeys: place.keys });
  });
});

describe('the ledger over HTTP', () => {
  const answering = (status: number, text: string) =>
    createLedgerClient({
      url: 'https://ledger.example:8083',
      fetch: () => Promise.resolve({ status, text: () => Promise.resolve(text) }),
    });
  const receipt = { status: 'created', id: id('a'), seq: 1, entry_hash: 'ab'.repeat(32), chain_version: 6 };

  it.each([
    ['an answer that is no JSON', 201, 'ok'],
    ['receipts for other rows', 201, JSON.stringify({ receipts: [receipt, receipt] })],
    ['a receipt without its hash', 201, JSON.stringify({ receipts: [{ ...receipt, entry_hash: undefined }] })],
    ['an unknown error code', 500, '{"error":"surprise"}'],
    ['a known code under another status', 500, '{"error":"ledger_entry_conflict"}'],
    ['a gateway page', 502, '<html>'],
  ])('takes %s for an outage', async (_, status, text) => {
    await expect(answering(status, text).append([testRow()])).rejects.toMatchObject({
      code: 'ledger_store_unavailable',
    });
  });

  it('takes word of rows that it did not ask about for an outage', async () => {
    await expect(answering(200, JSON.stringify({ held: [id('b')] })).held([id('a')])).rejects.toMatchObject({
      code: 'ledger_store_unavailable',
    });
  });

  it('takes no connection, and no answer in time, for an outage', async () => {
    const refusing = createLedgerClient({ url: 'https://x:1', fetch: () => Promise.reject(new Error('refused')) });
    await expect(refusing.append([testRow()])).rejects.toMatchObject({ code: 'ledger_store_unavailable' });
    const silent = createLedgerClient({
      url: 'https://x:1',
      timeoutMs: 20,
      fetch: (_url, { signal }) =>
        new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted')))),
    });
    await expect(silent.append([testRow()])).rejects.toMatchObject({ code: 'ledger_store_unavailable' });
  });

  it('sends a row without an id under one of its own, so that sending it again is safe', async () => {
    const sent: string[] = [];
    const client = createLedgerClient({
      url: 'https://x:1',
      fetch: (_url, { body }) => {
        sent.push(body ?? '');
        return Promise.reject(new Error('lost'));
      },
    });
    await client.append([testRow()]).catch(() => undefined);
    expect(JSON.parse(sent[0] as string)).toMatchObject({ rows: [{ id: expect.stringMatching(/^[0-9a-f-]{36}$/) }] });
  });
});

describe('recorded evaluations, over HTTP', () => {
  const input = '{"tool_type":"list_files"}';
  const evaluated = () =>
    testRow({
      event_kind: 'policy.evaluated',
      policy_decision: { allow: true, reasons: [], review_reasons: [] },
      payload_sha256: sidecarSha256(input),
      payload_canonical_json: input,
    });
  const client = () => createLedgerClient({ url: 'https://ledger.example:8083', fetch: overTheService(() => service) });
  const payloadOf = (value: object) => {
    const text = JSON.stringify(value);
    return { payload_sha256: sidecarSha256(text), payload_canonical_json: text };
  };
  async function calledByPolicyEngine() {
    await service.close();
    const caller = calledByProxy();
    service = createLedgerService({
      ledger: store,
      evidence: store,
      ...caller,
      resolveCaller: () => ({ ...caller.resolveCaller(), callerId: 'service-policy-engine' }),
    });
  }

  it('are read by the policy engine, page by page, in a window', async () => {
    await calledByPolicyEngine();
    await store.append([evaluated(), testRow(), evaluated()]);
    const first = await client().replayPage({ limit: 1, from: '2020-01-01T00:00:00.000Z' });
    expect(first).toMatchObject({ rows: [{ seq: 1, input: { tool_type: 'list_files' }, people: null }], next: 1 });
    expect(await client().replayPage({ limit: 5, after: 1 })).toMatchObject({ rows: [{ seq: 3 }], next: 3 });
    expect(await client().replayPage({ limit: 5, after: 3 })).toEqual({ rows: [], next: null });
    // Of a batch its whole request comes along, that of the verdict that judged it.
    const batch = { method: 'gate/tools.batch', params: { calls: [] } };
    await store.append([
      testRow({ event_kind: 'proxy.verdict', correlation_id: id('batch'), ...payloadOf(batch) }),
      { ...evaluated(), correlation_id: id('batch'), ...payloadOf({ method: 'gate/tools.batch' }) },
      testRow({
        event_kind: 'proxy.verdict',
        correlation_id: id('batch'),
        policy_decision: { outcome: 'rate_limited' },
      }),
      testRow({ event_kind: 'policy.evaluated', policy_decision: { available: false } }),
    ]);
    expect(await client().replayPage({ limit: 5, after: 3 })).toMatchObject({
      rows: [{ seq: 5, request: batch }],
      next: 7,
    });
    expect(await client().replayPage({ limit: 5, to: '2020-01-01T00:00:00.000Z' })).toEqual({ rows: [], next: null });
  });

  it('come with what people decided, each with the input that its row commits to', async () => {
    await calledByPolicyEngine();
    const call = (name: string, kind: string, policy_decision: JsonObject, more: object = {}) => {
      const of = { correlation_id: id(name), tenant: 'acme', tool_name: 'create_issue', ...more };
      return [
        testRow({ ...of, event_kind: 'policy.evaluated', ...payloadOf({ tool_type: 'create_issue', name }) }),
        testRow({ ...of, event_kind: kind, method: kind, policy_decision }),
      ];
    };
    const approval = (by: string) => ({ by, provenance: 'token', at: '2026-11-27T08:00:00.000Z' });
    await store.append([
      ...call('one', 'hil.approved', { decided_by: 'operator:ana' }),
      ...call('two', 'hil.approved', {
        decided_by: 'operator:bo',
        approvals: [approval('operator:ana'), approval('operator:bo')],
      }),
      ...call('changed', 'hil.approved', { decided_by: 'operator:ana', decision: 'modify' }),
      ...call('denied', 'hil.denied', { decided_by: 'operator:ana' }),
      ...call('changed and denied by policy', 'hil.denied', { decided_by: 'operator:ana', decision: 'modify' }),
      // Nobody decided these.
      ...call('rule', 'hil.approved', { decided_by: 'system:policy-tier' }),
      ...call('back', 'hil.denied', { decided_by: 'system:withdrawn-by-agent' }),
      ...call('other', 'hil.denied', { decided_by: 'operator:ana' }, { tenant: 'other' }),
      ...call('elsewhere', 'hil.denied', { decided_by: 'operator:ana' }, { tool_name: 'list_issues' }),
    ]);
    // What was denied in the name of policy is nobody's denial.
    const settled = await client().replayPage({ limit: 50 });
    expect(settled.rows.map(({ people }) => people)).toEqual([
      'approved',
      'approved',
      'approved',
      'denied',
      null,
      null,
      null,
      'denied',
      'denied',
    ]);
    const { rows, next } = await client().decidedPage({ limit: 50, tenant: 'acme', tool: 'create_issue' });
    expect(rows.map(({ decided, people, input }) => [input?.['name'], decided, people])).toEqual([
      ['one', 'approved', ['operator:ana']],
      ['two', 'approved', ['operator:bo', 'operator:ana']],
      ['changed', 'changed', ['operator:ana']],
      ['denied', 'denied', ['operator:ana']],
      ['changed and denied by policy', 'changed', ['operator:ana']],
    ]);
    expect(next).toBe(14);
    // A page may hold none, and still be followed by others.
    expect(await client().decidedPage({ limit: 2, after: 10, tenant: 'acme' })).toMatchObject({ rows: [], next: 14 });
    expect(await client().decidedPage({ limit: 5, after: 18, tenant: 'acme' })).toEqual({ rows: [], next: null });
    expect(await client().verify()).toMatchObject({ valid: true });
  });

  it('are found behind many other rows, over pages without a row', async () => {
    await calledByPolicyEngine();
    const of = { tenant: 'acme', correlation_id: id('late') };
    await store.append(Array.from({ length: 2_001 }, () => testRow()));
    await store.append([
      { ...evaluated(), ...of },
      testRow({
        ...of,
        event_kind: 'hil.denied',
        method: 'hil.denied',
        policy_decision: { decided_by: 'operator:ana' },
      }),
    ]);
    expect(await client().replayPage({ limit: 1 })).toEqual({ rows: [], next: 2_000 });
    expect(await client().replayPage({ limit: 1, after: 2_000 })).toMatchObject({
      rows: [{ seq: 2_002 }],
      next: 2_002,
    });
    expect(await client().replayPage({ limit: 1, after: 2_002 })).toEqual({ rows: [], next: null });
    expect(await client().decidedPage({ limit: 1, tenant: 'acme' })).toEqual({ rows: [], next: 2_000 });
    expect(await client().decidedPage({ limit: 1, tenant: 'acme', after: 2_000 })).toMatchObject({
      rows: [{ seq: 2_003 }],
      next: 2_003,
    });
  });

  it('end a page behind a MiB of inputs, and lose none', async () => {
    await calledByPolicyEngine();
    const of = { tenant: 'acme', tool_name: 'import_rows' };
    const large = (name: string) => [
      testRow({
        ...of,
        correlation_id: id(name),
        event_kind: 'policy.evaluated',
        ...payloadOf({ tool_type: 'import_rows', rows: 'x'.repeat(600_000) }),
      }),
      testRow({
        ...of,
        correlation_id: id(name),
        event_kind: 'hil.approved',
        method: 'hil.approved',
        policy_decision: { decided_by: 'operator:ana' },
      }),
    ];
    await store.append(['one', 'two', 'three', 'four', 'five'].flatMap(large));
    for (const page of [
      (after: number) => client().replayPage({ limit: 50, after }),
      (after: number) => client().decidedPage({ limit: 50, tenant: 'acme', after }),
    ]) {
      const rows: number[] = [];
      for (let next: number | null = 0; next !== null; ) {
        const read: Awaited<ReturnType<typeof page>> = await page(next);
        rows.push(read.rows.length);
        next = read.next;
      }
      expect(rows).toEqual([2, 2, 1, 0]);
    }
  });

  it('come as they were recorded, whatever their names', async () => {
    await calledByPolicyEngine();
    const text = '{"arguments":{"__proto__":{"path":"/etc"}},"tool_type":"read_file"}';
    await store.append([{ ...evaluated(), payload_sha256: sidecarSha256(text), payload_canonical_json: text }]);
    const [row] = (await client().replayPage({ limit: 1 })).rows;
    expect(JSON.stringify(row?.input?.['arguments'])).toBe('{"__proto__":{"path":"/etc"}}');
  });

  it('are not given to the proxy', async () => {
    for (const asked of [client().replayPage({ limit: 1 }), client().decidedPage({ limit: 1, tenant: 'acme' })])
      await expect(asked).rejects.toMatchObject({ code: 'capability_denied' });
  });
});
