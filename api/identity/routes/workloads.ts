import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import {
  svidRecoveryRequest,
  WORKLOAD_TTL_SECONDS,
  workloadRecovery,
  workloadSvid,
  workloadSvidRequest,
} from '../../../contracts/identity.js';
import { GateError } from '../../../domain/errors.js';
import type { CertificateRequest } from '../../../domain/identity/signed-once.js';
import type { WorkloadCaller, WorkloadIssuing } from '../../../domain/identity/workload-issuing.js';
import type { ServiceApp } from '../../plugins/app.js';
import { askerFirst, type AdministratorOf } from '../administrator.js';
import type { IdentityMetrics } from '../metrics.js';
import { countingRefusals, svidAnswer } from './issued.js';

export interface WorkloadParts {
  readonly issuing: WorkloadIssuing;
  readonly readRequest: (pem: string) => Promise<CertificateRequest>;
  readonly administratorOf: AdministratorOf;
  readonly metrics: IdentityMetrics;
  readonly clock: () => number;
  /** Called when a row waits for the ledger. */
  readonly onIssued: () => void;
}

/** The certificates of Gate's own services (docs/architecture/identity.md#services). */
export function workloadRoutes(app: ServiceApp, parts: WorkloadParts): void {
  const { issuing, readRequest, administratorOf, metrics, clock, onIssued } = parts;

  app.post(
    '/workload-svid',
    // Here alone a bootstrap certificate counts.
    { config: { bootstrap: true }, schema: { body: workloadSvidRequest, response: { 200: workloadSvid } } },
    (request) =>
      countingRefusals(metrics, async () => {
        const { request_id: requestId, csr_pem: pem, ttl_seconds: ttlSeconds } = request.body;
        const caller = workloadOf(request);
        if (ttlSeconds > WORKLOAD_TTL_SECONDS.max) throw new GateError('ttl_seconds_too_large');
        const asked = { requestId, request: await readRequest(pem), ttlSeconds };
        const svid = await issuing.issue(asked, caller);
        onIssued();
        metrics.refreshed(caller.isBootstrap ? 'bootstrap' : 'workload', caller.service);
        return { request_id: requestId, generation: svid.generation, ...svidAnswer(svid, issuing.caPem) };
      }),
  );

  app.post(
    '/workloads/:service/svid-recovery',
    {
      schema: {
        params: z.strictObject({ service: z.string().min(1).max(63) }),
        body: svidRecoveryRequest,
        response: { 200: workloadRecovery },
      },
      onRequest: askerFirst(administratorOf),
    },
    async (request) => {
      const { service } = request.params;
      const { recoveryGeneration, revokedSvidId } = await issuing.recover(service, {
        by: administratorOf(request).sub,
        reason: request.body.reason,
        nowMs: clock(),
      });
      onIssued();
      return { service, recovery_generation: recoveryGeneration, revoked_svid_id: revokedSvidId };
    },
  );
}

function workloadOf({ caller }: FastifyRequest): WorkloadCaller {
  // The table lets none but services through.
  if (caller?.kind !== 'service') throw new GateError('caller_not_allowed');
  return {
    service: caller.callerId.replace(/^service-/, ''),
    fingerprint: caller.fingerprint,
    isBootstrap: caller.bootstrap === true,
    hosts: caller.hosts ?? [],
  };
}
