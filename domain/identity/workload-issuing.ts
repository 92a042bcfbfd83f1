import type { PinnedWorkload } from '../../contracts/identity.js';
import { GateError } from '../errors.js';
import type { RevokedBy } from './revoked-by.js';
import { type CertificateRequest, type SignedSvid, signedOnce, type Svid, type SvidSigner } from './signed-once.js';
import { serviceSpiffe } from './spiffe.js';

/** What the connection of a service that asks shows. */
export interface WorkloadCaller {
  /** The service of its SPIFFE id. */
  readonly service: string;
  readonly fingerprint: string;
  readonly isBootstrap: boolean;
  /** The names by which others reach it: those of its certificate. */
  readonly hosts: readonly string[];
}

/** What a request of a service rests on. `self` is identity itself, which has the key of the CA. */
export type WorkloadAuthority =
  | {
      readonly kind: 'bootstrap' | 'self';
      readonly workload: string;
      readonly service: string;
      readonly fingerprint: string;
    }
  | { readonly kind: 'workload'; readonly service: string; readonly fingerprint: string };

export interface WorkloadIntent {
  /** Also the id of the request. */
  readonly id: string;
  readonly workload: string;
  readonly service: string;
  readonly authority: WorkloadAuthority;
  readonly recoveryGeneration: number;
  readonly priorId: string | null;
}

export interface IssuedWorkload extends Svid {
  readonly generation: number;
}

export interface WorkloadStore {
  /**
   * Stores the intent, or finds the certificate that this very request gave. Throws `issuance_conflict`, `issuance_replay`, `caller_not_allowed`
   * or `rate_limited`, having stored nothing.
   */
  beginWorkload(
    asked: { readonly requestId: string; readonly request: CertificateRequest; readonly authority: WorkloadAuthority },
    nowMs: number,
  ): Promise<WorkloadIntent | { readonly issued: IssuedWorkload }>;
  /** Stores the certificate with all that follows from it, in one transaction. Throws where the intent or its authority counts no more. */
  releaseWorkload(intent: WorkloadIntent, svid: SignedSvid, nowMs: number): Promise<IssuedWorkload>;
  failWorkload(intent: WorkloadIntent): Promise<void>;
  /** Takes the certificate of a workload back, and lets it use its bootstrap certificate once more. */
  recoverWorkload(
    workload: string,
    by: RevokedBy,
  ): Promise<{ readonly recoveryGeneration: number; readonly revokedSvidId: string | null }>;
}

export interface WorkloadIssuing {
  /** The next certificate of the service that asks, whose id and names are those of what it showed and never of its request. */
  issue(
    asked: { readonly requestId: string; readonly request: CertificateRequest; readonly ttlSeconds: number },
    caller: WorkloadCaller,
  ): Promise<IssuedWorkload>;
  /** The same for identity itself. */
  issueOwn(
    asked: { readonly requestId: string; readonly request: CertificateRequest; readonly ttlSeconds: number },
    caller: Omit<WorkloadCaller, 'isBootstrap'>,
  ): Promise<IssuedWorkload>;
  recover: WorkloadStore['recoverWorkload'];
  readonly caPem: string;
}

/** A clock that is set back by hours, or is behind on another machine, must not make a service a stranger to all others. */
const BACKDATE_MS = 86_400_000;

export function createWorkloadIssuing(parts: {
  readonly store: WorkloadStore;
  readonly signer: SvidSigner;
  readonly trustDomain: string;
  readonly clock: () => number;
  /** The workloads of this deployment, read when a bootstrap certificate is shown. */
  readonly pinned: () => Promise<readonly PinnedWorkload[]>;
}): WorkloadIssuing {
  const { store, signer, trustDomain, clock, pinned } = parts;

  async function authorityOf({ service, fingerprint, isBootstrap }: WorkloadCaller): Promise<WorkloadAuthority> {
    if (!isBootstrap) return { kind: 'workload', service, fingerprint };
    const pins = await pinned().catch((error: unknown) => {
      throw new GateError('store_unavailable', 'the file of workloads cannot be read', { cause: error });
    });
    const pin = pins.find((one) => one.bootstrap_sha256 === fingerprint && one.service === service);
    if (!pin) throw new GateError('caller_not_allowed', `this bootstrap certificate is pinned for no ${service}`);
    return { kind: 'bootstrap', workload: pin.name, service, fingerprint };
  }

  const issue = (
    { requestId, request, ttlSeconds }: Parameters<WorkloadIssuing['issue']>[0],
    authority: WorkloadAuthority,
    hosts: readonly string[],
  ): Promise<IssuedWorkload> =>
    signedOnce<WorkloadIntent, IssuedWorkload>(request, ttlSeconds, {
      signer,
      clock,
      backdateMs: BACKDATE_MS,
      begin: (nowMs) => store.beginWorkload({ requestId, request, authority }, nowMs),
      profileOf: ({ service }) => ({
        commonName: service,
        spiffe: serviceSpiffe(trustDomain, service),
        hosts,
        usages: ['server', 'client'],
      }),
      release: (intent, svid, nowMs) => store.releaseWorkload(intent, svid, nowMs),
      fail: (intent) => store.failWorkload(intent),
    });

  return {
    get caPem() {
      return signer.caPem;
    },
    issue: async (asked, caller) => issue(asked, await authorityOf(caller), caller.hosts),
    issueOwn: (asked, { service, fingerprint, hosts }) =>
      issue(asked, { kind: 'self', workload: service, service, fingerprint }, hosts),
    recover: (workload, by) => store.recoverWorkload(workload, by),
  };
}
