import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { GateDenied, GateTransportError } from '../errors.js';
import { quoted, send } from '../http.js';
import type { Settings } from '../options.js';
import type { ToolCall } from '../types.js';
import { objectIn } from '../verdict.js';
import { canonicalDigest, canonicalJson } from './canonical-json.js';

/** What Gate says, signed, that this host may execute now: `gate.execution/v1`, stage `authorization`. */
export interface SignedAuthorization {
  readonly authorization: Readonly<Record<string, unknown>> & {
    readonly authorization_id: string;
    readonly correlation_id: string;
    readonly credential_fingerprint: string;
    readonly payload_sha256: string;
  };
  readonly identity_signature: { readonly algorithm: 'Ed25519'; readonly key_id: string; readonly value: string };
}

/** How much two clocks may differ. */
const SKEW_SECS = 5;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Refusals of an authorization: the call was allowed once, and may not run now. */
const REFUSED = new Set([403, 409, 410]);

/** Keys of Gate by their ids; asked for when one is not known, over the connection by which Gate is known. */
export class GateKeys {
  readonly #settings: Settings;
  #keys = new Map<string, KeyObject>();

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  async byId(id: string): Promise<KeyObject | undefined> {
    const known = this.#keys.get(id);
    if (known !== undefined) return known;
    const answer = await send(this.#settings, { method: 'GET', path: '/.well-known/jwks.json' });
    const keys = objectIn(answer.text)?.['keys'];
    if (answer.status !== 200 || !Array.isArray(keys))
      throw new GateTransportError(`HTTP ${answer.status}: no keys of Gate: ${quoted(answer.text)}`, {
        status: answer.status,
      });
    const read = new Map<string, KeyObject>();
    for (const jwk of keys as Record<string, unknown>[])
      if (jwk['kty'] === 'OKP' && jwk['crv'] === 'Ed25519' && typeof jwk['kid'] === 'string')
        read.set(jwk['kid'], createPublicKey({ key: jwk as never, format: 'jwk' }));
    this.#keys = read;
    return read.get(id);
  }
}

/** Asks for the authorization of an allowed call. Throws `GateDenied` where it may not run now. */
export async function authorizationFor(
  settings: Settings,
  correlationId: string,
  call: ToolCall,
): Promise<SignedAuthorization> {
  const answer = await send(settings, { method: 'GET', path: `/authorizations/${encodeURIComponent(correlationId)}` });
  const body = objectIn(answer.text);
  const error = body?.['error'];
  if (REFUSED.has(answer.status) && typeof error === 'string')
    throw new GateDenied({
      call,
      code: error,
      reasons: [typeof body?.['reasoning'] === 'string' ? body['reasoning'] : error],
      reviewReasons: [],
      intentCategory: '',
      layer: 'proxy',
      correlationId,
    });
  if (
    answer.status !== 200 ||
    typeof body?.['authorization'] !== 'object' ||
    typeof body['identity_signature'] !== 'object'
  )
    throw new GateTransportError(`HTTP ${answer.status}: no authorization: ${quoted(answer.text)}`, {
      status: answer.status,
      ...(typeof error === 'string' ? { code: error } : {}),
    });
  return body as unknown as SignedAuthorization;
}

/**
 * Why an authorization does not let this request run; `null` where Gate's key signed exactly it, it is valid now, and the request is the one that was
 * judged.
 */
export function authorizationFault(
  { authorization, identity_signature: signature }: SignedAuthorization,
  request: { readonly text: string; readonly idempotencyId: string; readonly correlationId: string },
  key: KeyObject | undefined,
  nowMs: number,
): string | null {
  if (key === undefined) return 'its key is none of Gate';
  const bytes = Buffer.from(canonicalJson(authorization), 'utf8');
  if (signature.algorithm !== 'Ed25519' || !verify(null, bytes, key, Buffer.from(String(signature.value), 'base64')))
    return 'its signature does not hold';
  const {
    contract,
    stage,
    iat,
    exp,
    authorization_id: id,
    idempotency_id: idempotencyId,
    correlation_id: correlationId,
  } = authorization;
  if (contract !== 'gate.execution/v1' || stage !== 'authorization') return 'it is another statement';
  if (typeof iat !== 'number' || typeof exp !== 'number') return 'it has no time';
  if (!UUID.test(id) || idempotencyId !== request.idempotencyId || correlationId !== request.correlationId)
    return 'it is of another call';
  const seconds = Math.floor(nowMs / 1_000);
  if (seconds < iat - SKEW_SECS) return 'it is not valid yet';
  if (seconds >= exp) return 'it is not valid any more';
  const payload: unknown = JSON.parse(request.text);
  if (!DIGEST.test(authorization.payload_sha256) || authorization.payload_sha256 !== canonicalDigest(payload))
    return 'it is of another request';
  return canonicalJson(authorization['execution_payload']) === canonicalJson(payload)
    ? null
    : 'it shows another request';
}
