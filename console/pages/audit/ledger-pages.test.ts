import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { NewLedgerRow } from '../../../contracts/ledger.js';
import { sidecarSha256 } from '../../../domain/ledger/sidecar-digest.js';
import { WITHDRAWN_BY_AGENT } from '../../../domain/decision/transitions.js';
import { type ConsoleOverLedger, consoleOverLedger } from '../../../test/support/console-over-ledger.js';
import { testRow } from '../../../test/support/ledger.js';
import { ledgerService, type TestLedgerService } from '../../../test/support/ledger-service.js';
import { linkOf, linksIn, partsIn, rowsOf, valuesIn, wordsIn } from '../../../test/support/html.js';

const CALL = '55555555-5555-4555-8555-555555555555';
const PAYLOAD =
  '{"method":"tools/call","params":{"arguments":{"password":"hunter2","to":"<img src=x>\u202e"},"name":"pay"}}';
const HOSTILE = '<script>alert(1)</script>\u202e"\'';
const INERT = '&lt;script>alert(1)&lt;/script>\\u{202e}';
const PAGES = [
  '/audit',
  '/audit/hunt',
  `/audit/correlation/${CALL}`,
  '/audit/agents/agent-a/narrative',
  '/agents',
  '/agents/agent-a',
] as const;

let gate: TestLedgerService;
let page: ConsoleOverLedger;
beforeEach(async () => {
  gate = await ledgerService('sqlite');
  page = consoleOverLedger(() => gate);
});
afterEach(async () => {
  await page.close();
  await gate.close();
});
const append = (...rows: Partial<NewLedgerRow>[]) => gate.ledger.append(rows.map((row) => testRow(row)));
const rowsIn = (text: string) => partsIn(text, 'td', { 'data-head': 'row' }).map((cell) => Number(wordsIn(cell)));
const text = async (path: string) => (await page.get(path)).text;
const told = async (path: string) => wordsIn(await text(path));

