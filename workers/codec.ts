import type { Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';
import type { KeyRing } from '../domain/crypto/key-ring.js';

const ENCODING = Buffer.from('binary/encrypted');
const CONTEXT = 'gate.temporal-payload/v1';
const { Payload: PayloadProto } = proto.temporal.api.common.v1;

/** The result of decoding a payload that was not sealed with a key of this ring. Validators refuse it; nothing throws. */
export const REFUSED_PAYLOAD = { gate_payload: 'refused' } as const;
export const isRefusedPayload = (value: unknown): boolean =>
  value !== null &&
  typeof value === 'object' &&
  'gate_payload' in value &&
  value.gate_payload === REFUSED_PAYLOAD.gate_payload;
const refused: Payload = {
  metadata: { encoding: Buffer.from('json/plain') },
  data: Buffer.from(JSON.stringify(REFUSED_PAYLOAD)),
};

/** Called with the id of a workflow that received a payload which no key of the ring had sealed: somebody else is talking to the engine. */
export type OnForeignPayload = (workflowId: string) => void;

/**
 * Encrypts every payload of every history (docs/architecture/identity-and-routes.md#state): AES-256-GCM, key id in the metadata, first key
 * active. Decoding never throws, because that would block the workflow task: a payload that this codec did not seal becomes
 * `REFUSED_PAYLOAD`.
 */
export const createPayloadCodec = (keys: KeyRing, onForeign?: OnForeignPayload): PayloadCodec => ({
  encode: (payloads) =>
    Promise.resolve(
      payloads.map((payload) => ({
        metadata: { encoding: ENCODING, 'gate-key-id': Buffer.from(keys.activeKeyId) },
        data: keys.seal(PayloadProto.encode(payload).finish(), CONTEXT),
      })),
    ),
  decode(payloads, context) {
    const decoded = payloads.map((payload) => decodeOne(keys, payload));
    if (onForeign && context?.type === 'workflow' && decoded.includes(refused)) onForeign(context.workflowId);
    return Promise.resolve(decoded);
  },
});

const decodeOne = (keys: KeyRing, payload: Payload): Payload => openPayload(keys, payload) ?? refused;

/** The decrypted payload; `null` when no key of this ring has sealed it. */
export function openPayload(keys: KeyRing, payload: Payload): Payload | null {
  try {
    const encoding = payload.metadata?.encoding;
    if (!encoding || !Buffer.from(encoding).equals(ENCODING) || !payload.data) return null;
    return PayloadProto.decode(keys.open(payload.data, CONTEXT));
  } catch {
    return null;
  }
}
