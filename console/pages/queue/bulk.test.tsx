import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { render } from 'preact-render-to-string';
import { formOf } from '../../../api/console/form.js';
import type { PendingRequest } from '../../../contracts/review.js';
import { GateError } from '../../../domain/errors.js';
import { loadAnalyzer } from '../../../adapters/sandbox/analyzer.js';
import { type ConsoleFixture, openConsole, type TestBrowser } from '../../../test/support/console-over-hil.js';
import { eventually } from '../../../test/support/waiting.js';
import type { Shown, Visit } from '../../visit.js';
import { BULK_DENY, readTogether } from './bulk.js';
import { fieldIn, type Html, linksIn, partsIn, textOf, valuesIn, wordsIn } from '../../../test/support/html.js';

const rowsIn = (text: string) => valuesIn(text, 'row');
const waysBackIn = (text: string) =>
  linksIn(text).flatMap(({ href, words }) => (words.startsWith('Back') ? [[href, words]] : []));
const addressesIn = (text: Html) => linksIn(text).map(({ href }) => href);

describe('the pages of several calls lead back to where these were ticked', () => {
  const CASE = '30000000-0000-4000-8000-000000000003';
  let fixture: ConsoleFixture;
  let browser: TestBrowser;
  let rows: PendingRequest[];
  beforeEach(async () => {
    fixture = await openConsole();
    rows = [await fixture.hil.park(1), await fixture.hil.park(2)];
    browser = await fixture.browser();
  });
  afterEach(() => fixture.close());
  const ids = () => rows.map(({ id }) => id);
  const list = (text: string) => fieldIn(text, 'list');

  it('to the list with its filter and page, from each of them', async () => {
    const there = '/hil?q=payments&risk=unscored';
    const given = list((await browser.get(there)).text);
    const look = await browser.post('/hil/bulk', { id: ids(), decision: 'deny', list: given });
    expect(waysBackIn(look.text)).toEqual([[there, 'Back: nothing is denied']]);
    fixture.away.add('hil');
    const away = await browser.post('/hil/bulk/deny', { row: rowsIn(look.text), list: list(look.text) });
    expect(waysBackIn(away.text)).toEqual([[there, 'Back to the list']]);
    fixture.away.clear();
    const came = await browser.post('/hil/bulk/deny', { row: rowsIn(away.text), list: list(away.text) });
    expect(came.text).toContain('2 of 2 took your decision.');
    expect(waysBackIn(came.text)).toEqual([[there, 'Back to the list']]);
    expect(addressesIn(came.text)).toContain(`/hil/${rows[0]?.id}?q=payments&risk=unscored`);
  });

  it.each(['approve', 'deny'])('and the decision says that it was made for several at once: %s', async (decision) => {
    const look = await browser.post('/hil/bulk', { id: ids(), decision });
    const came = await browser.post(`/hil/bulk/${decision}`, { row: rowsIn(look.text) });
    expect(came.text).toContain('2 of 2 took your decision.');
    for (const id of ids())
      expect(await fixture.hil.reviews.get(id, 'acme')).toMatchObject({
        decided_via: 'bulk',
        decided_by: 'operator:dev',
      });
  });

  it('to the list where none of them waits any more, and where the form was not whole', async () => {
    for (const { id, original_payload_digest: digest } of rows)
      await browser.post(`/hil/${id}/deny`, { digest, request: '00000000-0000-4000-8000-0000000000aa' });
    const none = await browser.post('/hil/bulk', { id: ids(), decision: 'approve', list: 'q=payments' });
    expect([none.status, fieldIn(none.text, 'q')]).toEqual([400, 'payments']);
    const broken = await browser.post('/hil/bulk/approve', { row: 'x', list: 'q=payments' });
    expect([broken.status, fieldIn(broken.text, 'q')]).toEqual([400, 'payments']);
  });

  it('to the case', async () => {
    const look = await browser.post('/hil/bulk', { id: ids(), decision: 'deny', case: CASE });
    expect(waysBackIn(look.text)).toEqual([[`/cases/${CASE}`, 'Back: nothing is denied']]);
    const came = await browser.post('/hil/bulk/deny', { row: rowsIn(look.text), case: fieldIn(look.text, 'case') });
    expect(waysBackIn(came.text)).toEqual([[`/cases/${CASE}`, 'Back to the case']]);
  });

  it('and say each reason why a call waits by itself', async () => {
    const row = await fixture.hil.park(3, { review_reasons: ['money leaves', 'it is night'] });
    const look = await browser.post('/hil/bulk', { id: [row.id], decision: 'deny' });
    const said = partsIn(look.text, 'li').flatMap(({ inside: [first] }) =>
      typeof first === 'object' && first.tag === 'bdi' ? [wordsIn(first)] : [],
    );
    expect(said).toEqual(['money leaves', 'it is night']);
  });

  it.each([
    ['approve', 1],
    ['deny', 0],
  ])('and say of each what it is predicted to do, and what its approval does: %s', async (decision, effects) => {
    const verdict = {
      chain_version: 1,
      timestamp: '2026-11-02T10:00:00.000Z',
      seq: 1,
      prev_hash: '0'.repeat(64),
      entry_hash: '1'.repeat(64),
      agent_id: 'payments-agent',
      method: 'tools/call',
      intent_category: 'x',
      authorized: false,
      reasoning: '',
      policy_decision: { contract: 'gate.server-execution/v1' },
      event_kind: 'proxy.verdict',
      state_namespace: 'operator',
      tool_type: null,
      decided_by: null,
      status: null,
    };
    fixture.ledger = (path) =>
      path.startsWith('/audit/correlation/') ? [{ ...verdict, id: CASE, correlation_id: CASE }] : [];
    const call = { name: 'wire_transfer', arguments: { from: 'operating', to: 'vendor', amount: 25 } };
    const row = await fixture.hil.park(3, { sandbox_report: (await loadAnalyzer())('tools/call', call) });
    const look = await browser.post('/hil/bulk', { id: [row.id], decision });
    const words = wordsIn(look.text);
    expect(words).toContain('Predicted: risky move 25 to vendor (cannot be undone)');
    expect(words.split('Once it is approved, Gate executes it, once.')).toHaveLength(effects + 1);
  });

  describe('of calls with long arguments', () => {
    const call = (text: string) => ({
      request_payload: { method: 'tools/call', params: { name: 'wire_transfer', arguments: { text } } },
    });
    const shownOf = (text: string) => partsIn(text, 'pre').map((part) => textOf(part).length);
    const idsIn = (text: string) => rowsIn(text).map((row) => row.split(' ')[0]);

    it('shows what is approved together as a whole: what does not fit is not approved, and is a link', async () => {
      const long = await fixture.hil.park(3, call('x'.repeat(60_000)));
      const second = await fixture.hil.park(4, call('y'.repeat(60_000)));
      const small = await fixture.hil.park(5, call('z'));
      const look = await browser.post('/hil/bulk', { id: [long.id, second.id, small.id], decision: 'approve' });
      expect(idsIn(look.text)).toEqual([long.id, small.id]);
      expect(shownOf(look.text)[0]).toBeGreaterThan(60_000);
      expect(wordsIn(look.text)).toContain(
        '1 of those you ticked is not among them, as 100,000 characters of arguments are read together',
      );
      expect(addressesIn(look.text)).toContain(`/hil/${second.id}`);
    });

    it('says of those that do not fit that they may fit afterwards, and offers nothing to approve where none fits', async () => {
      const small = await fixture.hil.park(3, call('z'));
      const large = await fixture.hil.park(4, call('x'.repeat(150_000)));
      const hostile = await fixture.hil.park(5, call('1\u0417'.repeat(49_000)));
      const some = await browser.post('/hil/bulk', { id: [small.id, large.id], decision: 'approve' });
      expect(some.text).toContain('open it by itself, or tick it again after these, to see whether it fits then');
      const none = await browser.post('/hil/bulk', { id: [large.id, hostile.id], decision: 'approve' });
      expect(none.text).toContain('<h1>None of them can be approved here</h1>');
      expect(none.text).toContain('are more than the 100,000 characters that are read together. Open each by itself');
      for (const { id } of [large, hostile]) expect(addressesIn(none.text)).toContain(`/hil/${id}`);
      expect(none.text).not.toMatch(/0 calls|None is left|action="\/hil\/bulk/);
    });

    it('reads the smallest first: one that is too large to be read leaves the room to the others', async () => {
      const hostile = await fixture.hil.park(3, call('1\u0417'.repeat(49_000)));
      const small = await fixture.hil.park(4, call('x'.repeat(30_000)));
      const look = await browser.post('/hil/bulk', { id: [hostile.id, small.id], decision: 'approve' });
      expect(idsIn(look.text)).toEqual([small.id]);
    });

    it.each([
      ['that are small until they are shown', '1\u0417'.repeat(49_000)],
      ['of whole words that only look Latin', 'a\u0430 '.repeat(33_000)],
    ])('reads as much as of one, however many are ticked: %s', async (_, text) => {
      const { request_payload } = call(text);
      const visit = { services: { ledger: { call: () => Promise.resolve([]) } } } as unknown as Visit;
      // How often the request of a call is taken to be read.
      const readsOf = async (count: number): Promise<number> => {
        let reads = 0;
        const rows = Array.from({ length: count }, () => ({
          id: '',
          method: 'tools/call',
          get request_payload() {
            reads += 1;
            return request_payload;
          },
        }));
        const { calls } = await readTogether(rows as unknown as PendingRequest[], visit);
        expect(calls.length).toBeLessThanOrEqual(1);
        return reads;
      };
      const one = await readsOf(1);
      expect(one).toBeGreaterThanOrEqual(2);
      // Each of the others is measured, which is once.
      expect(await readsOf(50)).toBe(one + 49);
    });

    it('shows the beginning of each that is denied, so that hostile ones are one small page', async () => {
      const hostile = [];
      for (let at = 3; at < 9; at += 1) hostile.push(await fixture.hil.park(at, call('1\u0417'.repeat(49_000))));
      const look = await browser.post('/hil/bulk', { id: hostile.map(({ id }) => id), decision: 'deny' });
      expect(idsIn(look.text)).toEqual(hostile.map(({ id }) => id));
      expect(Math.max(...shownOf(look.text))).toBeLessThan(20_000);
      const beginnings = partsIn(look.text, 'p').filter((part) => wordsIn(part).startsWith('Their beginning: '));
      expect(beginnings.flatMap(addressesIn)).toContain(`/hil/${hostile[5]?.id}`);
      const approved = await browser.post('/hil/bulk', { id: hostile.map(({ id }) => id), decision: 'approve' });
      expect(approved.text.length).toBeLessThan(1_000_000);
      expect(idsIn(approved.text).length).toBeLessThanOrEqual(1);
    });
  });

  it.each([{ decision: 'x' }, { decision: 'modify' }, { decision: '' }, {}])(
    'and lead to no approval where the form says another decision than there is: %j',
    async (said) => {
      const look = await browser.post('/hil/bulk', { id: ids(), ...said });
      expect([look.status, rowsIn(look.text)]).toEqual([400, []]);
      expect(look.text).toContain('decision: is approve or deny');
    },
  );

  it('and nowhere else, whatever a form says', async () => {
    const look = await browser.post('/hil/bulk', { id: ids(), decision: 'deny', case: '../evil', list: '//evil' });
    expect(waysBackIn(look.text)).toEqual([['/hil', 'Back: nothing is denied']]);
  });
});

describe('what became of several calls', () => {
  const ID = (n: number) => `00000000-0000-4000-8000-00000000000${n}`;
  const FORM = formOf({ row: [1, 2, 3].map((n) => `${ID(n)} digest ${ID(9)}`) });
  const faster = () => Promise.reject<PendingRequest>(new GateError('already_decided'));

  /** Somebody who denies three calls at a review service that answers as told. */
  function denied(over: {
    readonly row?: () => Promise<PendingRequest | null>;
    readonly stands?: () => Promise<boolean>;
    readonly decide?: () => Promise<PendingRequest>;
  }) {
    const sent: string[] = [];
    const hil = {
      decide: (id: string) => {
        sent.push(id);
        return (over.decide ?? faster)();
      },
      row: over.row ?? (() => Promise.resolve(null)),
    };
    const stands = over.stands ?? (() => Promise.resolve(true));
    const visit = { csrf: '', nowMs: 0, params: {}, query: {}, stands, services: { hil } } as unknown as Visit;
    return { sent, came: BULK_DENY.act(visit, FORM) as Promise<Shown> };
  }
  const told = ({ body }: Shown) => wordsIn(render(body));

  it('waits for no row that is read again while others are still to be decided', async () => {
    const reads: (() => void)[] = [];
    const { sent, came } = denied({ row: () => new Promise((done) => reads.push(() => done(null))) });
    await eventually('all three are sent', () => sent.length === 3);
    expect(reads).toHaveLength(3);
    for (const answer of reads) answer();
    expect(told(await came).match(/already_decided/g)).toHaveLength(3);
  });

  it.each(['unauthenticated', 'console_neighbour_away'] as const)(
    'is told also where a row cannot be read again: %s',
    async (code) => {
      const { came } = denied({ row: () => Promise.reject(new GateError(code)) });
      expect(told(await came).match(/already_decided/g)).toHaveLength(3);
    },
  );

  it.each([
    ['console_neighbour_away', { in_doubt: true }],
    ['orchestrator_unavailable', {}],
  ] as const)('counts apart of which it is not known, and what was not sent: %s', async (code, fields) => {
    const { came } = denied({ decide: () => Promise.reject(new GateError(code, undefined, { fields })) });
    expect((await came).notice?.text).toBe(
      '0 of 3 are known to have taken your decision; of 1 it is not known, and 2 were not sent.',
    );
    const sure = denied({ decide: () => Promise.reject(new GateError('decision_not_sent')) });
    expect((await sure.came).notice?.text).toBe('0 of 3 took your decision.');
  });

  it('is told also where it cannot be said any more who is signed in', async () => {
    const { sent, came } = denied({ stands: () => Promise.reject(new GateError('store_unavailable')) });
    const text = told(await came);
    expect(sent).toEqual([ID(1)]);
    expect(text.match(/it cannot be said whether you are signed in/g)).toHaveLength(2);
  });
});
