import { describe, expect, it } from '@jest/globals';
import { stopReportVerifier } from '../../adapters/identity/stop-report-signature.js';
import {
  agentRecord,
  dueStopReport,
  keptStopReport,
  type StopCall,
  stopRecord,
  stopReportAnswer,
} from '../../contracts/identity.js';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { isOfIdentity } from '../../domain/identity/identity-rows.js';
import { stopReportText } from '../../domain/identity/stop-reports.js';
import { prepareRow } from '../../domain/ledger/entry.js';
import { DEV, identityWithPeople, OTHERS, SECOND } from '../../test/support/identity-people.js';
import { serviceCaller, TRUST_DOMAIN } from '../../test/support/identity-service.js';
import { STORES } from '../../test/support/ledger.js';
import { eventually } from '../../test/support/waiting.js';

const AT = '2026-11-02T10:00:00.000Z';
const call = (was: StopCall['was'], change: Partial<StopCall> = {}): StopCall => ({
  correlation_id: '70000000-0000-4000-8000-000000000007',
  agent: 'bot',
  tool: 'pay',
  contract: 'gate.server-execution/v1',
  was,
  state: 'parked',
  received_at: AT,
  state_since: AT,
  digest: `sha256:${'a'.repeat(64)}`,
  params_sha256: 'b'.repeat(64),
  pending_id: null,
  outcome: null,
  ...change,
});
const CALLS = [call('running'), call('parked'), call('parked'), call('started')];

