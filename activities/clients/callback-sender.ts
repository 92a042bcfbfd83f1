import { createHmac } from 'node:crypto';
import { type CallbackAllowlist, checkCallbackUrl } from '../../domain/outbound/callback-url.js';
import { createGuardedFetch, OutboundError, type GuardedFetch } from '../../adapters/outbound/guarded-fetch.js';
import type { DeliverCallback } from '../../domain/outbound/ports.js';
import { errorText } from '../../domain/errors.js';

export interface CallbackSenderOptions {
  /** Checked again at every attempt, so that removing an entry from the allowlist also stops this callback. */
  readonly allowlist: CallbackAllowlist;
  readonly allowPrivate: readonly string[];
  /** `GATE_CALLBACK_SECRET`. Given here and not with each callback, because arguments of an activity are kept in its history. */
  readonly secret?: string;
  readonly fetch?: GuardedFetch;
  readonly now?: () => Date;
}

/** `v1=` and the hex HMAC-SHA256 over timestamp, a dot, and the body's bytes (docs/architecture/reviews.md#callbacks). */
export const callbackSignature = (secret: string, timestamp: string, body: string): string =>
  `v1=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`;

/**
 * Sends callbacks: one POST per attempt, the same bytes each time, and `X-Gate-Correlation-Id`, by which the receiver recognises repeats.
 * With a secret it adds `X-Gate-Timestamp` (seconds) and `X-Gate-Signature`, made anew for each attempt. Safe to repeat. Throws
 * OutboundError: `final` for a forbidden address, a redirect and a 4xx; retryable for network errors, 408, 429 and 5xx.
 */
export function createCallbackSender(options: CallbackSenderOptions): DeliverCallback {
  const { allowlist, allowPrivate, secret, now = () => new Date() } = options;
  const send = options.fetch ?? createGuardedFetch({ allowPrivate });
  return async ({ url, body, correlationId }) => {
    const timestamp = String(Math.floor(now().getTime() / 1000));
    await send(checked(url, allowlist, allowPrivate), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-gate-correlation-id': correlationId,
        ...(secret !== undefined && {
          'x-gate-timestamp': timestamp,
          'x-gate-signature': callbackSignature(secret, timestamp, body),
        }),
      },
      body,
    });
  };
}

function checked(url: string, allowlist: CallbackAllowlist, allowPrivate: readonly string[]): URL {
  try {
    return checkCallbackUrl(url, allowlist, { allowPrivate });
  } catch (error) {
    throw new OutboundError('forbidden_address', errorText(error), { final: true, cause: error });
  }
}