describe('pages over the ledger', () => {
  it.each(PAGES)('%s leads nobody anywhere but to the sign-in', async (path) => {
    const { status, headers } = await page.get(path, { as: null });
    const to = `/login?${new URLSearchParams({ return_to: path }).toString()}`;
    expect([status, headers['location']]).toEqual([303, to]);
    expect(page.asked).toEqual([]);
  });

  it.each(PAGES)('%s says that the ledger is away, and is a page all the same', async (path) => {
    page.ledgerIsAway = true;
    const found = await page.get(path);
    expect(found.status).toBe(200);
    expect(found.text).toContain('The ledger is away');
    expect(found.text).toContain('</html>');
  });

  it.each(PAGES)('%s shows what an agent wrote as text', async (path) => {
    await append(
      {
        agent_id: 'agent-a',
        tool_name: HOSTILE,
        reasoning: HOSTILE,
        signal: HOSTILE.slice(0, 64),
        policy_decision: { outcome: 'deny', reasons: [HOSTILE] },
      },
      { agent_id: HOSTILE, tool_name: HOSTILE, reasoning: HOSTILE, policy_decision: { outcome: HOSTILE } },
    );
    const found = await text(path);
    expect(found).toContain(INERT);
    expect(found).not.toContain('<script>alert');
    expect(found).not.toContain('\u202e');
    // The policy of the pages forbids both.
    expect(found).not.toMatch(/ style=| on[a-z]+="/);
  });

  it.each(PAGES)('%s shows nothing of another tenant', async (path) => {
    await append({ tenant: 'globex', agent_id: 'globex-bot', tool_name: 'globex_tool', reasoning: 'globex only' });
    expect(await text(path)).not.toMatch(/globex/);
    expect((await page.get('/audit', { as: 'globex' })).text).toContain('globex-bot');
  });
});

describe('the audit page', () => {
  beforeEach(() =>
    append(
      { agent_id: 'pay-bot', tool_name: 'pay', policy_decision: { outcome: 'deny' } },
      { agent_id: 'pay-bot-2', tool_name: 'read', policy_decision: { outcome: 'allow' } },
      { agent_id: 'other', method: 'hil.created', event_kind: 'hil.created' },
    ),
  );

  it.each([
    ['', [3, 2, 1]],
    ['?agent=pay-bot', [1]],
    ['?agent=PAY-*', [2, 1]],
    ['?agent=*-bot', [1]],
    ['?agent=pay_bot*', []],
    ['?verdict=deny', [1]],
    ['?methods=hil.created', [3]],
    ['?tool=read', [2]],
    ['?agent=pay-*&tool=pay&verdict=allow', []],
    ['?window=1h', [3, 2, 1]],
    ['?from=2999-01-01', []],
    ['?to=2001-01-01%2000:00', []],
    ['?before=3', [2, 1]],
    ['?before=x', [3, 2, 1]],
  ] as const)('%s shows %j', async (address, seqs) => {
    expect(rowsIn(await text(`/audit${address}`))).toEqual(seqs);
  });

  it('says that the place in an address is none, and shows the newest; as a file it gives none', async () => {
    for (const place of ['x', '-1', '99999999999999999999']) {
      expect(await told(`/audit?before=${place}`)).toContain('These rows have no such place as this address names');
      expect(rowsIn(await text(`/audit?before=${place}`))).toEqual([3, 2, 1]);
      expect((await page.get(`/audit/export?before=${place}`)).status).toBe(400);
    }
    expect(await told('/audit?before=2')).not.toContain('no such place as this address names');
    expect(await told('/audit?before=')).not.toContain('no such place as this address names');
  });

  it.each(['hunt', 'replay', '.', '..', 'a/b?c', 'agent/rows'])(
    'shows the rows of an agent named %j',
    async (agent) => {
      await append({ agent_id: agent });
      expect(rowsIn(await text(`/audit?agent=${encodeURIComponent(agent)}`))).toEqual([4]);
    },
  );

  it.each(['.', '..', '-', 'a/b?c'])(
    'leads to what an agent named %j did, as browsers resolve links',
    async (agent) => {
      await append({ agent_id: agent, method: 'tools/call', tool_name: 'pay' });
      const followed = async (from: string, words: string | RegExp) => {
        const { pathname, search } = new URL(linkOf(await text(from), words), `http://localhost${from}`);
        return pathname + search;
      };
      const over = await followed('/agents', agent);
      expect(await told(over)).toContain(`${agent} How it stands`);
      const week = await followed(over, '7d');
      expect(await told(week)).toContain(`${agent} How it stands`);
      const did = await followed(week, /^what it did/);
      expect(await told(did)).toContain(`What ${agent} did`);
      expect(await text(did)).toContain('class="headline"');
      expect(await told(await followed(did, '30d'))).toContain(`What ${agent} did`);
      expect(await followed(`/audit?agent=${encodeURIComponent(agent)}`, /^what /)).toContain('narrative');
    },
  );

  it('says of a name that no agent can have why it is refused', async () => {
    const found = await page.get('/audit?agent=a%00b');
    expect([found.status, found.text]).toEqual([400, expect.stringContaining('no store keeps')]);
  });

  it('keeps what was asked in the form and in the address of the next page, a hundred rows at a time', async () => {
    await append(...Array.from({ length: 100 }, () => ({ agent_id: 'many' })));
    const found = await text('/audit?agent=many&window=24h');
    expect(rowsIn(found)).toHaveLength(100);
    expect(valuesIn(found, 'agent')).toContain('many');
    expect(valuesIn(found, 'window')).toContain('24h');
    expect(linksIn(found).map(({ href }) => href)).toContain('/audit?agent=many&window=24h&before=4');
    expect(rowsIn(await text('/audit?agent=many&window=24h&before=4'))).toEqual([]);
  });

  it.each([
    ['agent=nobody&agent=pay-bot', 'agent: stands twice in this address'],
    ['before=2&before=3', 'before: stands twice in this address'],
    ['agnt=pay-bot', 'agnt: is asked of nothing here, only agent, verdict,'],
    ['constructor=1', 'constructor: is asked of nothing here'],
  ])('reads an address as its export does, and shows nothing else for it: %s', async (address, why) => {
    const shown = await page.get(`/audit?${address}`);
    expect([shown.status, shown.text]).toEqual([400, expect.stringContaining(why)]);
    expect(rowsIn(shown.text)).toEqual([]);
    // What is left of such an address may be everything.
    expect(linksIn(shown.text).filter(({ href }) => href?.startsWith('/audit/export'))).toEqual([]);
    for (const as of ['', '&as=csv']) {
      const file = await page.get(`/audit/export?${address}${as}`);
      expect([file.status, file.text]).toEqual([400, expect.stringContaining(why)]);
    }
  });

  it('finds rows by a signal, and does not take all of them for those', async () => {
    expect(rowsIn(await text('/audit'))).not.toEqual([]);
    const found = await text('/audit?signal=decoy_tripped');
    expect(rowsIn(found)).toEqual([]);
    expect(valuesIn(found, 'signal')).toContain('decoy_tripped');
    expect((await page.get('/audit/export?signal=decoy_tripped')).text).toBe('{"export":"complete","rows":0}\n');
  });

  it('says why a window is none, with the code, and keeps what was typed', async () => {
    const both = await page.get('/audit?authorized=false');
    expect([both.status, both.text.includes('authorized: is asked of a hunt alone')]).toEqual([400, true]);
    expect((await page.get('/audit/export?authorized=false')).status).toBe(400);
    const found = await page.get('/audit?from=yesterday');
    expect(found.status).toBe(400);
    expect(found.text).toContain('invalid_window');
    expect(valuesIn(found.text, 'from')).toContain('yesterday');
    for (const typed of ['from=2026-02-30', 'to=03:04', 'from=2026-01-02T03:04:05', 'to=2026-01-02 25:00']) {
      const { status, text } = await page.get(`/audit?${typed.replace(' ', '%20')}`);
      const ok = typed === 'from=2026-01-02T03:04:05';
      expect([typed, status]).toEqual([typed, ok ? 200 : 400]);
      // In the form of the field, and nothing to keep.
      const field = typed.startsWith('from') ? 'From' : 'To';
      expect([typed, text.includes(`${field} is no time: write a day, 2026-01-02, or`)]).toEqual([typed, !ok]);
      expect([typed, text.includes('Keep this search as')]).toEqual([typed, ok]);
    }
  });

  it.each(['/audit', '/audit/hunt', '/audit/export'])(
    'refuses a relative window that it does not know: %s',
    async (path) => {
      for (const window of ['2h', '90d', 'constructor']) {
        const found = await page.get(`${path}?window=${window}`);
        expect([found.status, found.text]).toEqual([400, expect.stringContaining('invalid_window')]);
        expect(found.text).toContain('15m, 1h, 24h, 7d, 30d');
      }
    },
  );

  it('says whether the chain holds', async () => {
    expect(await told('/audit')).toContain('The chain holds: 3 rows');
    await page.close();
    await gate.place.unlock();
    await gate.place.sql("update ledger_entries set reasoning = 'edited' where seq = 2");
    page = consoleOverLedger(() => gate);
    expect(await told('/audit')).toContain('The chain does not hold');
  });

  it('marks in a hunt what is no agent, and lets nobody put it into a case', async () => {
    const own = (agent_id: string, kind: string) => ({ agent_id, method: kind, event_kind: kind as never });
    await append(
      own('gate-policy-engine', 'policy.created'),
      own('tenant:acme', 'tenant.provisioned'),
      own('gate-ledger', 'regulatory.exported'),
      // An agent may be called so.
      own('gate-proxy', 'proxy.verdict'),
      own('gate-proxy', 'alarm.reconciled'),
    );
    const { text: found } = await page.get('/audit/hunt');
    const rowFor = (agent: string) => {
      const [row = ''] = partsIn(found, 'tr').filter((part) => linksIn(part).some(({ words }) => words === agent));
      const [tag] = partsIn(row, 'span', { class: 'tag none' });
      return [tag === undefined ? null : wordsIn(tag), partsIn(row, 'input', { type: 'checkbox' }).length === 1];
    };
    expect(rowFor('gate-policy-engine')).toEqual(['service of Gate', false]);
    expect(rowFor('gate-ledger')).toEqual(['service of Gate', false]);
    expect(rowFor('tenant:acme')).toEqual(['tenant', false]);
    expect(rowFor('gate-proxy')).toEqual([null, true]);
    expect(rowFor('pay-bot')).toEqual([null, true]);
  });

  it.each([
    ['signal=tool_definition_injection', 'tool_definition.drifted'],
    ['methods=call.aborted', 'call.aborted'],
    ['methods=callback.delivered', 'callback.delivered'],
  ])('takes an agent that is called as a service is for one, whichever rows fit: %s', async (asked, kind) => {
    await append(
      ...['gate-proxy', 'gate-ledger'].map((agent_id) => ({
        agent_id,
        method: kind,
        event_kind: kind as never,
        signal: 'tool_definition_injection',
      })),
      { agent_id: 'gate-proxy' },
      { agent_id: 'gate-ledger' },
    );
    const { text: found } = await page.get(`/audit/hunt?${asked}`);
    expect(found).not.toContain('service of Gate');
    expect(found.match(/type="checkbox"/g)).toHaveLength(2);
  });

  it('hunts for the agents behind rows, and says so where there are none', async () => {
    expect(await told('/audit/hunt?methods=proxy.verdict')).toMatch(/pay-bot.*1.*pay-bot-2/);
    expect(await told('/audit/hunt?signal=decoy_tripped')).toContain('Nobody.');
    expect((await page.get('/audit/hunt?from=x')).status).toBe(400);
  });
});

describe('the page of a call', () => {
  const story = async () =>
    append(
      {
        tool_name: 'pay',
        reasoning: 'Review: Wire transfers require human approval.',
        policy_decision: {
          outcome: 'park',
          tier: 'yellow',
          reasons: ['No spare money'],
          review_reasons: ['Ask first'],
        },
        payload_sha256: sidecarSha256(PAYLOAD),
        payload_canonical_json: PAYLOAD,
      },
      {
        method: 'brain.inspection',
        event_kind: 'brain.inspection',
        reasoning: 'nothing speaks against it',
        policy_decision: { available: true },
        brain_scores: { injection_confidence: 2500 },
      },
      { method: 'hil.approved', event_kind: 'hil.approved', policy_decision: { decided_by: 'operator:dev' } },
      {
        method: 'upstream.outcome',
        event_kind: 'upstream.outcome',
        policy_decision: { stage: 'failed', status_code: 502, duration_ms: 12 },
      },
      {
        method: 'alarm.call_stuck',
        event_kind: 'alarm.call_stuck',
        reasoning: 'answered 410',
        policy_decision: { duty: 'callback' },
      },
    );

  it('tells verdict, scores, rules, result, the undelivered callback, and each row in words', async () => {
    await story();
    const words = await told(`/audit/correlation/${CALL}`);
    for (const part of [
      'No spare money',
      'Ask first',
      'injection confidence',
      '25 %',
      '502',
      '12 ms',
      'callback address was given up',
      'operator:dev approved',
    ])
      expect(words).toContain(part);
    const links = linksIn(await text(`/audit/correlation/${CALL}`)).map(({ href }) => href);
    expect(links).toContain(`/audit/correlation/${CALL}/proof?seq=4`);
  });

  it('says that nothing ran of a denied one, and shows no drift of an agent of which none is measured', async () => {
    await append(
      {
        tool_name: 'delete_file',
        reasoning: 'Violation: destructive tools are not allowed.',
        policy_decision: { outcome: 'deny', tier: 'red' },
      },
      {
        method: 'brain.inspection',
        event_kind: 'brain.inspection',
        reasoning: 'nothing speaks against it',
        policy_decision: { available: true },
        brain_scores: { drift_available: false, persona_drift_score: 0, injection_confidence: 0 },
      },
    );
    const words = await told(`/audit/correlation/${CALL}`);
    expect(words).toContain('None: the call was denied, and nothing ran.');
    expect(words).toContain('drift available');
    expect(words).not.toContain('persona drift score');
  });

  it.each([
    ['hil.denied', 'operator:dev', 'gate.server-execution/v1', 'denied', 'None: the call was denied, and nothing ran.'],
    [
      'hil.denied',
      WITHDRAWN_BY_AGENT,
      'gate.server-execution/v1',
      'withdrawn',
      'None: its agent took the call back, and nothing ran.',
    ],
    [
      'hil.expired',
      'system:ttl-sweep',
      'gate.server-execution/v1',
      'expired',
      'None: nobody decided in time, and nothing ran.',
    ],
    [
      'alarm.record_tampered',
      'system:gate',
      'gate.server-execution/v1',
      'tampered',
      'Not known: its record is not what',
    ],
    ['hil.approved', 'operator:dev', 'gate.server-execution/v1', null, 'None yet: nothing ran, or it has not ended.'],
    [
      'hil.approved',
      'operator:dev',
      'gate.decision/v1',
      null,
      'Gate executes nothing here: its agent asked for the decision',
    ],
  ])('says of a parked one what %s by %s under %s came to', async (kind, by, contract, tag, result) => {
    await append(
      { policy_decision: { outcome: 'park', tier: 'yellow', contract } },
      { method: kind, event_kind: kind, policy_decision: { decided_by: by } },
    );
    expect(await told(`/audit/correlation/${CALL}`)).toContain(result);
    const tags = partsIn(await text(`/audit/correlation/${CALL}`), 'span', { class: 'tag said deny' });
    expect(tags.map((one) => wordsIn(one).split(' ')[0])).toEqual(tag === null ? [] : [tag]);
  });

  it.each([
    ['simulator', [2, 0, 0]],
    ['', [0, 1, 1]],
  ])(
    'says of a review without a verdict, by its source %j, that no call asked for it, or that the row is missing',
    async (source, times) => {
      await append(
        { method: 'hil.created', event_kind: 'hil.created', policy_decision: null, source },
        { method: 'hil.approved', event_kind: 'hil.approved', policy_decision: { decided_by: 'operator:dev' }, source },
      );
      const page = await told(`/audit/correlation/${CALL}`);
      const words = [
        'None: this is a rehearsal, a review without a call.',
        'The row of its verdict is missing: a call waits for a person only after that is written.',
        'Not known: it was approved, and the row of its verdict is missing',
      ];
      expect(words.map((one) => page.split(one).length - 1)).toEqual(times);
    },
  );

  it('leads from the words of a verdict to the rules of now that say them, and to none while policy is away', async () => {
    await story();
    expect(await text(`/audit/correlation/${CALL}`)).not.toContain('href="/policies/');
    const rule = { rule: 'deny', description: null };
    const file = { content_type: 'rego', active: true, protected: true, as_shipped: true, current_version: 1 };
    const said = {
      tenant: null,
      domain: null,
      severity: null,
      frameworks: [],
      tags: [],
      tool_surface: [],
      deleted_at: null,
      created_at: null,
      updated_at: null,
    };
    const more = { summary: null, tier: null, package: 'gate.authz', body_sha256: 'b'.repeat(64), bytes: 1, ...said };
    page.policy = () => ({
      bundle: { schema_version: 1, version: '1', hash_sha256: 'a'.repeat(64), policy_count: 1 },
      origin: {
        directory: 'p',
        loaded_at: '2026-11-02',
        wasm_sha256: 'b'.repeat(64),
        opa_version: '1',
        entrypoints: [],
      },
      policies: [
        {
          ...file,
          ...more,
          name: 'money.rego',
          rules: [
            { ...rule, line: 7, title: 'Spare money', reason: 'No spare money' },
            { ...rule, line: 20, title: 'Another', reason: 'Something else' },
          ],
        },
        { ...file, ...more, name: 'ask.rego', rules: [{ ...rule, line: 3, title: null, reason: 'Ask %s' }] },
      ],
    });
    const found = await text(`/audit/correlation/${CALL}`);
    expect(linksIn(found).filter(({ href }) => href.startsWith('/policies/'))).toEqual([
      { href: '/policies/money.rego#L7', words: 'Spare money' },
      { href: '/policies/ask.rego#L3', words: 'ask.rego' },
    ]);
  });

  it('says that the callback address was told, and what', async () => {
    await append({
      correlation_id: CALL,
      method: 'callback.delivered',
      event_kind: 'callback.delivered',
      policy_decision: { status: 'denied' },
    });
    expect(await told(`/audit/correlation/${CALL}`)).toMatch(/callback address was told .*: denied/);
  });

  it('masks the request', async () => {
    await story();
    const found = await text(`/audit/correlation/${CALL}`);
    expect(found).toContain('&lt;img src=x>\\u{202e}');
    expect(found).not.toContain('hunter2');
  });

  it('says who decided from the review service, and what is shown without it', async () => {
    await story();
    page.review = { status: 503, body: { error: 'hil_store_unavailable', reason: 'down' } };
    expect(await told(`/audit/correlation/${CALL}`)).toMatch(/The review service is away.*What happened/);
  });

  it('is 404 for a call that nobody made, or somebody else, and for what is no id', async () => {
    await story();
    for (const [id, as] of [
      ['88888888-8888-4888-8888-888888888888', 'acme'],
      ['x', 'acme'],
      [CALL, 'globex'],
    ] as const) {
      const found = await page.get(`/audit/correlation/${id}`, { as });
      expect([id, found.status]).toEqual([id, 404]);
      expect(found.text).toContain('No call has this id in your tenant.');
    }
  });
});

describe('the page of agents', () => {
  it('counts by tool and verdict, draws it, and has the numbers as a table', async () => {
    const did = (outcome: string, tool_name: string) => ({
      agent_id: 'pay-bot',
      tool_name,
      policy_decision: { outcome },
    });
    const refused = (by: string) => ({
      ...did('x', 'pay'),
      method: 'hil.denied',
      event_kind: 'hil.denied',
      policy_decision: { decided_by: by },
    });
    // The second one its agent took back.
    await append(
      did('allow', 'read'),
      did('deny', 'pay'),
      did('park', 'pay'),
      refused('operator:dev'),
      refused('system:withdrawn-by-agent'),
    );
    const found = await text('/agents?window=1h');
    expect(found).toContain('aria-label="1 allowed, 1 sent to a person, 1 denied"');
    for (const part of ['allow', 'park', 'deny'])
      expect(partsIn(found, 'rect', { class: part, x: /^18/ })).not.toEqual([]);
    const words = wordsIn(found);
    expect(words).toContain('pay-bot 3 1 1 (1 refused) 1');
    expect(words).toContain('pay 0 1 1');
    expect(words).toContain('read 1 0 0');
    expect(words).toMatch(/Over time, from Calls To people Denied (?:[^ ]+ )+3 1 1 /);
    // In the colours of the legend, over an axis that says its times.
    const bars = /<svg[^>]*aria-label="Calls, [^>]*>.*?<\/p>/s.exec(found)?.[0] ?? '';
    expect([...bars.matchAll(/<rect [^>]*class="([^"]*)"/g)].map(([, tone]) => tone)).toEqual([
      'allow',
      'park',
      'deny',
    ]);
    expect(bars.match(/<span>\d\d-\d\d \d\d:\d\d<\/span>/g)).toHaveLength(2);
  });

  it('tells one agent over time by tool and tier: drawn, and as a table behind each chart', async () => {
    const did = (tier: string, tool_name: string, approval_tier: string | null = null) => ({
      agent_id: 'pay/bot',
      tool_name,
      policy_decision: { outcome: { green: 'allow', yellow: 'park' }[tier] ?? 'deny', tier, approval_tier },
    });
    await append(did('green', 'read'), did('yellow', 'pay', 'strict'), did('red', 'pay'), {
      ...did('green', 'read'),
      agent_id: 'other',
    });
    expect(linkOf(await text('/agents?window=1h'), 'pay/bot')).toBe('/agents/pay%2Fbot?window=1h');
    const found = await text('/agents/pay%2Fbot?window=1h');
    expect(page.asked).toContain('/analysis/agent-activity?tenant=acme&since_hours=1&agent_id=pay%2Fbot');
    for (const tier of ['green', 'strict', 'red'])
      expect(partsIn(found, 'rect', { class: tier, x: '461', width: '18' })).not.toEqual([]);
    const words = wordsIn(found);
    expect(words).toContain('All 3 calls, 2 tools');
    expect(words).toMatch(
      /From allowed for several people denied (?:[^ ]+ )+1 1 1 By tool pay 1 for several people, 1 denied (?:[-0-9]{5} [:0-9]{5}){2} As a table/,
    );
    expect(words).toMatch(/As a table From allowed for several people denied (?:[^ ]+ )+0 1 1 read 1 allowed/);
    expect(found.match(/<svg/g)).toHaveLength(3);
    expect(found.match(/<table/g)).toHaveLength(3);
    expect(await told('/agents/nobody')).toContain('It called nothing in this window.');
  });

  it('says who is silent since when, and whose behaviour changed in what, whatever they are called', async () => {
    const DAY_MS = 86_400_000;
    let now = Date.parse('2026-03-10T12:30:00.000Z');
    await page.close();
    await gate.close();
    gate = await ledgerService('sqlite', { ledger: { clock: () => now } });
    page = consoleOverLedger(
      () => gate,
      () => now,
    );
    const calls = (agent_id: string, tool_name: string, many = 50) =>
      append(...Array.from({ length: many }, () => ({ agent_id, tool_name })));
    await calls(`changed ${HOSTILE}`, `old ${HOSTILE}`);
    await calls('steady', 'read');
    now += 8 * DAY_MS;
    await calls(`silent ${HOSTILE}`, 'read', 1);
    now += 2 * DAY_MS;
    await calls(`changed ${HOSTILE}`, `new ${HOSTILE}`);
    await calls('steady', 'read');
    // A window ends before now.
    now += 1_000;
    const found = await text('/agents');
    const SHOWN = `<script>alert(1)</script>\\u{202e}"'`;
    expect(rowsOf(found, 'Silent agents').map(wordsIn)).toEqual([
      `silent ${SHOWN} 2 days ago (2026-03-18 12:30:00 UTC)`,
    ]);
    const silent = `/audit?${new URLSearchParams({ agent: `silent ${HOSTILE}` }).toString()}`;
    expect(linksIn(found).map(({ href }) => href)).toContain(silent);
    expect(rowsOf(found, 'Changed behaviour').map(wordsIn)).toEqual([
      `changed ${SHOWN} 100 % drifted 50 new ${SHOWN} old ${SHOWN}`,
      'steady 0 % as before 50',
    ]);
    const meters = partsIn(found, 'meter', { min: '0', max: '1', 'aria-label': 'Change' });
    expect(meters.map(({ attributes }) => attributes['value'])).toEqual(['1', '0']);
    expect(await told('/agents')).toContain('1 of 3 had fewer than 50 calls in one of the two');
    expect(found).not.toContain('<script>alert');
    expect(found).not.toContain('\u202e');
  });

  it('says what to do where nobody did anything, and knows its own windows alone', async () => {
    expect(await told('/agents?window=constructor')).toContain('Take a longer one');
    expect(await told('/agents?window=constructor')).toContain('only 1h, 24h, 7d, 30d: 24h is shown (invalid_window)');
    expect(await told('/agents/nobody?window=15m')).toContain('only 1h, 24h, 7d, 30d: 24h is shown');
    expect(await told('/agents?window=')).not.toContain('no such window as this address names');
    expect(page.asked).toContain('/analysis/agent-activity?tenant=acme&since_hours=24&limit=25');
    await text('/agents?show=all');
    expect(page.asked).toContain('/analysis/agent-activity?tenant=acme&since_hours=24&limit=100');
  });
});

