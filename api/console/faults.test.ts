import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { PendingRequest, SignedDecision } from '../../contracts/review.js';
import { GateError } from '../../domain/errors.js';
import type { DecisionOutcome } from '../../domain/review/ports.js';
import { DECISION_TURNS } from '../../domain/review/decision-turns.js';
import {
  type ConsoleFixture,
  type Neighbour,
  openConsole,
  type PolicyAnswer,
  type TestBrowser,
  WholeAnswer,
} from '../../test/support/console-over-hil.js';
import { fixture as openedFor } from '../../test/support/fixture.js';
import { testRow } from '../../test/support/ledger.js';
import { ledgerService, type TestLedgerService } from '../../test/support/ledger-service.js';
import { eventually } from '../../test/support/waiting.js';
import { ASK_LIMITS } from './ask-limits.js';
import { partsIn, tagsBeside, valuesIn, wordsIn } from '../../test/support/html.js';

/** What goes wrong around the console: a service that refuses connections, and one that takes what is asked and says nothing. */
const FAULTS = ['away', 'hanging'] as const;
/** Silence is noticed soon here, but not so soon that the other services are taken for silent on a busy machine. */
const SHORT = {
  readMs: 2_000,
  reportMs: 2_000,
  suggestionsMs: 2_000,
  decideMs: 2_000,
  healthMs: 2_000,
  quietMs: 2_000,
  drainMs: 30_000,
};
const REQUEST = '00000000-0000-4000-8000-0000000000aa';

/** Policies without one. */
const POLICIES: PolicyAnswer = {
  status: 200,
  body: {
    bundle: { schema_version: 1, version: '1', hash_sha256: 'a'.repeat(64), policy_count: 1 },
    origin: {
      directory: 'policies',
      loaded_at: '2026-11-02',
      wasm_sha256: 'b'.repeat(64),
      opa_version: '1',
      entrypoints: [],
    },
    policies: [],
  },
};

const limits: { -readonly [Limit in keyof typeof ASK_LIMITS]: number } = { ...ASK_LIMITS };
let fixture: ConsoleFixture;
let unchanged: Pick<ConsoleFixture, 'sender' | 'streamed'>;
let ledger: TestLedgerService;
let browser: TestBrowser;
let row: PendingRequest;
let calls = 0;
/** A service that no page is about. */
let added: () => Promise<void>;
const { sharedHere } = openedFor(
  async () => {
    fixture = await openConsole(undefined, { limits, others: { Added: () => added() } });
    unchanged = { sender: fixture.sender, streamed: fixture.streamed };
    ledger = await ledgerService('sqlite', { ledger: { clock: () => fixture.hil.now } });
    browser = await fixture.browser();
  },
  async () => {
    await fixture.close();
    await ledger.close();
  },
);
/** Each test has a call of its own, and services as they answer. */
beforeEach(async () => {
  ends();
  Object.assign(fixture, unchanged);
  added = () => Promise.resolve();
  fixture.policies = POLICIES;
  fixture.ledger = async (path, search) => {
    const { status, bytes } = await ledger.call(`GET ${path}${search}`);
    return new WholeAnswer(status, bytes.toString('utf8'));
  };
  row = await fixture.hil.park((calls += 1));
  await ledger.ledger.append([
    testRow({
      correlation_id: row.correlation_id,
      agent_id: 'payments-agent',
      tenant: 'acme',
      tool_name: 'wire_transfer',
    }),
  ]);
});

/** A row as the ledger answers it. */
const someRow = async () => (await ledger.call<object[]>('GET /audit/*')).body[0];
/** A fault that is met soon. */
function happens(fault: (typeof FAULTS)[number], ...services: readonly Neighbour[]): void {
  if (fault === 'hanging') Object.assign(limits, SHORT);
  for (const service of services) fixture[fault].add(service);
}
function ends(): void {
  Object.assign(limits, ASK_LIMITS);
  for (const fault of FAULTS) fixture[fault].clear();
}
const statusOf = async () => (await fixture.hil.reviews.get(row.id))?.status;
const fieldsOf = (over: Readonly<Record<string, string>> = {}) => ({
  digest: row.original_payload_digest,
  request: REQUEST,
  ...over,
});
const named = (name: string) => (html: string) => valuesIn(html, name).length > 0;
const tagged =
  (service: string, ...tag: [look: string, words: string]) =>
  (html: string) =>
    tagsBeside(html, service).some((found) => found.join() === tag.join());
