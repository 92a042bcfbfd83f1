import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { type Credential, createAuthority } from '../../adapters/identity/certificate-authority.js';
import { tenantWarrantSigner } from '../../adapters/identity/tenant-warrant-signature.js';
import { ERROR_CODES } from '../../contracts/error-codes.js';
import type { TenantWarrant, TenantWarrantContent } from '../../contracts/tenant-lifecycle.js';
import { bareService } from '../../test/support/bare-service.js';
import { serviceCaller, TRUST_DOMAIN } from '../../test/support/identity-service.js';
import type { Service } from './service.js';
import { tenantStepRoute } from './tenant-steps.js';

const NOW = Date.parse('2026-11-30T12:00:00.000Z');
const CONTENT: TenantWarrantContent = {
  owner: 'hil',
  tenant: 'acme',
  operation_id: '10000000-0000-7000-8000-000000000001',
  kind: 'offboard',
  step_id: 'hil_namespace',
  asked_by: 'operator:dev',
  not_after: new Date(NOW + 30_000).toISOString(),
};

describe('the step of a service in an operation on a tenant', () => {
  let ca: Credential;
  let other: Credential;
  let caller: string;
  let nowMs: number;
  let taken: TenantWarrantContent[];
  let service: Service;
  beforeAll(async () => {
    const life = { notBefore: new Date(NOW - 3_600_000), notAfter: new Date(NOW + 3_600_000) };
    [ca, other] = await Promise.all([createAuthority(TRUST_DOMAIN, life), createAuthority(TRUST_DOMAIN, life)]);
  });
  const serve = (tls: { readonly ca: string } | undefined): void => {
    service = bareService({ name: 'hil', governed: 'hil', resolveCaller: () => serviceCaller(caller) });
    tenantStepRoute(service.app, {
      owner: 'hil',
      tls,
      receipt: z.strictObject({ state: z.string() }),
      take(warrant) {
        taken.push(warrant);
        return Promise.resolve({ state: 'offboarded' });
      },
      clock: () => nowMs,
    });
  };
  beforeEach(() => {
    [caller, nowMs, taken] = ['proxy', NOW, []];
    serve({ ca: ca.cert });
  });
  afterEach(() => service.close());
  const signed = (more: Partial<TenantWarrantContent> = {}, by = ca): Promise<TenantWarrant> =>
    tenantWarrantSigner(by.cert, by.key)({ ...CONTENT, ...more });
  const ask = async (payload: object) => {
    const reply = await service.app.inject({ method: 'POST', url: '/tenant-steps', payload });
    return [reply.statusCode, reply.json<{ error?: string; state?: string }>()] as const;
  };

  it('is done for the warrant of identity', async () => {
    expect(await ask(await signed())).toEqual([200, { state: 'offboarded' }]);
    expect(taken).toEqual([CONTENT]);
  });
  it.each([
    ['another service', () => signed({ owner: 'ledger' })],
    ['a CA that is not trusted here', () => signed({}, other)],
    ['another tenant than was signed', async () => ({ ...(await signed()), tenant: 'other' })],
    [
      'another operation than was signed',
      async () => ({ ...(await signed()), operation_id: CONTENT.operation_id.replace('1', '2') }),
    ],
    ['another kind than was signed', async () => ({ ...(await signed()), kind: 'provision' })],
    [
      'a later end than was signed',
      async () => ({ ...(await signed()), not_after: new Date(NOW + 60_000).toISOString() }),
    ],
  ])('is not done for one of %s', async (_what, warrant) => {
    expect(await ask(await warrant())).toMatchObject([403, { error: 'warrant_invalid' }]);
    expect(taken).toEqual([]);
  });
  it('is not done for one that is over by the clock here, which may be wrong: both times are said', async () => {
    expect(await ask(await signed({ not_after: new Date(NOW).toISOString() }))).toMatchObject([
      403,
      {
        error: 'warrant_over',
        reason: expect.stringMatching(
          /ended at 2026-11-30T12:00:00.000Z, and by the clock of hil it is 2026-11-30T12:00:00.000Z/,
        ),
      },
    ]);
    expect(ERROR_CODES.warrant_over.retry).not.toBe('no');
    expect(taken).toEqual([]);
  });
  it('is not done without a warrant, and not for another caller', async () => {
    expect(await ask({ operation_id: CONTENT.operation_id, kind: 'offboard' })).toMatchObject([
      400,
      { error: 'invalid_request' },
    ]);
    caller = 'console';
    expect(await ask(await signed())).toMatchObject([403, { error: 'capability_denied' }]);
    expect(taken).toEqual([]);
  });
  it('is not done where no CA is known', async () => {
    await service.close();
    serve(undefined);
    expect(await ask(await signed())).toMatchObject([403, { error: 'warrant_invalid' }]);
  });
});
