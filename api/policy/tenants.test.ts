import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Credential, createAuthority } from '../../adapters/identity/certificate-authority.js';
import { tenantWarrantSigner } from '../../adapters/identity/tenant-warrant-signature.js';
import { bareService } from '../../test/support/bare-service.js';
import { serviceCaller, TRUST_DOMAIN } from '../../test/support/identity-service.js';
import type { Service } from '../plugins/service.js';
import type { PolicyManagement } from './management.js';
import { policyTenantRoutes } from './routes/tenants.js';

const RECEIPT = {
  tenant: 'acme',
  operation_id: '10000000-0000-7000-8000-000000000001',
  kind: 'offboard',
  state: 'offboarded',
  generation: 1,
  policies: 2,
  updated_at: '2026-11-30T12:00:00.000Z',
  receipt_sha256: 'a'.repeat(64),
};

describe('the policy engine’s step of a tenant that goes', () => {
  let ca: Credential;
  let service: Service;
  let flushing: () => Promise<void>;
  const done: string[] = [];
  beforeAll(async () => {
    ca = await createAuthority(TRUST_DOMAIN, {
      notBefore: new Date(Date.now() - 3_600_000),
      notAfter: new Date(Date.now() + 3_600_000),
    });
  });
  beforeEach(() => {
    done.length = 0;
    service = bareService({
      name: 'policy-engine',
      governed: 'policy-engine',
      resolveCaller: () => serviceCaller('proxy'),
    });
    const management = {
      tenants: {
        step() {
          done.push('step');
          return Promise.resolve(RECEIPT);
        },
      },
      outbox: { flush: () => flushing() },
    } as unknown as PolicyManagement;
    policyTenantRoutes(service.app, management, { ca: ca.cert });
  });
  afterEach(() => service.close());
  const ask = async () => {
    const warrant = await tenantWarrantSigner(
      ca.cert,
      ca.key,
    )({
      owner: 'policy-engine',
      tenant: 'acme',
      operation_id: RECEIPT.operation_id,
      kind: 'offboard',
      step_id: 'policy_namespace',
      asked_by: 'operator:dev',
      not_after: new Date(Date.now() + 30_000).toISOString(),
    });
    const reply = await service.app.inject({ method: 'POST', url: '/tenant-steps', payload: warrant });
    return [reply.statusCode, reply.json<{ error?: string; reason?: string }>()] as const;
  };

  it('is done once the ledger has its rows', async () => {
    flushing = async () => {
      await Promise.resolve();
      done.push('told');
    };
    expect(await ask()).toEqual([200, RECEIPT]);
    expect(done).toEqual(['step', 'told']);
  });

  it('is not done while they wait for the ledger, and says why', async () => {
    flushing = () => Promise.reject(new Error('it is away'));
    expect(await ask()).toMatchObject([
      503,
      { error: 'operation_unfinished', reason: 'rows wait for the ledger: it is away' },
    ]);
  });
});
