import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ComplianceRegister } from '../../../contracts/compliance.js';
import { sha256Hex } from '../../../domain/crypto/digest.js';
import { STORES, testRow } from '../../../test/support/ledger.js';
import { ledgerService, type TestLedgerService } from '../../../test/support/ledger-service.js';

const AT = Date.parse('2026-01-02T03:04:05.006Z');
const WINDOW = 'from=2026-01-02T00:00:00Z&to=2026-01-03T00:00:00Z';

describe.each(STORES)('POST /compliance/evidence on %s', (kind) => {
  let gate: TestLedgerService;
  let now: number;
  beforeEach(async () => {
    now = AT;
    gate = await ledgerService(kind, { ledger: { clock: () => now } });
  });
  afterEach(() => gate.close());

  const evidence = (query = WINDOW) => gate.call<ComplianceRegister>(`POST /compliance/evidence?${query}`);
  const decision = (provenance: string | null, method = 'hil.approved') =>
    testRow({ method, event_kind: method, policy_decision: { approver_provenance: provenance } });
  const found = (register: ComplianceRegister, id: string) =>
    register.controls.find(({ control_id }) => control_id === id);

  it('says of an empty window that there is nothing to look at, for every control', async () => {
    const { status, body } = await evidence();
    expect(status).toBe(200);
    expect(body).toMatchObject({
      schema_version: '3',
      generated_at: '2026-01-02T03:04:05.006Z',
      window: { from: '2026-01-02T00:00:00.000Z', to: '2026-01-03T00:00:00.000Z' },
      row_count: 0,
      chain_verify: {
        valid: true,
        entries_checked: 0,
        first_invalid_seq: null,
        cryptographic_status: 'unavailable',
        nothing_signed: true,
      },
    });
    const words = body.controls.map(({ narrative }) => narrative).filter((text) => /sign/.test(text));
    expect(words).toContain('0 verdicts; no row is signed (unavailable).');
    expect(words.join()).not.toMatch(/row signatures: /);
    expect(body.controls.map(({ control_id }) => control_id)).toEqual([
      'EU-AI-Act-Article-14',
      'EU-AI-Act-Article-15',
      'EU-AI-Act-Article-50',
      'ISO-27001-8.13',
      'SOC2-CC7.2',
      'SOC2-CC7.3',
      'SOC2-CC6.1',
      'NIST-AI-RMF-MEASURE-2.7',
      'NIST-AI-RMF-MANAGE-4.1',
      'NIST-AI-RMF-GOVERN-1.2',
      'NIST-GenAI-Profile-Content-Provenance',
    ]);
    expect(new Set(body.controls.map(({ status: what }) => what))).toEqual(new Set(['no_data']));
  });

  it('counts decisions by who took them, and names the first five', async () => {
    await gate.ledger.append([
      decision('oidc'),
      decision('console-bearer', 'hil.denied'),
      decision('system'),
      decision(null),
      decision('webauthn'),
      decision('oidc'),
      decision('oidc'),
      decision('oidc'),
    ]);
    const control = found((await evidence()).body, 'EU-AI-Act-Article-14');
    expect(control).toMatchObject({
      status: 'observed',
      metric: {
        human_decisions: 7,
        attested: 5,
        not_human: 1,
        provenance_summary: { 'console-bearer': 1, oidc: 4, system: 1, unrecorded: 1, webauthn: 1 },
      },
      sample_seqs: [1, 2, 4, 5, 6],
    });
    expect(found((await evidence()).body, 'NIST-AI-RMF-GOVERN-1.2')?.metric).toEqual(control?.metric);
  });

  it('counts denials, signals, narrowed envelopes and what rows committed to', async () => {
    const payload = '{"a":1}';
    await gate.ledger.append([
      testRow({ payload_sha256: sha256Hex(payload), payload_canonical_json: payload }),
      testRow({ authorized: false, signal: 'agent_revoked' }),
      testRow({ authorized: false }),
      testRow({ method: 'agent.envelope_narrowed', event_kind: 'agent.envelope_narrowed' }),
    ]);
    const { body } = await evidence();
    expect(body.row_count).toBe(4);
    expect(found(body, 'EU-AI-Act-Article-15')).toMatchObject({
      metric: { denials: 2, denials_signed: 0 },
      sample_seqs: [2, 3],
    });
    expect(found(body, 'SOC2-CC7.2')).toMatchObject({
      metric: { verdicts: 3, denials_with_signal: 1, signals: { agent_revoked: 1 } },
      sample_seqs: [2],
    });
    expect(found(body, 'SOC2-CC6.1')).toMatchObject({ metric: { envelopes_narrowed: 1 }, sample_seqs: [4] });
    expect(found(body, 'NIST-AI-RMF-MANAGE-4.1')?.sample_seqs).toEqual([2, 3, 4]);
    expect(found(body, 'NIST-GenAI-Profile-Content-Provenance')).toMatchObject({
      metric: { payload_sha256: 1 },
      sample_seqs: [1],
    });
    expect(found(body, 'ISO-27001-8.13')?.status).toBe('no_data');
  });

  it('never says that a law or a control is met', async () => {
    await gate.ledger.append([testRow(), testRow({ authorized: false }), decision('oidc')]);
    const { body } = await evidence();
    expect(body.disclaimer).toContain('no statement that any law, standard or control is met');
    const words = JSON.stringify({ ...body, disclaimer: '' }).toLowerCase();
    for (const verdict of ['satisfied', 'compliant', 'conform', 'fulfil', 'passed', 'is met'])
      expect(words).not.toContain(verdict);
  });

  it('counts rows of the window, the tenant, the session; none of an erased tenant', async () => {
    await gate.ledger.append([
      testRow({ correlation_id: '0badcafe-0000-4000-8000-000000000000', state_namespace: 'demo' }),
    ]);
    await gate.ledger.append([testRow({ tenant: 'gone' }), testRow({ tenant: 'other' })]);
    now = Date.parse('2026-01-03T00:00:00.000Z');
    await gate.ledger.append([testRow()]);
    await gate.ledger.erasure.tombstoneTenant('gone');
    await gate.ledger.erasure.cleanUpDemo();
    const rows = async (query: string) => (await evidence(query)).body.row_count;
    expect(await rows(WINDOW)).toBe(2);
    expect(await rows(`${WINDOW}&tenant=acme`)).toBe(1);
    expect(await rows(`${WINDOW}&tenant=gone`)).toBe(0);
    expect(await rows(`${WINDOW}&demo_session_token=0badcafe`)).toBe(1);
    expect(await rows('from=2026-01-03T00:00:00Z&to=2026-01-04T00:00:00Z&tenant=acme')).toBe(1);
  });

  it('gives the same bytes for the same window, but for generated_at', async () => {
    await gate.ledger.append([testRow(), decision('oidc'), decision('saml')]);
    const bytes = async () => JSON.stringify({ ...(await evidence()).body, generated_at: '' });
    const first = await bytes();
    now += 5000;
    expect(await bytes()).toBe(first);
  });

  it('tells that the chain has a fault, and counts all the same', async () => {
    await gate.ledger.append([testRow(), testRow()]);
    await gate.place.unlock();
    await gate.place.sql('update ledger_entries set reasoning = ? where seq = 1', ['x']);
    const { body } = await evidence();
    expect(body.chain_verify).toMatchObject({ valid: false, first_invalid_seq: 1 });
    expect(found(body, 'EU-AI-Act-Article-50')).toMatchObject({
      metric: { interactions: 2, chain_valid: false },
      narrative: '2 calls with a verdict row; the walk of the chain found a fault.',
    });
  });

  it.each([
    '',
    'from=2026-01-02T00:00:00Z',
    'from=x&to=y',
    `${WINDOW.replace('2026-01-03', '2026-01-01')}`,
    `${WINDOW.replace('2026-01-03', '2026-01-02')}`,
  ])('refuses the window ?%s', async (query) => {
    expect(await gate.call(`POST /compliance/evidence?${query}`)).toMatchObject({
      status: 400,
      body: { error: 'invalid_window' },
    });
  });

  it('is for the console, and 503 while the store is gone', async () => {
    for (const as of ['service-deep-review', 'service-proxy', 'agent-workload'])
      expect((await gate.call(`POST /compliance/evidence?${WINDOW}`, undefined, { as })).status).toBe(403);
    await gate.ledger.close();
    expect(await evidence()).toMatchObject({ status: 503, body: { error: 'ledger_store_unavailable' } });
  });
});
