import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { StopCalls, StopReportContent } from '../../contracts/identity.js';
import { GateError } from '../../domain/errors.js';
import { identityMigrations } from '../../migrations/identity.js';
import { certifiedIn } from '../../test/support/certified-agent.js';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../../test/support/ledger.js';
import { type IdentityStore, openIdentityStore } from './identity-store.js';
import type { LeftBehind } from './stop-report-store.js';

const NOW = Date.parse('2026-11-02T10:00:00.000Z');
const by = (who: string, nowMs = NOW) => ({ by: who, reason: 'odd', nowMs });
const TENANT = { tenant: 'acme', tool: null };
const SAID: StopCalls = { looked_at: '2026-11-02T10:00:02.000Z', calls: [], left_out: 0 };
const AGENTS = ['a', 'b', 'c', 'd'];

describe.each(STORES)('the certificates of a stopped tenant, on %s', (kind) => {
  let place: TestLedgerPlace;
  let store: IdentityStore;
  const opened: IdentityStore[] = [];
  const left: LeftBehind[] = [];
  const open = async () => {
    store = await openIdentityStore(place.target, place.keys, { onLeft: (one) => void left.push(one) });
    opened.push(store);
  };
  const certified = (agent: string, tenant = 'acme') =>
    certifiedIn(store, {
      tenant,
      agent,
      svidId: `90000000-0000-4000-${tenant === 'acme' ? 8000 : 9000}-00000000000${AGENTS.indexOf(agent)}`,
      nowMs: NOW,
    });
  const revoked = async () => (await place.sql('select id from identity_svids where revoked_ms is not null')).length;
  const rows = async (event: string) =>
    (await place.sql('select content from identity_outbox')).filter(({ content }) =>
      String(content).includes(`"event_kind":"${event}"`),
    ).length;
  const letGo = async (tenant = 'acme') => {
    const { id } = (await store.stops({ tenant }, NOW))[0] as { id: string };
    await store.releaseStop(id, tenant, by('operator:second'));
    return store.releaseStop(id, tenant, by('operator:dev'));
  };
  const agentOf = async (agent: string) => {
    const [found] = await store.agents({ tenant: 'acme', agent }, NOW);
    if (!found) throw new Error(`no agent ${agent}`);
    return found;
  };
  const decommissioned = async (agent: string) =>
    store.decommission((await agentOf(agent)).id, 'acme', by('operator:dev'));
  const edited = async (table: string, agentId: string, set: string) => {
    const key = table === 'identity_agents' ? 'id' : 'agent_id';
    await place.sql(`update ${table} set ${set} where ${key} = '${agentId}'`);
  };
  const SVID = (of: string) =>
    `identity_svids 90000000-0000-4000-8000-00000000000${AGENTS.indexOf(of)}: its mark does not hold`;
  const sign = async (content: StopReportContent) => ({
    ...content,
    signature: { algorithm: 'ES256', key_id: 'a'.repeat(64), value: 'x' } as const,
  });

  beforeEach(async () => {
    place = await ledgerPlace(kind, { migrated: identityMigrations });
    await open();
    await store.bundleSequence('first');
    for (const agent of AGENTS) await certified(agent);
    await store.stop(TENANT, by('operator:dev'));
  });
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close();
    left.splice(0);
    await place.remove();
  });

  it('are taken back one agent after the other, and by the next process where one ended in between', async () => {
    expect(await store.takeBackOne(NOW)).toBe(true);
    expect(await store.takeBackOne(NOW)).toBe(true);
    expect(await revoked()).toBe(2);
    await open();
    for (let left = true; left; left = await store.takeBackOne(NOW)) expect(await revoked()).toBeLessThanOrEqual(4);
    expect([await revoked(), await rows('svid.revoked'), await rows('agent.svid_recovery_opened')]).toEqual([4, 4, 4]);
    const [report] = await store.reportsDue(NOW + 2_000);
    await store.makeReport(report?.id ?? '', SAID, { nowMs: NOW, trustDomain: 'gate.local', sign });
    expect((await store.stopReport(report?.id ?? '', 'acme')).report).toMatchObject({ certificates_revoked: 4 });
  });

  it('are counted once, where two processes take them back at the same time', async () => {
    const first = store;
    await open();
    const all = async (one: IdentityStore) => {
      for (let tries = 0; tries < 50; tries += 1) {
        // Whoever comes second is told to ask again.
        const left = await one
          .takeBackOne(NOW)
          .catch((error: unknown) => error instanceof GateError || Promise.reject(error));
        if (!left) return;
      }
    };
    await Promise.all([all(first), all(store)]);
    expect([await revoked(), await rows('svid.revoked')]).toEqual([4, 4]);
    expect(await store.stopReports('acme', undefined)).toMatchObject([{ state: 'due', revokedCertificates: 4 }]);
  });

  it('are taken back before two people can let the tenant go', async () => {
    await expect(letGo()).rejects.toMatchObject({ code: 'store_unavailable' });
    // The report waits as well.
    expect(await store.reportsDue(NOW + 60_000)).toEqual([]);
    while (await store.takeBackOne(NOW));
    expect(await letGo()).toMatchObject({ state: 'active' });
  });

  it.each([
    ['identity_svids', "serial = '00'", SVID('a')],
    ['identity_agents', 'renewals = 7', 'its mark does not hold'],
  ])('of all others are taken back where somebody edited a row of one, in %s', async (table, set, named) => {
    const { id } = await agentOf('a');
    await edited(table, id, set);
    await certified('b', 'other');
    await store.stop({ tenant: 'other', tool: null }, by('operator:dev', NOW + 1));
    while (await store.takeBackOne(NOW));
    // A certificate that is as Gate wrote it is taken back also where the row of its agent is not.
    expect(await revoked()).toBe(table === 'identity_svids' ? 4 : 5);
    expect(left).toEqual([{ tenant: 'acme', agent: 'a', rows: [expect.stringContaining(named)] }]);
    expect(await letGo('other')).toMatchObject({ state: 'active' });
    // Neither of the reports waits for it.
    expect(await store.reportsDue(NOW + 60_000)).toHaveLength(2);
  });

  it('are named in its report and to whoever lets it go where one was edited, and taken back once it is put back', async () => {
    const { id } = await agentOf('a');
    const [{ serial } = {}] = await place.sql(`select serial from identity_svids where agent_id = '${id}'`);
    await edited('identity_svids', id, "serial = '00'");
    while (await store.takeBackOne(NOW));
    const [due] = await store.reportsDue(NOW + 2_000);
    await store.makeReport(due?.id ?? '', SAID, { nowMs: NOW, trustDomain: 'gate.local', sign });
    expect((await store.stopReport(due?.id ?? '', 'acme')).report).toMatchObject({
      certificates_revoked: 3,
      not_taken_back: [{ agent: 'a', rows: [SVID('a')] }],
    });
    await expect(letGo()).rejects.toMatchObject({
      code: 'identity_tampered',
      message: expect.stringContaining(
        `the certificates of a are not all taken back: edited in the store: ${SVID('a')}`,
      ),
    });
    await edited('identity_svids', id, `serial = '${String(serial)}'`);
    expect(await letGo()).toMatchObject({ state: 'active' });
    expect([await revoked(), (await agentOf('a')).bootstrap]).toEqual([4, 'recovery']);
  });

  it('are had anew by every agent once the tenant is let go, also where they had ended by themselves', async () => {
    expect(await store.takeBackOne(NOW)).toBe(true);
    const later = NOW + 2 * 3_600_000;
    await decommissioned('d');
    let tries = 0;
    while (await store.takeBackOne(later)) expect((tries += 1)).toBeLessThan(9);
    const { id } = (await store.stops({ tenant: 'acme' }, later))[0] as { id: string };
    await store.releaseStop(id, 'acme', by('operator:second', later));
    await store.releaseStop(id, 'acme', by('operator:dev', later));
    for (const agent of ['a', 'b', 'c'])
      expect(
        await store.enroll({ tenant: 'acme', agent, by: 'x', nowMs: later, expiresMs: later + 60_000 }),
      ).toMatchObject({ token: expect.any(String) });
    // Only what may have one again has its recovery opened.
    expect([(await agentOf('d')).bootstrap, await rows('agent.svid_recovery_opened')]).toEqual(['retired', 3]);
  });

  it('of a request that somebody edited give nothing, and keep nobody from being stopped', async () => {
    const { id } = await agentOf('a');
    await edited('identity_intents', id, "state = 'pending'");
    while (await store.takeBackOne(NOW));
    expect([await revoked(), left, await letGo()]).toMatchObject([4, [], { state: 'active' }]);
  });

  it('of other tenants are taken back, and other reports are due, where somebody edited the row of a report', async () => {
    await place.sql("update identity_stop_reports set stopped_by = 'operator:x'");
    await certified('b', 'other');
    await store.stop({ tenant: 'other', tool: null }, by('operator:dev', NOW + 1));
    while (await store.takeBackOne(NOW));
    expect(await letGo('other')).toMatchObject({ state: 'active' });
    await expect(letGo()).rejects.toMatchObject({ code: 'identity_tampered' });
    await place.sql("update identity_stop_reports set state = 'due' where tenant = 'acme'");
    expect(await store.reportsDue(NOW + 60_000)).toMatchObject([{ tenant: 'other' }]);
    expect(left).toEqual([{ tenant: 'acme', agent: null, rows: [expect.stringContaining('identity_stop_reports')] }]);
  });

  it('of an agent that is stopped by itself are left where somebody edited them: it is stopped, and not let go', async () => {
    while (await store.takeBackOne(NOW));
    await letGo();
    const { id } = await agentOf('a');
    const [{ serial } = {}] = await place.sql(`select serial from identity_svids where agent_id = '${id}'`);
    await edited('identity_svids', id, "revoked_ms = null, refused_from_ms = null, serial = '00'");
    expect(await store.suspend(id, 'acme', by('operator:dev'))).toMatchObject({ state: 'suspended' });
    expect(left).toEqual([{ tenant: 'acme', agent: 'a', rows: [SVID('a')] }]);
    await store.unsuspend(id, 'acme', by('operator:dev'));
    await expect(store.unsuspend(id, 'acme', by('operator:second'))).rejects.toMatchObject({
      code: 'identity_tampered',
      message: expect.stringContaining(`the certificates of a are not all taken back`),
    });
    expect((await agentOf('a')).state).toBe('suspended');
    await edited('identity_svids', id, `revoked_ms = ${NOW}, refused_from_ms = ${NOW}, serial = '${String(serial)}'`);
    expect(await store.unsuspend(id, 'acme', by('operator:second'))).toMatchObject({ state: 'active' });
  });

  describe('and the report of an agent that is stopped by itself', () => {
    const reportOf = async () => {
      const due = (await store.stopReports('acme', undefined)).find(({ kind: of }) => of === 'agent');
      await store.makeReport(due?.id ?? '', SAID, { nowMs: NOW, trustDomain: 'gate.local', sign });
      return (await store.stopReport(due?.id ?? '', 'acme')).report;
    };
    const stopped = async (edit?: string) => {
      while (await store.takeBackOne(NOW));
      await letGo();
      const { id } = await agentOf('a');
      if (edit !== undefined) await edited('identity_svids', id, edit);
      await store.suspend(id, 'acme', by('operator:dev'));
      return id;
    };

    it('names nothing that it was given since, where it was let go before the report was made', async () => {
      const id = await stopped();
      await store.unsuspend(id, 'acme', by('operator:dev'));
      await store.unsuspend(id, 'acme', by('operator:second'));
      await place.sql('delete from identity_intents');
      await place.sql(`delete from identity_svids where agent_id = '${id}'`);
      await certified('a');
      expect(await reportOf()).not.toHaveProperty('not_taken_back');
    });

    it('names what was left at the stop, also where that is put back before the report is made', async () => {
      const was = `revoked_ms = ${NOW}, refused_from_ms = ${NOW}, serial =`;
      const [{ serial } = {}] = await place.sql("select serial from identity_svids where agent_name = 'a'");
      const id = await stopped("revoked_ms = null, refused_from_ms = null, serial = '00'");
      await edited('identity_svids', id, `${was} '${String(serial)}'`);
      const [kept] = await store.stopReports('acme', undefined);
      expect([kept?.state, kept?.sha256]).toEqual(['due', null]);
      expect((await store.stopReport(kept?.id ?? '', 'acme')).report).toBeNull();
      expect(await reportOf()).toMatchObject({ not_taken_back: [{ agent: 'a', rows: [SVID('a')] }] });
    });

    it.each(['null', `'[]'`])('is not made where somebody made what was left %s', async (text) => {
      await stopped("revoked_ms = null, refused_from_ms = null, serial = '00'");
      await place.sql(`update identity_stop_reports set report = ${text} where kind = 'agent'`);
      await expect(reportOf()).rejects.toMatchObject({ code: 'identity_tampered' });
      // Nor are proxies asked for it.
      expect((await store.reportsDue(NOW + 60_000)).map(({ kind: of }) => of)).not.toContain('agent');
    });
  });

  it.each(['null', `'[]'`])(
    'are taken back where somebody made what was left %s meanwhile, and no report is made before it is put back',
    async (text) => {
      await edited('identity_svids', (await agentOf('a')).id, "serial = '00'");
      expect(await store.takeBackOne(NOW)).toBe(true);
      const [{ report: was } = {}] = await place.sql('select report from identity_stop_reports');
      expect(was).toContain(SVID('a'));
      await place.sql(`update identity_stop_reports set report = ${text}`);
      while (await store.takeBackOne(NOW));
      expect(await revoked()).toBe(3);
      const [due] = await store.stopReports('acme', undefined);
      const made = () => store.makeReport(due?.id ?? '', SAID, { nowMs: NOW, trustDomain: 'gate.local', sign });
      await expect(made()).rejects.toMatchObject({ code: 'identity_tampered' });
      await place.sql(`update identity_stop_reports set report = '${String(was)}'`);
      await made();
      expect((await store.stopReport(due?.id ?? '', 'acme')).report).toMatchObject({
        certificates_revoked: 3,
        not_taken_back: [{ agent: 'a', rows: [SVID('a')] }],
      });
    },
  );

  it('keep no other report waiting, however many of them somebody edited', async () => {
    await edited('identity_svids', (await agentOf('a')).id, "serial = '00'");
    while (await store.takeBackOne(NOW));
    const [{ report: was } = {}] = await place.sql('select report from identity_stop_reports');
    await place.sql(`update identity_stop_reports set report = '[]'`);
    expect(await store.reportsDue(NOW + 2_000)).toEqual([]);
    expect(left.at(-1)).toMatchObject({ rows: [expect.stringMatching(/^identity_stop_reports .*: its report$/)] });
    const said = left.length;
    expect(await store.reportsDue(NOW + 2_000)).toEqual([]);
    expect(left).toHaveLength(said);
    await place.sql(`update identity_stop_reports set report = '${String(was)}'`);
    expect(await store.reportsDue(NOW + 2_000)).toHaveLength(1);
  });

  it('are named where more is left behind such an edit, beside the report whose text it was', async () => {
    const agents = await store.agents({ tenant: 'acme' }, NOW);
    for (const { agent, id } of agents.slice(0, 2)) await edited('identity_svids', id, `serial = '0${agent}'`);
    expect(await store.takeBackOne(NOW)).toBe(true);
    await place.sql(`update identity_stop_reports set report = '[]'`);
    while (await store.takeBackOne(NOW));
    const [due] = await store.reportsDue(NOW + 2_000);
    await store.makeReport(due?.id ?? '', SAID, { nowMs: NOW, trustDomain: 'gate.local', sign });
    expect((await store.stopReport(due?.id ?? '', 'acme')).report?.not_taken_back).toEqual([
      { agent: '', rows: [`identity_stop_reports ${due?.id}: its report`] },
      { agent: 'b', rows: [SVID('b')] },
    ]);
  });

  it('are named once they are left, and no more where the next process takes them back', async () => {
    const { id } = await agentOf('a');
    const [{ serial } = {}] = await place.sql(`select serial from identity_svids where agent_id = '${id}'`);
    await edited('identity_svids', id, "serial = '00'");
    expect(await store.takeBackOne(NOW)).toBe(true);
    await edited('identity_svids', id, `serial = '${String(serial)}'`);
    await open();
    while (await store.takeBackOne(NOW));
    const [due] = await store.reportsDue(NOW + 2_000);
    await store.makeReport(due?.id ?? '', SAID, { nowMs: NOW, trustDomain: 'gate.local', sign });
    const { report } = await store.stopReport(due?.id ?? '', 'acme');
    expect([report?.certificates_revoked, report?.not_taken_back]).toEqual([4, undefined]);
  });
});
