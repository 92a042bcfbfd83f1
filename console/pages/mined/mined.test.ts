import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Over } from '../../../api/plugins/declaration.js';
import type { MinedSuggestion, MineLine } from '../../../contracts/policy-mining.js';
import { type ConsoleOverLedger, consoleOverLedger } from '../../../test/support/console-over-ledger.js';
import { valuesIn, wordsIn } from '../../../test/support/html.js';

const HOSTILE = '<script>alert(1)</script>\u202e';
const ID = '00000000-0000-4000-8000-0000000000ab';
const suggestion = (over: Partial<MinedSuggestion> = {}): MinedSuggestion => ({
  id: ID,
  tenant: 'acme',
  tool: `create_issue ${HOSTILE}`,
  rule_name: 'mined_create_issue.rego',
  state: 'proposed',
  state_why: null,
  in_force: false,
  one_liner: 'would have passed 212 of 214 approvals and 0 of 9 denials',
  next_step: `gate tools set create_issue change ${HOSTILE}`,
  rego_body: `package gate.authz\n# ${HOSTILE}\n`,
  body_sha256: 'a',
  proposed_at: '2026-11-25T12:00:00.000Z',
  since: '2026-10-25T12:00:00.000Z',
  until: '2026-11-25T12:00:00.000Z',
  evidence: {
    approvals: { passed: 212, of: 214 },
    denials: { passed: 0, of: 9 },
    class_alone: { approvals: 214, denials: 9 },
    days: 12,
    approvers: 3,
    agents: 2,
  },
  parts: [
    {
      upstream: null,
      agents: [`bot ${HOSTILE}`],
      approvals: 212,
      objects: [{ pointer: '', names: ['repo', 'count', 'id'] }],
      arguments: [
        { pointer: '/repo', is: { equals: HOSTILE } },
        { pointer: '/count', is: { from: 1, to: 9, whole: true, text: false, decimals: 0 } },
        { pointer: '/id', is: { like: 'ORD-[0-9]{5}' } },
      ],
    },
  ],
  examples: {
    waits: [{ correlation_id: ID, at: '2026-11-25T12:00:00.000Z', agent_id: HOSTILE }],
    denied: [{ correlation_id: null, at: '2026-11-25T12:00:00.000Z', agent_id: 'b' }],
  },
  ...over,
});

let kept: readonly MinedSuggestion[];
let accepting: { readonly status: number; readonly body: object };
let mined: readonly MineLine[];
let asked: { readonly path: string; readonly body: unknown }[];
let page: ConsoleOverLedger;
beforeEach(() => {
  kept = [suggestion()];
  asked = [];
  const engine: Over = {
    url: 'https://policy.test',
    fetch: Object.assign(
      (url: string, { body }: { readonly body?: string }) => {
        const { pathname, search } = new URL(url);
        asked.push({ path: pathname + search, body: body === undefined ? null : JSON.parse(body) });
        const { status, body: said } = body === undefined ? { status: 200, body: { suggestions: kept } } : accepting;
        return Promise.resolve({ status, text: () => Promise.resolve(JSON.stringify(said)) });
      },
      {
        stream: (url: string, { body }: { readonly body?: string }) => {
          const { pathname, search } = new URL(url);
          asked.push({ path: pathname + search, body: JSON.parse(body ?? 'null') });
          const text = mined.map((line) => `${JSON.stringify(line)}\n`).join('');
          return Promise.resolve({ status: 200, body: Readable.from([Buffer.from(text)]), text: async () => text });
        },
      },
    ),
  };
  const noLedger = () => {
    throw new Error('not asked here');
  };
  page = consoleOverLedger(noLedger, () => Date.parse('2026-11-26T12:00:00Z'), undefined, undefined, engine);
});
afterEach(() => page.close());
const shown = async () => (await page.get('/policies/suggestions')).text;