describe.each(STORES)('the report of a stop, on %s', (kind) => {
  const { at, ca, told, sql, ask, isRefused, kinds, certified } = identityWithPeople(kind);
  const stopped = async (tool?: string) => {
    at.caller = serviceCaller('console');
    const reply = await ask('POST', '/stops', { body: { tenant: 'acme', ...(tool && { tool }), reason: 'odd' } });
    expect(reply.statusCode).toBe(200);
    return stopRecord.parse(reply.json());
  };
  const asProxy = <Answer>(work: () => Answer): Answer => {
    at.caller = serviceCaller('proxy');
    return work();
  };
  const due = async () => {
    const reply = await asProxy(() => ask('GET', '/stops/reports/due', { as: null }));
    at.caller = serviceCaller('console');
    expect(reply.statusCode).toBe(200);
    return dueStopReport.array().parse(reply.json());
  };
  const tell = async (id: string, calls = CALLS, leftOut = 0) => {
    const body = { looked_at: AT, calls, left_out: leftOut };
    const reply = await asProxy(() => ask('POST', `/stops/reports/${id}/calls`, { as: null, body }));
    at.caller = serviceCaller('console');
    return reply;
  };
  const reportOf = async (id: string, as = DEV) => ask('GET', `/stops/reports/${id}?tenant=acme`, { as });
  const made = async (id: string) => {
    const { report, ...kept } = stopReportAnswer.parse((await reportOf(id)).json());
    if (report === null) throw new Error('it is not made');
    return { report, kept };
  };

  it('is due two seconds after the stop, made of what a proxy says, and signed', async () => {
    const { id, report_id: reportId } = await stopped('pay');
    const stoppedAt = new Date(at.now).toISOString();
    at.now += 1_999;
    expect(await due()).toEqual([]);
    at.now += 1;
    expect(await due()).toEqual([{ id: reportId, tenant: 'acme', kind: 'tool', name: 'pay', stopped_at: stoppedAt }]);
    expect(stopReportAnswer.parse((await reportOf(String(reportId))).json())).toMatchObject({
      state: 'due',
      report: null,
    });
    expect((await tell(String(reportId), CALLS, 3)).json()).toEqual({ id: reportId });
    expect(await due()).toEqual([]);
    const { report, kept } = await made(String(reportId));
    expect(stopReportVerifier(ca())(report)).toEqual({
      schema: 'gate.stop-report/1',
      id: reportId,
      trust_domain: TRUST_DOMAIN,
      tenant: 'acme',
      stopped: { kind: 'tool', id, name: 'pay' },
      stopped_at: stoppedAt,
      stopped_by: 'operator:dev',
      reason: 'odd',
      certificates_revoked: 0,
      looked_at: AT,
      counts: { running: 1, parked: 2, judged: 0, started: 1, left_out: 3 },
      calls: CALLS,
      made_at: new Date(at.now).toISOString(),
    });
    const sha256 = sha256Hex(stopReportText(report));
    expect(kept).toMatchObject({ state: 'made', report_sha256: sha256 });
    expect(keptStopReport.array().parse((await ask('GET', '/stops/reports?tenant=acme')).json())).toEqual([kept]);
    expect(await kinds()).toEqual(['stop.set', 'stop.reported']);
    expect(told()[1]).toMatchObject({
      tenant: 'acme',
      correlation_id: id,
      actor_sub: 'operator:dev',
      policy_decision: { report_id: reportId, report_sha256: sha256, signature: report.signature },
      payload_sha256: sha256,
      payload_canonical_json: stopReportText(report),
    });
    expect(told().every(isOfIdentity)).toBe(true);
    for (const one of told()) expect(() => prepareRow(one)).not.toThrow();
  });

  it.each([
    ['stands in the sidecar of its row', 'pay', true],
    ['of very long names too, is there by its digest alone', '\u20ac'.repeat(256), false],
  ])('of very many calls %s', async (_what, tool, isThere) => {
    const id = String((await stopped('pay')).report_id);
    at.now += 2_000;
    const calls = Array.from({ length: 5_000 }, () => call('parked', { tool }));
    const most = isThere ? calls : calls.slice(0, 4_500);
    expect((await tell(id, most)).statusCode).toBe(200);
    const { report, kept } = await made(id);
    expect(stopReportVerifier(ca())(report).counts.parked).toBe(most.length);
    expect(await kinds()).toEqual(['stop.set', 'stop.reported']);
    const row = told()[1];
    expect(() => prepareRow(row as NewLedgerRow)).not.toThrow();
    expect(row?.policy_decision).toMatchObject({ report_sha256: kept.report_sha256 });
    expect(row?.payload_sha256).toBe(isThere ? kept.report_sha256 : null);
  });

  it('is made once: by two proxies that tell it at once, and whatever is told later', async () => {
    const id = String((await stopped('pay')).report_id);
    at.now += 2_000;
    const replies = await Promise.all([tell(id), tell(id, [])]);
    expect(replies.map(({ statusCode }) => statusCode)).toEqual([200, 200]);
    const first = await made(id);
    expect((await tell(id, [call('judged')])).statusCode).toBe(200);
    expect(await made(id)).toEqual(first);
    expect(await kinds()).toEqual(['stop.set', 'stop.reported']);
  });

  it('is another one for another stop of the same tool', async () => {
    const first = await stopped('pay');
    const release = (as: string) => ask('POST', `/stops/${first.id}/release?tenant=acme`, { as, body: {} });
    await release(DEV);
    expect(stopRecord.parse((await release(SECOND)).json())).toMatchObject({ state: 'active', report_id: null });
    at.now += 5_000;
    const second = await stopped('pay');
    expect(second.report_id).not.toBe(first.report_id);
    at.now += 2_000;
    expect((await due()).map(({ id }) => id)).toEqual([first.report_id, second.report_id]);
    const before = encodeURIComponent(second.changed_at);
    const older = keptStopReport
      .array()
      .parse((await ask('GET', `/stops/reports?tenant=acme&before=${before}`)).json());
    expect(older.map(({ id }) => id)).toEqual([first.report_id]);
  });

  it('is of its tenant, told by proxies alone, and read by people alone', async () => {
    const id = String((await stopped('pay')).report_id);
    isRefused(await tell('70000000-0000-4000-8000-000000000007'), 404, 'not_found');
    at.now += 2_000;
    isRefused(await ask('GET', `/stops/reports/${id}?tenant=other`, { as: OTHERS }), 404, 'not_found');
    isRefused(await reportOf(id, OTHERS), 403, 'tenant_mismatch');
    isRefused(await ask('GET', '/stops/reports?tenant=acme', { as: OTHERS }), 403, 'tenant_mismatch');
    isRefused(await ask('GET', `/stops/reports/${id}?tenant=acme`, { as: null }), 401, 'invalid_token');
    isRefused(await ask('GET', '/stops/reports/due'), 403, 'capability_denied');
    const body = { looked_at: AT, calls: [], left_out: 0 };
    isRefused(await ask('POST', `/stops/reports/${id}/calls`, { body }), 403, 'capability_denied');
    isRefused(await asProxy(() => reportOf(id)), 403, 'capability_denied');
    for (const odd of [
      { ...body, more: 1 },
      { ...body, calls: [{ ...call('running'), arguments: {} }] },
      { ...body, calls: [call('ended' as never)] },
    ])
      isRefused(await ask('POST', `/stops/reports/${id}/calls`, { as: null, body: odd }), 400, 'invalid_request');
    expect(await due()).toHaveLength(1);
  });

  it.each([
    ['its text', "update identity_stop_reports set report = replace(report, 'operator:dev', 'operator:xyz')"],
    ['what it is of', "update identity_stop_reports set name = 'another'"],
    ['that it is made', "update identity_stop_reports set state = 'due'"],
  ])('is what Gate wrote: whoever edits %s in the store is found out', async (_what, edit) => {
    const id = String((await stopped('pay')).report_id);
    at.now += 2_000;
    await tell(id);
    await sql(edit);
    isRefused(await reportOf(id), 409, 'identity_tampered');
  });

  it('of an agent counts the certificates that its stop took back', async () => {
    const { id } = await certified('bot');
    const reply = await ask('POST', `/agents/${id}/suspend?tenant=acme`, { body: { reason: 'odd' } });
    const { report_id: reportId } = agentRecord.parse(reply.json());
    at.now += 2_000;
    await tell(String(reportId));
    expect((await made(String(reportId))).report).toMatchObject({
      stopped: { kind: 'agent', id, name: 'bot' },
      certificates_revoked: 1,
    });
  });

  it('of a tenant waits until the certificates of all its agents are taken back', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    for (const name of names) await certified(name);
    const { report_id: reportId } = await stopped();
    await eventually('all are taken back', async () => {
      const rows = await sql('select id from identity_svids where revoked_ms is null');
      return rows.length === 0;
    });
    at.now += 2_000;
    expect(await eventually('it is due', async () => (await due())[0])).toMatchObject({
      id: reportId,
      kind: 'tenant',
      name: null,
    });
    await tell(String(reportId));
    expect((await made(String(reportId))).report.certificates_revoked).toBe(5);
    expect((await kinds()).filter((one) => one === 'svid.revoked')).toHaveLength(5);
  });
});