describe('the page of rules', () => {
  it('has the ledger told once for all who look in half a minute what rules said, and apart for each tenant', async () => {
    const clock = { ms: Date.parse('2026-11-02T10:00:00.000Z') };
    const later = consoleOverLedger(
      () => gate,
      () => clock.ms,
    );
    const verdicts = () => later.asked.filter((path) => path.startsWith('/audit/agent/rows'));
    for (let look = 0; look < 3; look += 1) await later.get('/policies');
    expect(verdicts()).toEqual([expect.stringMatching(/tenant=acme&.*from=2026-11-01T10%3A00%3A00.000Z&limit=2000$/)]);
    await later.get('/policies', { as: 'globex' });
    expect(verdicts()).toEqual([expect.anything(), expect.stringContaining('tenant=globex')]);
    clock.ms += 30_000;
    await later.get('/policies');
    expect(verdicts()).toHaveLength(3);
    await later.close();
  });

  it('asks the ledger again where it was away', async () => {
    page.ledgerIsAway = true;
    expect(await told('/policies')).toContain('The ledger is away');
    page.ledgerIsAway = false;
    expect(await told('/policies')).not.toContain('The ledger is away');
  });
});

describe("an agent's narrative", () => {
  it('tells what it did, with links to the rows', async () => {
    await append({ policy_decision: { outcome: 'deny', reasons: ['No'] }, authorized: false });
    const found = await text('/audit/agents/agent-a/narrative?window=1d');
    expect(linksIn(found).map(({ href }) => href)).toContain('/audit?agent=agent-a&before=2');
    expect(found).toMatch(/aria-label="Calls by hour"/);
    // What the chart draws, in numbers.
    const table = /<table[^>]*><thead>.*?From.*?<\/thead><tbody>(.*?)<\/tbody>/s.exec(
      found.split('as a table</summary>')[1] ?? '',
    )?.[1];
    expect(table?.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')).toMatch(/ UTC\) 1 1 0 $/);
    expect(await told('/audit/agents/agent-a/narrative')).toContain('agent-a made 1 request');
    expect(await text('/audit/agents/agent-a/narrative')).toMatch(/aria-label="Calls by day"/);
    expect(await told('/audit/agents/nobody/narrative?window=5y')).toContain('Nothing in this window');
    expect(await told('/audit/agents/nobody/narrative?window=5y')).toContain('only 1d, 7d, 30d, 90d: 7d is shown');
  });

  const parked = { policy_decision: { outcome: 'park' }, authorized: false };
  const ended = (
    event_kind: 'hil.approved' | 'hil.denied',
    policy_decision: { decided_by: string; decision?: string },
  ) => append(parked, { event_kind, method: event_kind, policy_decision });

  it('counts in its facts as in its words what a rule approved, and nothing as sent to people for it', async () => {
    for (let call = 0; call < 2; call += 1) await ended('hil.approved', { decided_by: 'system:policy-tier' });
    const found = await told('/audit/agents/agent-a/narrative');
    expect(found).toContain('made 2 requests: 2 approved by a rule.');
    expect(found).toContain('2: 0 allowed, 0 sent to people, 0 denied, 2 approved by a rule');
    expect(found).toContain('0 approved, 0 denied, 0 not decided in time, 0 waiting Tools');
  });

  it('names each other end of what was sent to people', async () => {
    await ended('hil.denied', { decided_by: 'operator:dev', decision: 'modify' });
    await ended('hil.denied', { decided_by: WITHDRAWN_BY_AGENT });
    await ended('hil.denied', { decided_by: 'system:tenant-offboard' });
    const found = await told('/audit/agents/agent-a/narrative');
    expect(found).toContain('3: 0 allowed, 3 sent to people, 0 denied People');
    expect(found).toContain(
      '0 approved, 0 denied, 0 not decided in time, 0 waiting, 1 changed and then denied by policy, 1 withdrawn by the agent, 1 denied by Gate',
    );
  });
});
