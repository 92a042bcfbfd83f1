import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import type { EgressSource } from '../../../contracts/ledger-egress.js';
import { ledgerPlace, STORES, type TestLedgerPlace, testRow } from '../../../test/support/ledger.js';
import { type WholeLedger, openLedger } from '../../../test/support/whole-ledger.js';
import { sweepOnce } from './deliver.js';
import { severityOf } from '../../../domain/evidence/egress/severity.js';
import { datadogSink, envelopeOf, genericSink, splunkSink } from '../../../domain/evidence/egress/sinks.js';
import { egressSource } from '../../../domain/evidence/egress/source.js';

const routing = { tenants: [], minSeverity: 'info' } as const;

describe.each(STORES)('one attempt to deliver rows, from %s', (kind) => {
  let place: TestLedgerPlace;
  let ledger: WholeLedger;
  let source: EgressSource;
  let server: Server;
  let status: number;
  const bodies: string[] = [];
  const sink = (over: Partial<Parameters<typeof genericSink>[0]> = {}) =>
    genericSink({ ...routing, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/rows`, ...over });
  const rowsOf = (body = '[]') => (JSON.parse(body) as { seq: number }[]).map(({ seq }) => seq);

  beforeEach(async () => {
    bodies.length = 0;
    status = 200;
    server = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8');
      request.on('data', (part: string) => (body += part));
      request.on('end', () => {
        bodies.push(body);
        response.writeHead(status, { location: 'http://127.0.0.1:1/' }).end();
      });
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    place = await ledgerPlace(kind);
    ledger = await openLedger({ target: place.target, sidecarKeys: place.keys });
    source = egressSource(ledger);
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
    await ledger.close();
    await place.remove();
  });

  it('sends the rows behind the cursor, at most as many as it may, and says how many are left', async () => {
    await ledger.append(Array.from({ length: 7 }, () => testRow()));
    expect(await sweepOnce(sink(), source, { after: 2, limit: 3 })).toEqual({
      delivered: true,
      cursor: 5,
      rows: 3,
      lag: 2,
    });
    expect(rowsOf(bodies[0])).toEqual([3, 4, 5]);
    expect(await sweepOnce(sink(), source, { after: 7, limit: 3 })).toMatchObject({ cursor: 7, rows: 0, lag: 0 });
    expect(bodies).toHaveLength(1);
  });

  it('passes rows that are not for the sink, and rows that are hidden', async () => {
    await ledger.append([
      testRow({ tenant: 'acme' }),
      testRow({ tenant: 'other' }),
      testRow({ tenant: 'acme', authorized: false }),
      testRow({ tenant: 'other', authorized: false }),
      testRow({ tenant: 'other' }),
    ]);
    const only = { tenants: ['other'], minSeverity: 'high' } as const;
    expect(await sweepOnce(sink(only), source, { after: 0, limit: 10 })).toMatchObject({ cursor: 5, rows: 1 });
    expect(rowsOf(bodies[0])).toEqual([4]);
    await ledger.erasure.tombstoneTenant('other');
    const { length } = await ledger.head();
    expect(await sweepOnce(sink(), source, { after: 0, limit: 2 })).toMatchObject({ cursor: 3, rows: 2 });
    expect(rowsOf(bodies[1])).toEqual([1, 3]);
    expect(await sweepOnce(sink({ tenants: ['other'] }), source, { after: 0, limit: 10 })).toMatchObject({
      cursor: length,
      rows: 0,
    });
  });

  it('puts no more into one request than a receiver takes, but always one row', async () => {
    const large = { policy_decision: { text: 'x'.repeat(250_000) } };
    await ledger.append(Array.from({ length: 6 }, () => testRow(large)));
    expect(await sweepOnce(sink(), source, { after: 0, limit: 6 })).toMatchObject({ cursor: 3, rows: 3, lag: 3 });
    expect(rowsOf(bodies[0])).toEqual([1, 2, 3]);
  });

  it.each<[number, boolean]>([
    [400, true],
    [413, true],
    [422, true],
    [301, false],
    [401, false],
    [403, false],
    [404, false],
    [429, false],
    [500, false],
    [503, false],
  ])('%i confirms nothing; rejected: %p', async (answer, rejected) => {
    status = answer;
    await ledger.append([testRow(), testRow()]);
    expect(await sweepOnce(sink(), source, { after: 0, limit: 10 })).toEqual({
      delivered: false,
      rejected,
      rows: 2,
      first_seq: 1,
      error: `the receiver answered ${answer}`,
      lag: 2,
    });
    expect(bodies).toHaveLength(1);
  });

  it('tells the ledger what is confirmed, and nothing that is not, also when it is put back', async () => {
    const cursors = () => place.sql('select sink_id, last_seq from egress_cursors');
    const through = async (after: number) => {
      await sweepOnce(sink(), source, { after, limit: 2 });
      const [cursor] = await cursors();
      return Number(cursor?.['last_seq']);
    };
    await ledger.append([testRow(), testRow(), testRow()]);
    expect(await through(0)).toBe(0);
    expect(await through(2)).toBe(2);
    status = 503;
    expect(await through(2)).toBe(2);
    expect(await through(9)).toBe(2);
    expect(await through(1)).toBe(1);
    expect((await cursors()).map(({ sink_id }) => sink_id)).toEqual([sink().kind]);
  });

  it('stands still, and says so, when the ledger is shorter than what was sent', async () => {
    await ledger.append([testRow()]);
    expect(await sweepOnce(sink(), source, { after: 5, limit: 10 })).toMatchObject({
      delivered: false,
      rejected: false,
      error: "the ledger ends at 1, before this stream's cursor 5: it was restored from an older copy",
    });
    expect(bodies).toEqual([]);
  });

  it('says what is wrong when nobody answers, at the sink or at the ledger', async () => {
    await ledger.append([testRow()]);
    const nobody = sink({ url: 'http://127.0.0.1:1/' });
    expect(await sweepOnce(nobody, source, { after: 0, limit: 1 })).toMatchObject({
      delivered: false,
      rejected: false,
    });
    const away: EgressSource = { egressPage: () => Promise.reject(new Error('the ledger is away')) };
    expect(await sweepOnce(sink(), away, { after: 0, limit: 1 })).toMatchObject({
      delivered: false,
      rows: 0,
      error: 'the ledger is away',
      lag: null,
    });
  });
});

describe('how a row is written down for a sink', () => {
  const row = {
    chain_version: 6,
    id: '11111111-1111-4111-8111-111111111111',
    timestamp: '2026-01-02T03:04:05.678Z',
    seq: 3,
    prev_hash: 'a'.repeat(64),
    entry_hash: 'b'.repeat(64),
    agent_id: 'agent-a',
    method: 'proxy.verdict',
    intent_category: 'Direct Execution',
    authorized: true,
    reasoning: 'line\nbreak',
    policy_decision: { tier: 'green' },
    correlation_id: null,
    event_kind: 'proxy.verdict',
    state_namespace: 'operator',
    tool_type: 'files.read',
    decided_by: null,
    status: null,
    tenant: 'acme',
    tool_name: 'files.read',
    credential_fingerprint: 'c'.repeat(64),
  } as unknown as LedgerEntry;

  it('is the same envelope in three wrappers', () => {
    const envelope = envelopeOf(row);
    expect(Object.keys(envelope)).toHaveLength(18);
    expect(envelope).toMatchObject({ contract: 'gate.egress-event/v1', tool_name: 'files.read', signal: null });
    const splunk = splunkSink({ ...routing, url: 'http://s/', token: 't' });
    const lines = splunk.joined([splunk.renderRow(row), splunk.renderRow(row)]).split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(
      Array(2).fill({ time: 1_767_323_045.678, source: 'gate-ledger', sourcetype: 'gate:ledger', event: envelope }),
    );
    const datadog = datadogSink({ ...routing, site: 'datadoghq.eu', apiKey: 'k' });
    const [item] = JSON.parse(datadog.joined([datadog.renderRow(row)])) as [{ message: string }];
    expect(item).toMatchObject({ ddsource: 'gate', service: 'gate-ledger', ...envelope });
    expect(JSON.parse(item.message)).toEqual(envelope);
  });

  it.each([
    ['an allowed call', {}, 'info'],
    ['a refused one', { authorized: false }, 'high'],
    ['a parked one', { authorized: false, policy_decision: { tier: 'yellow' } }, 'medium'],
    [
      'rules that ask for a human',
      { authorized: false, policy_decision: { reasons: [], review_reasons: ['r'] } },
      'medium',
    ],
    ['rules that deny', { authorized: false, policy_decision: { reasons: ['d'], review_reasons: ['r'] } }, 'high'],
    [
      'a call that only observing let run',
      { authorized: false, policy_decision: { tier: 'red', outcome: 'allow', would: 'deny', reasons: ['d'] } },
      'medium',
    ],
    ['a denied one', { authorized: false, policy_decision: { tier: 'red', outcome: 'deny', reasons: ['d'] } }, 'high'],
    ['a parked one by its outcome', { authorized: false, policy_decision: { outcome: 'park' } }, 'medium'],
    ['a review', { authorized: false, event_kind: 'hil.created' }, 'medium'],
    ['a human who denies', { authorized: false, event_kind: 'hil.denied' }, 'high'],
    ['an alarm', { event_kind: 'alarm.row_conflict' }, 'high'],
  ])('%s is %j: %s', (_what, change, severity) => {
    expect(severityOf({ ...row, ...change } as LedgerEntry)).toBe(severity);
  });
});