/** What a page says of a service, with what it shows all the same. */
const PAGES: readonly (readonly [
  path: string,
  service: Neighbour,
  says: RegExp | ((html: string) => boolean),
  shows: RegExp | ((html: string) => boolean),
])[] = [
  ['/', 'hil', /<title>Not known what waits.*The review service is away/s, named('q')],
  ['/hil', 'hil', /<title>Not known what waits.*The review service is away/s, named('q')],
  ['/hil/:id', 'hil', /<title>Not known what waits.*The review service is away/s, named('q')],
  ['/hil/:id', 'ledger', /payments-agent/, /data-decide="a"/],
  ['/audit', 'ledger', /The ledger is away/, named('agent')],
  ['/audit/hunt', 'ledger', /The ledger is away/, named('signal')],
  ['/audit/agents/payments-agent/narrative', 'ledger', /The ledger is away/, /payments-agent/],
  ['/audit/correlation/:cid', 'ledger', /The ledger is away/, /Decide it/],
  ['/audit/correlation/:cid', 'hil', /The review service is away/, /proxy\.verdict/],
  ['/agents', 'ledger', /The ledger is away/, /<h1>/],
  ['/policies', 'policy', /The policy engine is away/, /<h1>/],
  ['/policies', 'ledger', /The ledger is away/, /<h1>/],
  [
    '/health-of-services',
    'hil',
    tagged('review service', 'tag deny', 'away'),
    tagged('ledger', 'tag allow', 'answers'),
  ],
  [
    '/health-of-services',
    'ledger',
    tagged('ledger', 'tag deny', 'away'),
    tagged('review service', 'tag allow', 'answers'),
  ],
  ['/health-of-services', 'brain', tagged('Brain', 'tag deny', 'away'), /The chain holds/],
  ['/health-of-services', 'sandbox', tagged('sandbox', 'tag deny', 'away'), /The chain holds/],
  ['/health-of-services', 'proxy', tagged('worker', 'tag deny', 'away'), /The chain holds/],
  ['/health-of-services', 'policy', tagged('policy engine', 'tag deny', 'away'), /The chain holds/],
];

describe.each(FAULTS)('a service that is %s', (fault) => {
  sharedHere();

  // Its pages are asked for at once, since each of them waits as long for it.
  it.each([...new Set(PAGES.map(([, service]) => service))])('on every page that asks %s', async (service) => {
    const pages = PAGES.filter((page) => page[1] === service);
    const address = (path: string) => path.replace(':id', row.id).replace(':cid', row.correlation_id);
    happens(fault, service);
    await Promise.all(
      pages.map(async ([path, , says, shows]) => {
        const { status, text } = await browser.get(address(path));
        const holds = (wanted: typeof says) => (wanted instanceof RegExp ? wanted.test(text) : wanted(text));
        const found = { status, says: holds(says), shows: holds(shows) };
        expect([path, found]).toEqual([path, { status: 200, says: true, shows: true }]);
      }),
    );
    ends();
    for (const [path] of pages) {
      const { text } = await browser.get(address(path));
      expect(`${path}: ${text}`).not.toMatch(/is away/);
      expect([path, partsIn(text, 'span', { class: 'tag deny' }).map(wordsIn)]).toEqual([
        path,
        expect.not.arrayContaining(['away']),
      ]);
    }
  });

  it('ends no live page in silence: its stream is refused, and the browser comes back', async () => {
    happens(fault, 'hil', 'ledger');
    for (const path of ['/stream/hil', '/stream/audit'])
      expect((await browser.get(path, { accept: 'text/event-stream' })).status).toBe(503);
  });

  it('is a refusal before anything of an export is sent', async () => {
    happens(fault, 'ledger');
    const { status, text } = await browser.get('/audit/export', { accept: 'application/json' });
    expect([status, JSON.parse(text)]).toMatchObject([503, { error: 'console_neighbour_away' }]);
  });

  it('takes no decision: the page says so, what was typed stays, and the same form decides when it is back', async () => {
    happens(fault, 'hil');
    const refused = await browser.post(`/hil/${row.id}/deny`, fieldsOf({ reason: 'not this vendor' }));
    expect(refused.status).toBe(503);
    expect(refused.text).toContain('It may have taken the decision: look at the call before you decide again');
    expect(refused.text).toContain('not this vendor');
    expect(refused.text).not.toMatch(/class="notice good"|tag denied/);
    expect(await statusOf()).toBe('pending');
    ends();
    expect((await browser.post(`/hil/${row.id}/deny`, fieldsOf({ reason: 'not this vendor' }))).status).toBe(303);
    expect(await fixture.hil.reviews.get(row.id)).toMatchObject({
      status: 'denied',
      decision_reason: 'not this vendor',
    });
  });
});

