import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { bareService } from '../../../test/support/bare-service.js';
import { scopeReader } from '../../hil/scope.js';
import type { Service } from '../../plugins/service.js';
import { spendRoutes } from './spend.js';

const [OURS, THEIRS] = ['operator-of-acme-0123456789-0123456789', 'operator-of-globex-0123456789-01234567'];
const SPENT = new Map([
  ['acme', 700],
  ['globex', 9_000],
]);

let proxy: Service;
beforeAll(() => {
  proxy = bareService({
    name: 'proxy',
    resolveCaller: () => ({
      kind: 'service',
      callerId: 'service-console',
      spiffe: 'spiffe://gate.local/service/console',
      fingerprint: 'ab'.repeat(32),
    }),
  });
  const readScope = scopeReader({
    operators: [
      { name: 'dev', tenant: 'acme', token: OURS },
      { name: 'other', tenant: 'globex', token: THEIRS },
    ],
  });
  spendRoutes(proxy.app, {
    spend: {
      of: async (tenant) => ({ spentMicros: SPENT.get(tenant) ?? 0, reservedMicros: 0 }),
      byAgent: async () => [],
    },
    tenantOf: (request) => readScope(request).tenant,
  });
});
afterAll(() => proxy.close());

const asked = async (url: string, scope?: string, token?: string) => {
  const headers = {
    ...(scope !== undefined && { 'x-gate-tenant-scope': scope }),
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  const reply = await proxy.app.inject({ url, headers });
  const body = reply.json<{ error?: string; tenant?: string; spent_micros?: number }>();
  return [reply.statusCode, body.error ?? body.tenant, body.spent_micros];
};

it('says what the tenant spent that the console names, or to which the operator belongs', async () => {
  expect(await asked('/spend', 'acme')).toEqual([200, 'acme', 700]);
  expect(await asked('/spend', undefined, OURS)).toEqual([200, 'acme', 700]);
  expect(await asked('/spend?month=2026-03', 'globex', THEIRS)).toEqual([200, 'globex', 9_000]);
});

it.each<[string, string | undefined, string | undefined, number, string]>([
  ['the token of another tenant', 'globex', OURS, 401, 'unauthenticated'],
  ['a wrong token', 'acme', 'nobody-has-this-token-0123456789-01234', 401, 'unauthenticated'],
  ['a wrong token, and no scope', undefined, 'nobody-has-this-token-0123456789-01234', 401, 'unauthenticated'],
  ['no tenant, and no token', undefined, undefined, 400, 'tenant_scope_required'],
])('says it to nobody with %s', async (_what, scope, token, status, code) => {
  expect(await asked('/spend', scope, token)).toEqual([status, code, undefined]);
});

it('takes no tenant from the query', async () => {
  expect(await asked('/spend?tenant=globex', 'acme', OURS)).toEqual([400, 'invalid_request', undefined]);
  expect(await asked('/spend?tenant=globex')).toEqual([400, 'invalid_request', undefined]);
});
