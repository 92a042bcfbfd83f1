import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { z } from 'zod';
import { canonicalJson } from '../../domain/crypto/digest.js';
import { errorText, GateError } from '../../domain/errors.js';
import { ASYMMETRIC_ALGORITHMS } from '../../domain/identity/asymmetric-algorithms.js';
import {
  bindingDigest,
  type BoundRequest,
  type EvidenceVerifier,
  fieldsDigest,
  readEvidence,
  type TrustAnchor,
} from '../../domain/identity/evidence.js';
import { faultOf } from './access-tokens.js';

/** A cluster of Kubernetes, and the keys with which it signs tokens of service accounts. */
export interface K8sCluster extends TrustAnchor {
  readonly name: string;
  readonly keys: JSONWebKeySet;
}

/** By which rules this verifier judges. */
export const K8S_VERIFIER_POLICY = 'gate-k8s/1';
const SKEW_SECONDS = 30;
/** A token of a pod is asked for anew for each challenge; a cluster gives none of less than ten minutes, and may give longer ones than it is asked for. */
const LONGEST_SECONDS = 3_600;

const printable = (most: number) =>
  z
    .string()
    .regex(/^[\x21-\x7e]+$/)
    .max(most);
const clusterText = z.strictObject({
  ak_key_id: printable(128),
  issuer: printable(256),
  jwks: z.strictObject({
    keys: z
      .array(z.object({ kty: z.enum(['RSA', 'EC', 'OKP']), kid: z.string().min(1) }).catchall(z.json()))
      .min(1)
      .max(100),
  }),
});
const clustersFile = z.strictObject({ clusters: z.array(clusterText).min(1).max(1_000) });

/** Throws what is wrong with it. */
export function k8sClusterOf(text: unknown): K8sCluster {
  const read = clusterText.safeParse(text);
  if (!read.success) throw new Error(z.prettifyError(read.error));
  const { ak_key_id: name, issuer, jwks } = read.data;
  if (jwks.keys.some((key) => 'd' in key)) throw new Error(`${name}: the keys are private ones`);
  return {
    name,
    platformIssuer: issuer,
    trustAnchorId: `sha256:${hash('sha256', canonicalJson(jwks))}`,
    keys: jwks as JSONWebKeySet,
  };
}

/** The clusters of a file (`GATE_IDENTITY_K8S_CLUSTERS_FILE`) by their names, none of which is that of a key of a TPM. Throws what is wrong with it. */
export async function readK8sClusters(
  file: string,
  tpms: ReadonlyMap<string, unknown>,
): Promise<ReadonlyMap<string, K8sCluster>> {
  try {
    const read = clustersFile.safeParse(JSON.parse(await readFile(file, 'utf8')));
    if (!read.success) throw new Error(z.prettifyError(read.error));
    const all = read.data.clusters.map(k8sClusterOf);
    const byName = new Map(all.map((one) => [one.name, one]));
    if (byName.size < all.length) throw new Error('an ak_key_id stands there twice');
    const both = all.find(({ name }) => tpms.has(name));
    if (both) throw new Error(`${both.name}: the ak_key_id is that of a key of a TPM too`);
    return byName;
  } catch (error) {
    throw new Error(`${file}: ${errorText(error)}`, { cause: error });
  }
}

/** The one audience of a token that is evidence: everything that the request binds it to. */
export const k8sAudience = (request: BoundRequest): string =>
  `gate-k8s-key-bound-v1:${bindingDigest('gate-k8s-key-bound-v1', request).toString('base64url')}`;

const evidenceObject = z.strictObject({
  schemaVersion: z.literal(1),
  akKeyId: printable(128),
  token: z.string().min(1).max(16_384),
});
const named = z.looseObject({ name: z.string().min(1).max(253), uid: z.string().min(1).max(128) });
/** What the API server says in a token that is bound to a pod. */
const claims = z.looseObject({
  sub: z.string(),
  aud: z.union([z.string(), z.tuple([z.string()])]),
  iat: z.number(),
  exp: z.number(),
  'kubernetes.io': z.looseObject({ namespace: z.string().min(1).max(253), serviceaccount: named, pod: named }),
});

/** Verifies tokens of service accounts by the keys of these clusters. */
export function k8sVerifier(clusters: ReadonlyMap<string, K8sCluster>): EvidenceVerifier {
  return {
    kind: 'k8s-key-bound',
    id: 'gate-identity/k8s-key-bound',
    policy: K8S_VERIFIER_POLICY,
    anchors: clusters,
    async measured(bytes, request, nowMs) {
      const { akKeyId, token } = readEvidence(bytes, evidenceObject);
      const cluster = clusters.get(akKeyId);
      const untrusted = (why: string, cause?: unknown) => new GateError('attestation_issuer_untrusted', why, { cause });
      if (!cluster) throw untrusted('no cluster of this name is known');
      const { platformIssuer, trustAnchorId } = request.expected;
      if (cluster.platformIssuer !== platformIssuer || cluster.trustAnchorId !== trustAnchorId)
        throw untrusted('the cluster is of another issuer or anchor than the request says');
      let payload: unknown;
      try {
        ({ payload } = await jwtVerify(token, createLocalJWKSet(cluster.keys), {
          issuer: cluster.platformIssuer,
          algorithms: [...ASYMMETRIC_ALGORITHMS],
          clockTolerance: SKEW_SECONDS,
          currentDate: new Date(nowMs),
          requiredClaims: ['sub', 'aud', 'exp', 'iat'],
        }));
      } catch (error) {
        throw untrusted(`the token is refused: ${faultOf(error)}`, error);
      }
      const read = claims.safeParse(payload);
      if (!read.success)
        throw new GateError('attestation_evidence_malformed', 'the token is of no pod, or of more than one audience');
      const { aud, iat, exp, sub, 'kubernetes.io': said } = read.data;
      // The digest is in what was signed, so that a token for one request is none for another.
      if ([aud].flat()[0] !== k8sAudience(request))
        throw new GateError('attestation_nonce_mismatch', 'the token was made for another request');
      if (iat * 1_000 < Date.parse(request.challenge.issuedAt) - SKEW_SECONDS * 1_000 || exp - iat > LONGEST_SECONDS)
        throw new GateError(
          'attestation_evidence_stale',
          'the token is older than its challenge, or counts for longer than an hour',
        );
      const { namespace, serviceaccount } = said;
      if (sub !== `system:serviceaccount:${namespace}:${serviceaccount.name}`)
        throw new GateError('attestation_evidence_malformed', 'the token is of somebody else than it says');
      const measured = fieldsDigest('gate-k8s-measurement-v1', [namespace, serviceaccount.name, serviceaccount.uid]);
      return `sha256:${measured.toString('hex')}`;
    },
  };
}
