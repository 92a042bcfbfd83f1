import { describe, expect, it } from '@jest/globals';
import type { NewLedgerRow } from '../../../contracts/ledger.js';
import { consoleHere } from '../../../test/support/console-over-ledger.js';
import { committed, testRow } from '../../../test/support/ledger.js';
import { partsIn, wordsIn } from '../../../test/support/html.js';

const CALL = '55555555-5555-4555-8555-555555555555';

const here = consoleHere();

const kind = (name: string, decision: object): Partial<NewLedgerRow> => ({
  method: name,
  event_kind: name,
  policy_decision: decision as NewLedgerRow['policy_decision'],
});
const put = (path: readonly string[], value: string | number) => ({ path, value });
const changed = (...replacements: object[]) =>
  kind('hil.modified', {
    decided_by: 'operator:dev',
    modification_diff: { contract: 'gate.hil.modification-diff/v1', replacements },
  });
const APPROVED = kind('hil.approved', { decided_by: 'operator:dev' });
const RAN = kind('upstream.outcome', { stage: 'completed', status_code: 200 });

const REVIEW = {
  id: '77777777-7777-4777-8777-777777777777',
  correlation_id: CALL,
  agent_id: 'agent-a',
  agent_spiffe: null,
  method: 'tools/call',
  request_payload: {},
  risk_summary: '',
  review_reasons: [],
  created_at: '2026-11-02T10:00:00.000Z',
  ttl_seconds: 600,
  status: 'approved',
  decided_at: null,
  decided_by: 'operator:dev',
  decision_reason: null,
  decided_via: 'console',
  modification_diff: {
    contract: 'gate.hil.modification-diff/v1',
    replacements: [{ path: ['amount'], value: 33 }],
  },
  approver_provenance: null,
  approver_assertion: null,
  credential_kind: null,
  original_payload_digest: 'sha256:0',
  approval_tier: null,
  tenant: 'acme',
  state_namespace: 'operator',
  retention: {},
};

/** The words of the page of a call with these parameters and rows, and its part about the request. */
async function told(params: object, rows: readonly Partial<NewLedgerRow>[], method = 'tools/call') {
  await here.gate.ledger.append(
    [
      { policy_decision: { outcome: 'park', tier: 'yellow', rpc_method: method }, ...committed({ method, params }) },
      ...rows,
    ].map((row) => testRow(row)),
  );
  const html = (await here.page.get(`/audit/correlation/${CALL}`)).text;
  const table = /<section aria-labelledby="request">.*?<\/section>/s.exec(html)?.[0] ?? '';
  return { html, table, cells: partsIn(table, /^t[hd]$/).map(wordsIn) };
}
const PAY = { name: 'pay', arguments: { amount: 1, to: 'eve', password: 'hunter2-hunter2' } };

describe('the page of a call whose arguments an approver changed', () => {
  it('says what ran beside what the agent sent, before that, and in its first line', async () => {
    const { html, table, cells } = await told(PAY, [changed(put(['amount'], 33)), APPROVED, RAN]);
    expect(cells).toEqual(['Argument', 'As the agent sent it', 'As it ran', 'amount', '1', '33']);
    expect(table).toContain('Not as its agent sent it:');
    expect(table.indexOf('As it ran')).toBeLessThan(table.indexOf('<pre'));
    expect(partsIn(html, 'p', { class: 'headline' }).map(wordsIn)).toEqual([
      expect.stringContaining('arguments changed'),
    ]);
  });

  it.each([
    ['As approved', [APPROVED]],
    ['As changed', []],
  ])('calls it "%s" where nothing ran', async (word, rows) => {
    expect((await told(PAY, [changed(put(['amount'], 33)), ...rows])).cells[2]).toBe(word);
  });

  it('shows each new value as the ledger keeps it, as text, beside the old one masked', async () => {
    const { cells, table } = await told(PAY, [
      changed(put(['password'], 'hunter3-hunter3'), put(['to'], '<img src=x>')),
      RAN,
    ]);
    expect(cells.slice(3)).toEqual(['password', '[MASKED]', 'hunter3-hunter3', 'to', 'eve', '<img src=x>']);
    expect(table).not.toContain('hunter2');
  });

  it('finds the argument of a call of a batch', async () => {
    const calls = [{ id: 'a', name: 'pay', arguments: { amount: 5 } }];
    const { cells } = await told(
      { calls },
      [changed(put(['calls', '0', 'arguments', 'amount'], 6)), RAN],
      'gate/tools.batch',
    );
    expect(cells.slice(4)).toEqual(['5', '6']);
  });

  it('says of a call that nobody changed that it is as its agent sent it', async () => {
    const { html, table } = await told(PAY, [APPROVED, RAN]);
    expect(html).not.toContain('arguments changed');
    expect(table).not.toContain('<table');
  });

  it('says in its review that the approval was one with changes', async () => {
    here.page.review = { status: 200, body: REVIEW };
    expect(wordsIn((await told(PAY, [changed(put(['amount'], 33)), APPROVED, RAN])).html)).toContain(
      'approved with changed arguments by operator:dev',
    );
  });
});
