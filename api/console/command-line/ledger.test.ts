import { beforeEach, describe, expect, it } from '@jest/globals';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import { consoleHere } from '../../../test/support/console-over-ledger.js';
import { testRow } from '../../../test/support/ledger.js';
import { RELAYED } from './relayed.js';

const CALL = '55555555-5555-4555-8555-555555555555';
/** Each says whose it is, and both tenants have the same agent and the same call. */
const rowOf = (tenant: string) =>
  testRow({ tenant, agent_id: 'pay-bot', correlation_id: CALL, reasoning: `${tenant} only` });

const here = consoleHere();
beforeEach(() => here.gate.ledger.append([rowOf('acme'), rowOf('globex')]));
const ask = (path: string, tenant: string, headers: Record<string, string> = {}) =>
  here.page.get(`/command-line/ledger${path}`, {
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
      expect(here.page.asked).toEqual([]);
    },
  );
});
