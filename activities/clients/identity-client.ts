import { z } from 'zod';
import {
  type ActorTokenRedemption,
  type ActorTokenRequest,
  type IssuedActorToken,
  issuedActorToken,
  type RedeemedActorToken,
  redeemedActorToken,
} from '../../contracts/actor-tokens.js';
import { rejectedAttestation, type RuntimeAttestationRequest } from '../../contracts/attestation.js';
import { type VerifiedAttestation, verifiedAttestation } from '../../contracts/verified-attestation.js';
import type { DecoyHitsTold } from '../../contracts/decoys.js';
import { type GrantRequest, type GrantUses, type IssuedGrant, issuedGrant } from '../../contracts/grants.js';
import {
  type DueStopReport,
  type enrollmentSvidRequest,
  dueStopReport,
  type IssuedSvid,
  issuedSvid,
  jwks,
  type RevocationList,
  revocationList,
  type SpiffeBundle,
  spiffeBundle,
  type StopCalls,
  type SvidRenewRequest,
  type svidRequest,
  workloadSvid,
  type WorkloadSvid,
  type WorkloadSvidRequest,
} from '../../contracts/identity.js';
import {
  type KeptToolDefinitions,
  keptToolDefinitions,
  type ToolDefinitionReport,
} from '../../contracts/tool-definition-pins.js';
import { GateError } from '../../domain/errors.js';
import { createServiceClient, type ServiceClientOptions } from './service-client.js';

export interface IdentityClient {
  /** What was taken back after a number; its signature is not checked here. */
  revocations(after: number): Promise<RevocationList>;
  /** The next certificate of an agent. Throws what identity refuses, and `ca_unavailable` where it does not answer. */
  renew(request: SvidRenewRequest): Promise<IssuedSvid>;
  /** The stops of which nobody said yet what was running. */
  stopReportsDue(): Promise<readonly DueStopReport[]>;
  /** Says it; whatever is said of it later changes nothing. */
  tellStopReport(id: string, said: StopCalls): Promise<void>;
  /** The keys with which it signs grants. */
  grantKeys(): Promise<z.infer<typeof jwks>>;
  /** A grant for an agent. Throws what identity refuses, and `signing_unavailable` where it does not answer: then there may be one that nobody has. */
  grant(request: GrantRequest): Promise<IssuedGrant>;
  /** Says how often grants were used in all; whatever is said twice changes nothing. */
  tellGrantUses(told: GrantUses): Promise<void>;
  /** A token by which an agent calls another Gate. Throws what identity refuses, and `signing_unavailable` where it does not answer. */
  actorToken(request: ActorTokenRequest): Promise<IssuedActorToken>;
  /** Uses up a token of another Gate; sent once, since it may be used up where no answer comes. Throws what identity refuses. */
  redeemActorToken(redemption: ActorTokenRedemption): Promise<RedeemedActorToken>;
  /** What was verified of the platform of an agent by its certificate; `null` where nothing counts. Throws where identity does not know or does not answer. */
  attestation(leaf: RuntimeAttestationRequest): Promise<VerifiedAttestation | null>;
  /** Says what an agent sees of its tools; whatever is said twice changes nothing. */
  tellToolDefinitions(report: ToolDefinitionReport): Promise<KeptToolDefinitions>;
  /** What certificates are verified with. */
  trustBundle(): Promise<SpiffeBundle>;
  /** Says how often decoys were touched in all; whatever is said twice changes nothing. */
  tellDecoyHits(told: DecoyHitsTold): Promise<void>;
  /** The next certificate of the service that asks. Throws as `renew` does. */
  workloadSvid(request: WorkloadSvidRequest): Promise<WorkloadSvid>;
  /** The first certificate of an agent, by a token, and the next one of the agent that asks. They throw as `renew` does. */
  firstSvid(token: string, request: z.input<typeof enrollmentSvidRequest>): Promise<IssuedSvid>;
  svid(request: z.input<typeof svidRequest>): Promise<IssuedSvid>;
}

/** Who asks for all is answered when every certificate that has not ended was looked at. */
const ALL_LIMIT_MS = 30_000;
const RENEWAL_LIMIT_MS = 8_000;
/** Of thousands of calls, which are signed and stored. */
const REPORT_LIMIT_MS = 30_000;

