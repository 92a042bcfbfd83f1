import { createHash, createPrivateKey, type KeyObject, sign, X509Certificate } from 'node:crypto';
import { requestText } from '../calls.js';
import { GateConfigError, GateError, GatePending, GateTransportError } from '../errors.js';
import { send } from '../http.js';
import { guard } from '../inspect.js';
import { type GateOptions, settingsOf } from '../options.js';
import type { ResolveOptions, ToolCall } from '../types.js';
import { objectIn } from '../verdict.js';
import { authorizationFault, authorizationFor, GateKeys, type SignedAuthorization } from './authorization.js';
import { canonicalDigest, canonicalJson } from './canonical-json.js';
import type { ExecutionCompletion, ExecutionIntent, ExecutionJournal, PreparedCall } from './journal.js';

export type { SignedAuthorization } from './authorization.js';
export {
  type ExecutionCompletion,
  type ExecutionIntent,
  type ExecutionJournal,
  type KeptExecution,
  openFileJournal,
  type PreparedCall,
} from './journal.js';

/**
 * An attempt was begun, and nobody knows what came of it: it is never made again. `intent` says what it was; whoever finds out what happened says so
 * by `recover`.
 */
export class GateRecoveryRequired extends GateError {
  override name = 'GateRecoveryRequired';
  readonly idempotencyId: string;
  readonly intent: ExecutionIntent;

  constructor(intent: ExecutionIntent, why: string, cause?: unknown) {
    super(`what came of ${intent.name} is not known (idempotency_id=${intent.idempotencyId}): ${why}`, { cause });
    this.idempotencyId = intent.idempotencyId;
    this.intent = intent;
  }
}

/** What an executor did: its result, plain JSON, and its own name of the effect, by which it can be found again. */
export interface Effect<Result> {
  readonly result: Result;
  readonly effectId: string;
}

/** What may be executed, once, as Gate signed it. */
export interface Authorized {
  readonly authorizationId: string;
  readonly idempotencyId: string;
  readonly name: string;
  readonly input: unknown;
}

export interface Executed<Result> extends Effect<Result> {
  readonly idempotencyId: string;
  /** Whether it is the result of an earlier attempt. */
  readonly replayed: boolean;
  /** Whether Gate has the receipt. Where it has not, `deliverReceipts` sends it later. */
  readonly receiptDelivered: boolean;
}

export interface GovernedOptions extends Omit<GateOptions, 'mode'> {
  /** Who executes; at most 256 characters. */
  readonly executorId: string;
  readonly journal: ExecutionJournal;
  /** PEM texts of the agent's certificate (P-256) and key, the same as those of the connection (`@gate/agent-sdk/mtls`): receipts are signed with it. */
  readonly certificate: { readonly cert: string; readonly key: string };
  readonly onPending?: 'throw' | 'wait';
  readonly wait?: ResolveOptions;
}

export interface GovernedCall {
  readonly name: string;
  readonly input: unknown;
  /** Names the call across restarts. Default: a new one, which `GatePending` and errors do not tell: keep your own where you want to go on. */
  readonly idempotencyId?: string;
}

export interface GovernedTools {
  /**
   * Runs a call that Gate authorized, once: whatever ends the process, and however often it is called under the same id. Throws what Gate said where it may
   * not run, and `GateRecoveryRequired` where an attempt was begun whose end nobody knows and `recover` does not tell.
   */
  execute<Result>(
    call: GovernedCall,
    run: (authorized: Authorized) => Promise<Effect<Result>>,
    recover?: (intent: ExecutionIntent) => Promise<Effect<Result> | null>,
  ): Promise<Executed<Result>>;
  /** Sends the receipts that Gate has not; runs nothing. */
  deliverReceipts(limit?: number): Promise<{ readonly delivered: number; readonly failed: number }>;
}

/** What a receipt repeats of its authorization. */
const REPEATED = [
  'authorization_id',
  'idempotency_id',
  'correlation_id',
  'agent_id',
  'agent_spiffe',
  'tenant',
  'credential_fingerprint',
  'method',
  'tool_name',
  'payload_sha256',
] as const;
const LONGEST_NAME = 256;
const MOST_AT_ONCE = 128;