describe('a ledger that is lost in the middle of an export', () => {
  it('cuts it: its last line is missing', async () => {
    const entry = await someRow();
    const page = Array.from({ length: 500 }, (_, at) => ({ ...entry, seq: 1_000 - at }));
    let asked = 0;
    fixture.ledger = () => {
      asked += 1;
      if (asked === 2) {
        happens('hanging', 'ledger');
        return new Promise(() => undefined);
      }
      return page;
    };
    const address = await fixture.service.app.listen({ host: '127.0.0.1', port: 0 });
    const headers = { cookie: `gate_console_session=${browser.cookie}`, host: 'localhost:8085' };
    const answer = await fetch(`${address}/audit/export`, { headers });
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow();
    expect(asked).toBe(2);
  });
});

describe('an export', () => {
  it('of more than 50,000 rows says where it was cut, and the next one begins there', async () => {
    const LENGTH = 50_700;
    const entry = await someRow();
    fixture.ledger = (_path, search) => {
      const query = new URLSearchParams(search);
      const before = Number(query.get('before') ?? LENGTH + 1);
      return Array.from({ length: Math.min(Number(query.get('limit')), before - 1) }, (_, at) => ({
        ...entry,
        seq: before - 1 - at,
      }));
    };
    const lines = async (address: string) => {
      const { text } = await browser.get(address, { accept: 'application/json' });
      return text.trimEnd().split('\n');
    };
    const first = await lines('/audit/export');
    expect(first).toHaveLength(50_001);
    const last = JSON.parse(first.at(-1) ?? '') as { before: number };
    expect(last).toEqual({ export: 'cut', rows: 50_000, before: 701 });
    const rest = await lines(`/audit/export?before=${last.before}`);
    expect(rest.at(-1)).toBe('{"export":"complete","rows":700}');
    expect(JSON.parse(rest[0] ?? '')).toMatchObject({ seq: 700 });
  }, 60_000);
});

