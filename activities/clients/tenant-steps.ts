import { z } from 'zod';
import { jsonObject } from '../../contracts/json.js';
import {
  drivenTenantOperation,
  drivenTenantStep,
  type DueTenantOperation,
  dueTenantOperation,
} from '../../contracts/tenant-lifecycle.js';
import { GateError } from '../../domain/errors.js';
import type { StepTakers, TenantOperations } from '../tenants.js';
import { createServiceClient, type ServiceClientOptions } from './service-client.js';

type Reached = Pick<ServiceClientOptions, 'url' | 'fetch'>;

export interface TenantOperationsClient extends TenantOperations {
  /** The operations that go on by themselves. */
  due(): Promise<readonly DueTenantOperation[]>;
}

const ASK_MS = 5_000;
/** Longer than a service works at a step before it says that it goes on at the next attempt; with the question before, shorter than a lease. */
const STEP_MS = 24_000;

/** Identity, which says what is next. No answer: `control_state_unavailable`. */
export function createTenantOperationsClient(at: () => Promise<Reached>): TenantOperationsClient {
  const ask = asked('identity', at);
  return {
    due: () => ask(z.array(dueTenantOperation), { method: 'GET', path: '/tenant-operations/due', timeoutMs: ASK_MS }),
    driven: (id) => ask(drivenTenantOperation, { method: 'GET', path: `/tenant-operations/${id}`, timeoutMs: ASK_MS }),
    drive: (id) =>
      ask(drivenTenantStep, { method: 'POST', path: `/tenant-operations/${id}/claim`, timeoutMs: ASK_MS, body: {} }),
    complete: (id, body) =>
      ask(drivenTenantOperation, {
        method: 'POST',
        path: `/tenant-operations/${id}/complete`,
        timeoutMs: STEP_MS,
        body,
      }),
  };
}

/** A service that has its step done for a warrant; the receipt is its own. */
export const createStepTaker = (service: string, at: () => Promise<Reached>): StepTakers['hil'] => {
  const ask = asked(service, at);
  return (warrant) => ask(jsonObject, { method: 'POST', path: '/tenant-steps', timeoutMs: STEP_MS, body: warrant });
};

/** Where it is, is known once it listens. */
const asked =
  (service: string, at: () => Promise<Reached>): ReturnType<typeof createServiceClient> =>
  async (type, question) =>
    createServiceClient(
      service,
      await at(),
      (detail, cause) => new GateError('control_state_unavailable', detail, { cause }),
    )(type, question);
