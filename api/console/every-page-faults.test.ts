import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PAGES } from '../../console/routes.js';
import { SERVICE_WORDS, serviceHead } from '../../console/services.js';
import type { PendingRequest } from '../../contracts/review.js';
import {
  type ConsoleFixture,
  type Neighbour,
  openConsole,
  type TestBrowser,
} from '../../test/support/console-over-hil.js';
import { testRow } from '../../test/support/ledger.js';
import { tagsBeside } from '../../test/support/html.js';
import { type IdentityBehind, identityBehind } from '../../test/support/identity-behind.js';
import { OPERATOR } from '../../test/support/hil.js';
import { ledgerService, overLedger, type TestLedgerService } from '../../test/support/ledger-service.js';
import { pageAddress } from '../../test/support/page-address.js';
import { policyEngine, type TestPolicyEngine } from '../../test/support/policy-engine.js';
import type { Over } from '../plugins/declaration.js';
import { ASK_LIMITS } from './ask-limits.js';
import { NEIGHBOUR_NAMES, type NeighbourName } from './neighbour.js';

/**
 * Every page of `console/routes.ts`, beside each service that it asks: what it asks is seen while nothing is wrong, so that neither a page nor a
 * question that is added can be forgotten here. What pages show all the same is told in faults.test.ts.
 */

/** How a page says that a service is away: in a sentence, or in a row. */
const says = (service: NeighbourName, text: string): boolean =>
  new RegExp(`${SERVICE_WORDS[service]} (?:is away|cannot be reached)`, 'i').test(text) ||
  // The proxy is asked what runs calls behind it.
  tagsBeside(text, serviceHead(service === 'proxy' ? 'worker' : service)).some((tag) => tag.join() === 'tag deny,away');
/** Pages that are about one thing of a service alone. */
const OF_IT_ALONE = ['/hil/:id/modify hil', '/hil/:id/note hil', '/decide/redeem hil'];
/**
 * What inspection found is beside a review where the ledger has it; why the call waits stands in the review. Whether a model writes is all that a note
 * asks Brain for, and where none does there is no button.
 */
const WITHOUT_A_WORD = ['/ ledger', '/hil ledger', '/hil/:id ledger', '/hil/:id/note brain'];
/** Silence is noticed soon here. */
const SHORT = Object.fromEntries(
  (['readMs', 'reportMs', 'suggestionsMs', 'exportMs', 'healthMs', 'quietMs'] as const).map((limit) => [limit, 2_000]),
);

const limits: { -readonly [Limit in keyof typeof ASK_LIMITS]: number } = { ...ASK_LIMITS };
const asked = new Map<string, ReadonlySet<Neighbour>>();
let fixture: ConsoleFixture;
let gate: TestLedgerService;
let engine: TestPolicyEngine;
let identity: IdentityBehind;
let browser: TestBrowser;
let row: PendingRequest;
let decided: PendingRequest;
let caseId: string;
let seen = new Set<Neighbour>();
/** Services that are there as they are. */
let real: Partial<Record<Neighbour, Over>> = {};

beforeAll(async () => {
  fixture = await openConsole(undefined, { limits, overOf: async (name, over) => watched(name, await over) });
  gate = await ledgerService('sqlite', { ledger: { clock: () => fixture.hil.now } });
  engine = await policyEngine([], {
    decidedPage: () => Promise.resolve({ rows: [], next: null }),
    verify: () => Promise.resolve({ valid: true, entries_checked: 0, first_invalid_seq: null }),
  });
  const operators = [{ name: 'dev', tenant: 'acme', token: OPERATOR }];
  identity = await identityBehind({ operators }, () => fixture.hil.now);
  real = { ledger: overLedger(gate), policy: engine.over, identity: identity.over };
  browser = await fixture.browser();
  row = await fixture.hil.park(1);
  decided = await fixture.hil.park(2);
  await fixture.hil.settle(decided, { status: 'denied' });
  await gate.ledger.append(
    [row, decided].map(({ correlation_id }) => testRow({ correlation_id, tenant: 'acme', agent_id: 'payments-agent' })),
  );
  const opened = await browser.post('/cases', { title: 'a case' });
  caseId = String(opened.headers['location']).slice('/cases/'.length);
  await engine.management.library.create('acme', {
    name: 'own.rego',
    content_type: 'rego',
    body: 'package gate.authz\n\nimport rego.v1\n\ndeny contains "Violation: a" if input.tool_type == "no_such_tool"\n',
    active: true,
    reason: 'a reason',
    actor_sub: 'operator:dev',
    actor_idp: 'operator-token',
  });
  await browser.post('/policies/own.rego/deactivate', { version: '1', reason: 'a second version' });
  // Whether the tenant is stopped stands above every page, and nothing of whom that was asked: it is not asked again for seconds.
  await browser.get('/me');
  for (const { path } of PAGES) {
    seen = new Set();
    const { status, text } = await browser.get(addressOf(path));
    // The link of nobody leads nowhere; what page that is asks all the same.
    expect([path, status, /is away/.exec(text)]).toEqual([path, path === '/decide/redeem' ? 404 : 200, null]);
    asked.set(path, seen);
  }
  // What is asked from here on is no page's that was looked at.
  seen = new Set();
}, 120_000);
afterAll(async () => {
  await fixture.close();
  await engine.close();
  await identity.close();
  await gate.close();
});

/** Each question is noted by whom it is asked; a service that is well is a real one. */
function watched(name: Neighbour, stub: Over): Over {
  const over = (): Over => {
    seen.add(name);
    return fixture.away.has(name) || fixture.hanging.has(name) ? stub : (real[name] ?? stub);
  };
  const fetch: Over['fetch'] = Object.assign((...asking: Parameters<Over['fetch']>) => over().fetch(...asking), {
    stream: (...asking: Parameters<Over['fetch']['stream']>) => over().fetch.stream(...asking),
  });
  return { url: 'http://service.test', fetch };
}
/** Without a window the register asks nobody. */
const addressOf = (path: string): string =>
  path === '/compliance'
    ? `${path}?from=2026-01-01&to=2027-01-01`
    : pageAddress(path, {
        id: path.startsWith('/cases/') ? caseId : path === '/hil/:id/note' ? decided.id : row.id,
        cid: row.correlation_id,
        agent: 'payments-agent',
        name: path.startsWith('/policies/templates/') ? 'pii_egress.rego' : 'own.rego',
      });

describe.each(['away', 'hanging'] as const)('a service that is %s', (fault) => {
  it.each(NEIGHBOUR_NAMES)('is told on every page that asks it, and none waits for it: %s', async (service) => {
    const asking = PAGES.filter(({ path }) => asked.get(path)?.has(service));
    expect(asking.length).toBeGreaterThan(0);
    // What was kept of an answer is not asked for again.
    fixture.hil.now += 3_600_000 - 1;
    if (fault === 'hanging') Object.assign(limits, SHORT);
    fixture[fault].add(service);
    try {
      const found = await Promise.all(
        asking.map(async ({ path }) => {
          const { status, text } = await browser.get(addressOf(path));
          return [path, status, says(service, text) || WITHOUT_A_WORD.includes(`${path} ${service}`)];
        }),
      );
      expect(found).toEqual(
        asking.map(({ path }) => [path, OF_IT_ALONE.includes(`${path} ${service}`) ? 503 : 200, true]),
      );
    } finally {
      fixture[fault].clear();
      Object.assign(limits, ASK_LIMITS);
    }
  });
});