describe('a decision that is under way', () => {
  sharedHere();

  const waiting: ((outcome: DecisionOutcome) => void)[] = [];
  const applied = ({ decision, pending_id, decided_at, principal, request_id }: SignedDecision): DecisionOutcome => ({
    outcome: 'applied',
    settled: {
      pending_id,
      status: decision === 'deny' ? 'denied' : 'approved',
      decided_at,
      decided_by: principal.subject,
      decision_reason: null,
      decided_via: 'console',
      principal,
      request_id,
    },
  });

  it('is waited for longer than HIL takes to say what became of it', () => {
    expect(ASK_LIMITS.decideMs).toBe(45_000);
    expect(ASK_LIMITS.decideMs).toBeGreaterThan(DECISION_TURNS.waitMs + DECISION_TURNS.turnMs);
  });

  it('and is late is not shown as done, nor as lost; it stands once it is taken', async () => {
    let taken: SignedDecision | undefined;
    limits.decideMs = SHORT.decideMs;
    fixture.sender = (decision) => {
      taken ??= decision;
      return new Promise((resolve) => waiting.push(resolve));
    };
    const late = await browser.post(`/hil/${row.id}/approve`, fieldsOf());
    expect(late.status).toBe(503);
    expect(late.text).toContain('may have taken the decision: look at the call before you decide again');
    expect(late.text).not.toMatch(/class="notice good"/);
    expect(await statusOf()).toBe('pending');
    if (!taken) throw new Error('nothing was sent');
    for (const told of waiting.splice(0)) told(applied(taken));
    await eventually('the row is approved', async () => (await statusOf()) === 'approved');
    const { text } = await browser.get(`/hil/${row.id}`);
    expect(text).toContain('class="tag approved"');
  });

  it('and changes the call is told as in doubt, although nothing is known of the call itself any more', async () => {
    Object.assign(limits, SHORT);
    let taken: SignedDecision | undefined;
    fixture.sender = (decision) => {
      taken = decision;
      happens('hanging', 'hil');
      return new Promise((resolve) => waiting.push(resolve));
    };
    const lost = await browser.post(`/hil/${row.id}/modify`, fieldsOf({ 'value.0': '7', reason: 'seven at most' }));
    expect(lost.status).toBe(503);
    expect(lost.text).toContain('may have taken the decision: look at the call before you decide again');
    expect(lost.text).toContain('seven at most');
    expect(lost.text).not.toContain('That did not work');
    if (!taken) throw new Error('nothing was sent');
    for (const told of waiting.splice(0)) told(applied(taken));
  });

  it.each([
    ['the engine is away', new GateError('orchestrator_unavailable')],
    ['its turn does not come', new GateError('decision_not_sent')],
    ['its store does not answer', new GateError('store_unavailable')],
  ])('is told, and not shown as done, where %s', async (_, error) => {
    fixture.sender = () => Promise.reject(error);
    for (const form of ['approve', 'deny']) {
      const { status, text } = await browser.post(`/hil/${row.id}/${form}`, fieldsOf());
      expect(status).toBe(503);
      expect(text).toContain(error.code);
      expect(text).toContain('data-decide="a"');
      expect(text).not.toMatch(/class="notice good"/);
    }
    expect(await statusOf()).toBe('pending');
  });

  it('is one, however often its form is sent while the engine comes and goes', async () => {
    const { sender } = fixture;
    let sent = 0;
    fixture.sender = async (decision) => {
      sent += 1;
      const outcome = await sender(decision);
      // The engine took it, and the answer is lost.
      if (sent === 1) throw new GateError('orchestrator_unavailable');
      return outcome;
    };
    expect((await browser.post(`/hil/${row.id}/approve`, fieldsOf())).status).toBe(503);
    await browser.post(`/hil/${row.id}/approve`, fieldsOf());
    expect(await fixture.hil.reviews.get(row.id)).toMatchObject({ status: 'approved', decided_by: 'operator:dev' });
  });
});

describe('a form whose answer is lost, and whose page cannot be shown either', () => {
  it('is told by its own words, as in doubt', async () => {
    await browser.post(`/hil/${row.id}/deny`, fieldsOf());
    fixture.hanging.clear();
    happens('hanging');
    // The page of the note is asked for first, to know what stands there; then nobody answers any more.
    const { reached } = fixture;
    const push = reached.push.bind(reached);
    reached.push = (...asked) => {
      if (asked.some((line) => line.startsWith('PATCH '))) fixture.hanging.add('hil');
      return push(...asked);
    };
    const fields = { note: 'the goods came', shown: '' };
    const { status, text } = await browser.post(`/hil/${row.id}/note`, fields);
    reached.push = push;
    expect(status).toBe(503);
    expect(text).toContain('<h1>Not known whether it was done</h1>');
    expect(text).toContain('It may have saved the note');
    expect(text).toContain('the goods came');
  });
});