describe('a suggestion', () => {
  it('stands with what speaks for it and against it, which calls it names, and its text, all of it inert', async () => {
    const text = await shown();
    expect(asked).toEqual([
      { path: '/policies/suggestions?tenant=acme', body: null },
      { path: '/policies/standing?tenant=acme', body: null },
    ]);
    expect(text).not.toMatch(/<script>alert|\u202e/);
    const said = wordsIn(text);
    expect(said).toMatch(/Approvals that would pass 212 of 214 Denials that would pass 0 of 9/);
    expect(said).toContain('12 days, 3 people, 2 agents');
    expect(said).toMatch(/\/count 1 to 9, whole \/id like ORD-\[0-9\]\{5\}/);
    expect(text).toContain(`href="/audit/correlation/${ID}"`);
    expect(text).toContain(`action="/policies/suggestions/${ID}/install"`);
  });

  it('has a model’s words, named as such, below what counts', async () => {
    expect(wordsIn(await shown())).not.toContain('words of a model');
    kept = [
      suggestion({
        explained: {
          one_liner: `Lets small issues pass ${HOSTILE}.`,
          rationale: 'Many were approved.',
          model: 'fast:m-1',
        },
      }),
    ];
    const text = await shown();
    expect(text).not.toMatch(/<script>alert|\u202e/);
    expect(wordsIn(text)).toMatch(
      /Denials that would pass 0 of 9 .*Many were approved\. In the words of a model, fast:m-1\./,
    );
  });

  it('says how many calls would still wait, where it shows the first of them', async () => {
    expect(wordsIn(await shown())).toMatch(
      /Approved, and would still wait: 2, the first 1 here .*Denied, and would still wait: 9, the first 1 here/,
    );
    const { evidence } = suggestion();
    kept = [suggestion({ evidence: { ...evidence, denials: { passed: 0, of: 1 } } })];
    expect(wordsIn(await shown())).not.toContain('still wait: 1,');
  });

  it('is tried on the calls since the first that it was mined from', async () => {
    mined = [{ error: { code: 'policy_lab_busy', reason: 'two run already' } }];
    const { status, text } = await page.post(`/policies/suggestions/${ID}/try`);
    expect([status, text]).toEqual([200, expect.stringContaining('two run already')]);
    const { rule_name: name, rego_body: body, since } = suggestion();
    expect(asked).toContainEqual({
      path: '/policies/lab?tenant=acme',
      body: { files: [{ name, content_type: 'rego', body }], without: [], since },
    });
    kept = [];
    expect((await page.post(`/policies/suggestions/${ID}/try`)).status).toBe(404);
  });

  it.each([
    ['withdrawn', 'a call inside it was denied'],
    ['unchecked', 'the ledger cannot be asked'],
    ['installed', null],
  ] as const)('that is %s cannot be put in force', async (state, state_why) => {
    kept = [suggestion({ state, state_why, in_force: state === 'installed' })];
    const text = await shown();
    if (state_why) expect(text).toContain(state_why);
    expect(text).not.toContain('/install"');
    expect(text.includes('href="/policies/mined_create_issue.rego"')).toBe(state === 'installed');
  });

  it('that is withdrawn while its rule is in force says so, and what to do before the rule is switched off', async () => {
    const over = { state: 'withdrawn', state_why: 'a call inside it was denied' } as const;
    kept = [suggestion(over)];
    expect(wordsIn(await shown())).not.toContain('still in force');
    kept = [suggestion({ ...over, in_force: true })];
    const text = await shown();
    expect(wordsIn(text)).toMatch(
      /withdrawn its rule is still in force .*First have the tool looked at again: gate tools/,
    );
    expect(text).toMatch(/switch the rule off on <a href="\/policies\/mined_create_issue\.rego">/);
    expect(text).not.toMatch(/\/install"|<script>alert/);
  });

  it('is put in force for a reason, in the person’s name', async () => {
    accepting = {
      status: 200,
      body: {
        name: 'mined_create_issue.rego',
        version: 1,
        current_version: 1,
        body_sha256: 'a',
        active: true,
        event_kind: 'policy.created',
      },
    };
    expect((await page.post(`/policies/suggestions/${ID}/install`, { reason: ' ' })).status).toBe(400);
    const done = await page.post(`/policies/suggestions/${ID}/install`, { reason: 'ticket 9' });
    expect([done.status, done.headers['location']]).toEqual([303, '/policies/mined_create_issue.rego?came=1']);
    expect(asked.at(-1)).toEqual({
      path: `/policies/suggestions/${ID}/install?tenant=acme`,
      body: { reason: 'ticket 9', actor_sub: 'operator:dev', actor_idp: 'operator-token' },
    });
  });

  it('that somebody’s denial withdrew says so, and the reason that was typed stays', async () => {
    accepting = { status: 409, body: { error: 'suggestion_withdrawn', reason: 'a call inside it was denied' } };
    const late = await page.post(`/policies/suggestions/${ID}/install`, { reason: 'ticket 9' });
    expect([late.status, late.text]).toEqual([409, expect.stringContaining('suggestion_withdrawn')]);
    expect(valuesIn(late.text, 'reason')).toContain('ticket 9');
    kept = [suggestion({ state: 'withdrawn', state_why: 'a call inside it was denied' })];
    const later = await page.post(`/policies/suggestions/${ID}/install`, { reason: 'ticket 9' });
    expect(wordsIn(later.text)).toContain('The reason that you typed: ticket 9');
  });

  it('is for an administrator, because it shows what people approved', async () => {
    page.role = 'approver';
    expect((await page.get('/policies/suggestions')).status).toBe(403);
    expect((await page.post('/policies/suggestions/mine')).status).toBe(403);
    expect(asked).toEqual([]);
  });
});

describe('mining', () => {
  it('tells how far it is, then what it found, and of which tools nothing is suggested', async () => {
    const left = { tool: HOSTILE, approvals: 2, denials: 0, why: 'too_few', detail: 'of one day' } as const;
    const { since, until } = suggestion();
    mined = [
      { progress: { decisions: 10, at: '2026-11-25T12:00:00.000Z' } },
      {
        result: {
          since,
          until,
          approvals: 214,
          denials: 9,
          changed: 1,
          candidates: [suggestion()],
          candidates_dropped: 2,
          left: [left],
          evaluated_in_ms: 5,
        },
      },
    ];
    const { text } = await page.post('/policies/suggestions/mine', { window: '7d', tool: 'create_issue' });
    expect(asked).toEqual([
      {
        path: '/policies/mine?tenant=acme',
        body: { since: '2026-11-19T12:00:00.000Z', tool_type: 'create_issue', max_candidates: 20 },
      },
    ]);
    expect(text).not.toMatch(/<script>alert|\u202e/);
    const said = wordsIn(text);
    expect(said).toMatch(/10 decisions so far.*1 suggestion of 214 approvals and 9 denials; 1 were approved with/);
    expect(said).toMatch(/2 0 too few decisions, days, people or agents: of one day/);
  });

  it('says why there is no result', async () => {
    mined = [{ error: { code: 'policy_lab_busy', reason: 'one runs already' } }];
    expect(wordsIn((await page.post('/policies/suggestions/mine')).text)).toMatch(
      /There is no result: one runs already \(policy_lab_busy\)/,
    );
    expect(asked[0]?.body).toMatchObject({ since: '2026-10-27T12:00:00.000Z' });
  });
});