/** Tools that this process runs itself, each after Gate signed that it may, with a receipt for Gate afterwards. Needs the full edition. */
export function governedTools(options: GovernedOptions): GovernedTools {
  const { executorId, journal, certificate, onPending = 'throw', wait = {}, ...rest } = options;
  const settings = settingsOf(rest);
  if (executorId.trim() === '' || executorId.length > LONGEST_NAME)
    throw new GateConfigError(`executorId must have 1 to ${LONGEST_NAME} characters`);
  const { key, fingerprint } = signingKeyOf(certificate);
  const keys = new GateKeys(settings);

  async function authorized(prepared: PreparedCall): Promise<SignedAuthorization> {
    const { idempotencyId, name, input } = prepared;
    const call: ToolCall = { id: idempotencyId, name, input };
    let correlationId: string | undefined;
    try {
      const verdict = await guard([call], settings, { idempotencyId });
      correlationId = verdict.kind === 'uninspected' ? undefined : verdict.correlationId;
      // A Gate that only observes lets pass what nobody authorized.
      if (verdict.kind !== 'allow') throw new GateTransportError('this Gate only observes, and authorizes nothing');
    } catch (error) {
      if (!(error instanceof GatePending) || onPending !== 'wait') throw error;
      await error.resolve(wait);
      ({ correlationId } = error);
    }
    if (correlationId === undefined) throw new GateTransportError('the answer names no call');
    const signed = await authorizationFor(settings, correlationId, call);
    const text = requestText([call], idempotencyId);
    const signer = await keys.byId(String(signed.identity_signature.key_id));
    const fault = authorizationFault(signed, { text, idempotencyId, correlationId }, signer, Date.now());
    if (fault !== null) throw new GateTransportError(`the authorization does not count: ${fault}`);
    if (signed.authorization.credential_fingerprint !== fingerprint)
      throw new GateConfigError('the connection shows another certificate than the one that receipts are signed with');
    return signed;
  }

  async function finish<Result>(intent: ExecutionIntent, effect: Effect<Result>): Promise<ExecutionCompletion> {
    const { result, effectId } = effect;
    if (typeof effectId !== 'string' || effectId === '' || effectId.length > LONGEST_NAME)
      throw new GateRecoveryRequired(intent, `it ran, and effectId must have 1 to ${LONGEST_NAME} characters`);
    const kept: unknown = JSON.parse(JSON.stringify(result ?? null));
    const completion = {
      idempotencyId: intent.idempotencyId,
      result: kept,
      effectId,
      receipt: receiptOf(intent.authorization, canonicalDigest(kept), effectId, key, fingerprint),
    };
    try {
      await journal.complete(completion);
    } catch (error) {
      throw new GateRecoveryRequired(intent, 'it ran, and its end could not be kept', error);
    }
    return completion;
  }

  async function deliver({ idempotencyId, receipt }: ExecutionCompletion): Promise<boolean> {
    try {
      const answer = await send(settings, {
        method: 'POST',
        path: '/execution-receipts',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(receipt),
      });
      const body = objectIn(answer.text);
      if (
        answer.status !== 200 ||
        body?.['status'] !== 'recorded' ||
        body['receipt_sha256'] !== canonicalDigest(receipt)
      )
        return false;
    } catch (error) {
      if (error instanceof GateTransportError) return false;
      throw error;
    }
    await journal.delivered(idempotencyId);
    return true;
  }

  const executedOf = async <Result>(completion: ExecutionCompletion, replayed: boolean): Promise<Executed<Result>> => {
    if (completion.receipt['result_sha256'] !== canonicalDigest(completion.result))
      throw new GateError(`the kept result of ${completion.idempotencyId} is not the one that was signed`);
    return {
      idempotencyId: completion.idempotencyId,
      result: completion.result as Result,
      effectId: completion.effectId,
      replayed,
      receiptDelivered: await deliver(completion),
    };
  };

  return {
    async execute<Result>(
      call: GovernedCall,
      run: (authorized: Authorized) => Promise<Effect<Result>>,
      recover?: (intent: ExecutionIntent) => Promise<Effect<Result> | null>,
    ) {
      const idempotencyId = call.idempotencyId ?? crypto.randomUUID();
      const asked = { idempotencyId, name: call.name, input: call.input };
      requestText([{ id: idempotencyId, name: call.name, input: call.input }], idempotencyId);
      await journal.prepare(asked);
      const kept = await journal.load(idempotencyId);
      const prepared = kept.prepared ?? asked;
      if (canonicalJson([prepared.name, prepared.input]) !== canonicalJson([asked.name, asked.input]))
        throw new GateConfigError(`another call was prepared under the id ${idempotencyId}`);
      if (kept.completion !== null) return executedOf<Result>(kept.completion, true);
      if (kept.intent !== null) return recovered(kept.intent, recover);

      const authorization = await authorized(prepared);
      const intent: ExecutionIntent = { ...prepared, executorId, authorization };
      if (!(await journal.commitIntent(intent))) {
        const other = await journal.load(idempotencyId);
        if (other.completion !== null) return executedOf<Result>(other.completion, true);
        return recovered(other.intent ?? intent, recover);
      }
      let effect: Effect<Result>;
      try {
        effect = await run({
          authorizationId: authorization.authorization.authorization_id,
          idempotencyId,
          name: prepared.name,
          input: structuredClone(prepared.input),
        });
      } catch (error) {
        throw new GateRecoveryRequired(intent, 'the executor failed, and may have done it', error);
      }
      return executedOf<Result>(await finish(intent, effect), false);
    },

    async deliverReceipts(limit = MOST_AT_ONCE) {
      let [delivered, failed] = [0, 0];
      for (const completion of await journal.owed(Math.min(Math.max(1, limit), MOST_AT_ONCE)))
        if (await deliver(completion)) delivered += 1;
        else failed += 1;
      return { delivered, failed };
    },
  };

  async function recovered<Result>(
    intent: ExecutionIntent,
    recover: ((intent: ExecutionIntent) => Promise<Effect<Result> | null>) | undefined,
  ): Promise<Executed<Result>> {
    if (recover === undefined)
      throw new GateRecoveryRequired(intent, 'an attempt was begun before, and no recover was given');
    let effect: Effect<Result> | null;
    try {
      effect = await recover(intent);
    } catch (error) {
      throw new GateRecoveryRequired(
        intent,
        'an attempt was begun before, and what came of it could not be looked up',
        error,
      );
    }
    if (effect === null)
      throw new GateRecoveryRequired(intent, 'an attempt was begun before, and its effect was not found');
    return executedOf<Result>(await finish(intent, effect), true);
  }
}