/** Identity over HTTP. No answer, or an unreadable one: `control_state_unavailable`. All questions may be repeated but `redeemActorToken`. */
export function createIdentityClient({ timeoutMs = 2_000, ...options }: ServiceClientOptions): IdentityClient {
  const unavailable = (detail: string, cause?: unknown) =>
    new GateError('control_state_unavailable', detail, { cause });
  const ask = createServiceClient('identity', options, unavailable);
  const renewing = createServiceClient(
    'identity',
    options,
    (_detail, cause) =>
      new GateError(
        'ca_unavailable',
        'identity does not answer; send the same request again, which is one certificate however often it is sent',
        { cause },
      ),
  );
  const granting = createServiceClient(
    'identity',
    options,
    (_detail, cause) =>
      new GateError('signing_unavailable', 'identity does not answer; ask again, for another grant', { cause }),
  );
  return {
    revocations: (after) =>
      ask(revocationList, {
        method: 'GET',
        path: `/revocation/list?after=${after}`,
        timeoutMs: after === 0 ? Math.max(ALL_LIMIT_MS, timeoutMs) : timeoutMs,
      }),
    stopReportsDue: () => ask(z.array(dueStopReport), { method: 'GET', path: '/stops/reports/due', timeoutMs }),
    async tellStopReport(id, body) {
      await ask(null, { method: 'POST', path: `/stops/reports/${id}/calls`, timeoutMs: REPORT_LIMIT_MS, body });
    },
    grantKeys: () => ask(jwks, { method: 'GET', path: '/jwks.json', timeoutMs }),
    actorToken: (body) => granting(issuedActorToken, { method: 'POST', path: '/actor-token', timeoutMs, body }),
    redeemActorToken: (body) =>
      ask(redeemedActorToken, { method: 'POST', path: '/actor-token/redeem', timeoutMs, body }),
    async attestation(leaf) {
      const { url, fetch } = options;
      const signal = AbortSignal.timeout(timeoutMs);
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(new URL('/attestation/runtime', url).href, {
        method: 'POST',
        headers,
        body: JSON.stringify(leaf),
        signal,
      })
        .then(async (reply) => ({ status: reply.status, body: JSON.parse(await reply.text()) as unknown }))
        .catch((error: unknown) => {
          throw unavailable('identity does not say what the platform of the agent attested', error);
        });
      if (answer.status === 200) {
        const verified = verifiedAttestation.safeParse(answer.body);
        if (verified.success) return verified.data;
      } else if (answer.status === 401 && rejectedAttestation.safeParse(answer.body).success) return null;
      throw unavailable(`identity answered ${answer.status} about what the platform of the agent attested`);
    },
    tellToolDefinitions: (body) =>
      ask(keptToolDefinitions, { method: 'POST', path: '/tool-definitions/pin', timeoutMs: REPORT_LIMIT_MS, body }),
    trustBundle: () => ask(spiffeBundle, { method: 'GET', path: '/.well-known/spiffe-bundle', timeoutMs }),
    // An issuer may have to be asked for its keys.
    grant: (body) => granting(issuedGrant, { method: 'POST', path: '/grant', timeoutMs: RENEWAL_LIMIT_MS, body }),
    async tellGrantUses(body) {
      await ask(null, { method: 'POST', path: '/grants/uses', timeoutMs: RENEWAL_LIMIT_MS, body });
    },
    async tellDecoyHits(body) {
      await ask(null, { method: 'POST', path: '/decoys/hits', timeoutMs: REPORT_LIMIT_MS, body });
    },
    renew: (body) => renewing(issuedSvid, { method: 'POST', path: '/svid/renew', timeoutMs: RENEWAL_LIMIT_MS, body }),
    firstSvid: (token, body) =>
      renewing(issuedSvid, {
        method: 'POST',
        path: '/enrollments/svid',
        timeoutMs: RENEWAL_LIMIT_MS,
        headers: { authorization: `Bearer ${token}` },
        body,
      }),
    svid: (body) => renewing(issuedSvid, { method: 'POST', path: '/svid', timeoutMs: RENEWAL_LIMIT_MS, body }),
    workloadSvid: (body) =>
      renewing(workloadSvid, { method: 'POST', path: '/workload-svid', timeoutMs: RENEWAL_LIMIT_MS, body }),
  };
}
