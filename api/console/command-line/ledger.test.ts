import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import { type ConsoleOverLedger, consoleOverLedger } from '../../../test/support/console-over-ledger.js';
import { testRow } from '../../../test/support/ledger.js';
import { ledgerService, type TestLedgerService } from '../../../test/support/ledger-service.js';
import { RELAYED } from './relayed.js';

const CALL = '55555555-5555-4555-8555-555555555555';
/** Each says whose it is, and both tenants have the same agent and the same call. */
const rowOf = (tenant: string) =>
  testRow({ tenant, agent_id: 'pay-bot', correlation_id: CALL, reasoning: `${tenant} only` });

let gate: TestLedgerService;
let console: ConsoleOverLedger;
beforeEach(async () => {
  gate = await ledgerService('sqlite');
  console = consoleOverLedger(() => gate);
  await gate.ledger.append([rowOf('acme'), rowOf('globex')]);
});
afterEach(async () => {
  await console.close();
  await gate.close();
});
const ask = (path: string, tenant: string, headers: Record<string, string> = {}) =>
  console.get(`/command-line/ledger${path}`, {
    as: null,
    headers: { accept: 'application/json', authorization: `Bearer ${tenant}`, ...headers },
  });

const ROUTES = RELAYED.filter(({ service }) => service === 'ledger').flatMap(({ path }) =>
  path.includes(':agent')
    ? ['pay-bot', '*', '%2A'].map((agent) => path.replace(':agent', agent))
    : path === '/audit/agent/rows'
      ? ['pay-bot', '*'].map((agent) => `${path}?agent_id=${encodeURIComponent(agent)}`)
      : [path.replace(':id', CALL)],
);

describe.each(ROUTES)('the ledger at the command line, %s', (path) => {
  it.each([
    ['acme', 'globex'],
    ['globex', 'acme'],
  ])('has the rows of the tenant of %s alone, whatever a header says', async (own, other) => {
    for (const headers of [{}, { 'x-gate-tenant-scope': other }, { 'x-gate-tenant': other }]) {
      const { status, text } = await ask(path, own, headers);
      expect([status, (JSON.parse(text) as LedgerEntry[]).map(({ reasoning }) => reasoning)]).toEqual([
        200,
        [`${own} only`],
      ]);
    }
  });

  it.each(['tenant=globex', 'tenant=', 'tenant=acme&tenant=globex', 'tenant%00=globex', 'Tenant=globex'])(
    'asks nothing for somebody who names a tenant: %s',
    async (query) => {
      const { status, text } = await ask(`${path}${path.includes('?') ? '&' : '?'}${query}`, 'acme');
      expect([status, JSON.parse(text)]).toEqual([400, expect.objectContaining({ error: 'invalid_request' })]);
      expect(console.asked).toEqual([]);
    },
  );
});