/** ES256 (RFC 7518 3.4) over the RFC 8785 form of the receipt without its signature. */
function receiptOf(
  signed: SignedAuthorization,
  resultSha256: string,
  effectId: string,
  key: KeyObject,
  fingerprint: string,
): Record<string, unknown> {
  const { authorization } = signed;
  const unsigned = {
    contract: 'gate.execution/v1',
    stage: 'execution.completed',
    ...Object.fromEntries(REPEATED.map((name) => [name, authorization[name]])),
    authorization: { authorization, identity_signature: signed.identity_signature },
    result_sha256: resultSha256,
    effect_id: effectId,
  };
  const value = sign('sha256', Buffer.from(canonicalJson(unsigned)), { key, dsaEncoding: 'ieee-p1363' }).toString(
    'base64url',
  );
  return { ...unsigned, workload_signature: { algorithm: 'ES256', credential_fingerprint: fingerprint, value } };
}

function signingKeyOf({ cert, key: pem }: GovernedOptions['certificate']): { key: KeyObject; fingerprint: string } {
  let certificate: X509Certificate;
  let key: KeyObject;
  try {
    certificate = new X509Certificate(cert);
    key = createPrivateKey(pem);
  } catch {
    throw new GateConfigError('certificate: cert and key must be PEM');
  }
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
    throw new GateConfigError('receipts are signed by ES256: the key must be on the curve P-256');
  if (!certificate.checkPrivateKey(key)) throw new GateConfigError('certificate: the key is of another certificate');
  return { key, fingerprint: `sha256:${createHash('sha256').update(certificate.raw).digest('hex')}` };
}