describe('the engine', () => {
  it.each<[string, () => Promise<void>, RegExp]>([
    ['away', () => Promise.reject(new Error('no engine here')), /nothing can be decided: it cannot be reached/],
    ['hanging', () => new Promise(() => undefined), /not known: |nothing can be decided: /],
  ])('is named on the page of health where it is %s', async (_, orchestrator, says) => {
    await fixture.hil.serve({ readiness: { orchestrator } });
    const { text } = await browser.get('/health-of-services');
    expect(tagsBeside(text, 'workflow engine')).toEqual([['tag deny', 'away']]);
    expect(text).toMatch(says);
    expect(text).toContain('The chain holds');
  });

  it('answers otherwise, and is not known while the review service is away', async () => {
    // A busy machine may find it slow.
    expect([
      ['tag allow', 'answers'],
      ['tag park', 'slow'],
    ]).toContainEqual(tagsBeside((await browser.get('/health-of-services')).text, 'workflow engine')[0]);
    fixture.away.add('hil');
    expect((await browser.get('/health-of-services')).text).toMatch(/workflow engine.*not known/);
  });
});

describe('what the console is ready without, on the page of health', () => {
  const tagsOf = async (service: string) => tagsBeside((await browser.get('/health-of-services')).text, service);
  const worker = { ok: true, words: 'answers' };

  it('is identity, which is away alone', async () => {
    fixture.identity = () => Promise.reject(new Error('connect ECONNREFUSED'));
    expect(await tagsOf('identity service')).toEqual([['tag deny', 'away']]);
    expect((await tagsOf('worker')).join()).not.toContain('away');
  });

  it('is a service that no page is about, which is told under its title', async () => {
    expect(await tagsOf('Added')).toEqual([['tag allow', 'answers']]);
    added = () => Promise.reject(new Error('connect ECONNREFUSED'));
    expect(await tagsOf('Added')).toEqual([['tag deny', 'away']]);
  });

  it.each<[string, NonNullable<typeof fixture.proxy.upstreams>, [string, string]]>([
    ['of which some answer', { ok: false, partly: true, words: '2 of 3 answer; odd fails' }, ['tag park', 'partly']],
    ['of which none answers', { ok: false, words: '0 of 1 answer; odd fails' }, ['tag deny', 'away']],
  ])('are tools %s', async (_, upstreams, tag) => {
    fixture.proxy = { worker, upstreams };
    expect(await tagsOf('upstream tools')).toEqual([tag]);
    expect((await browser.get('/health-of-services')).text).toContain(upstreams.words);
  });

  it('took as long as the proxy did', async () => {
    let aheadMs = 0;
    const now = performance.now.bind(performance);
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs);
    const told = { worker, upstreams: { ok: true, words: '3 of 3 answer' } };
    Object.defineProperty(fixture, 'proxy', {
      configurable: true,
      get() {
        aheadMs += 60_000;
        return told;
      },
    });
    try {
      const { text } = await browser.get('/health-of-services');
      for (const service of ['worker', 'upstream tools']) {
        expect(tagsBeside(text, service)).toEqual([['tag park', 'slow']]);
        const row = partsIn(text, 'tr').find((one) => partsIn(one, 'th').some((head) => wordsIn(head) === service));
        expect(row && partsIn(row, 'td', { class: 'number' }).map(wordsIn)).toEqual([
          expect.stringMatching(/^6\d{4} ms$/),
        ]);
      }
    } finally {
      clock.mockRestore();
      Object.defineProperty(fixture, 'proxy', {
        configurable: true,
        writable: true,
        value: { worker, upstreams: null },
      });
    }
  });
});

describe('a stream that falls silent', () => {
  it('ends, so that the page does not look live', async () => {
    let isAborted = false;
    limits.quietMs = SHORT.quietMs;
    fixture.streamed = (signal) => {
      signal.addEventListener('abort', () => (isAborted = true));
      return Promise.resolve({ status: 200, body: silentAfter('id: 1\n\n') });
    };
    const { status, text } = await browser.get('/stream/hil', { accept: 'text/event-stream' });
    expect([status, text]).toEqual([200, 'id: 1\n\n']);
    expect(isAborted).toBe(true);
  });
});

async function* silentAfter(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
  await new Promise(() => undefined);
}
