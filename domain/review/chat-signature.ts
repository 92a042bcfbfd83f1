import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** How far the time of a click may be from now. A signature is remembered for as long, so that it is accepted once. */
export const CLICK_LIFE_MS = 300_000;

/** A click whose signature holds. `digest` names it among those that were accepted. */
export interface SignedClick {
  readonly digest: string;
}

const digestOf = (signature: Uint8Array): string => createHash('sha256').update(signature).digest('hex');
const isRecent = (atMs: number, nowMs: number): boolean => Math.abs(nowMs - atMs) <= CLICK_LIFE_MS;
/** The key is one of Gate and the chat, so both lengths are the same for everybody. */
const same = (one: Buffer, other: Buffer): boolean => one.length === other.length && timingSafeEqual(one, other);

/**
 * A request of Slack, by its public scheme (https://api.slack.com/authentication/verifying-requests-from-slack): `v0=` and the hex
 * HMAC-SHA-256 over `v0:<timestamp>:<raw body>`. `null` when it does not hold or is not of the last five minutes.
 */
export function slackClick(
  secret: string,
  {
    timestamp,
    signature,
    body,
  }: { readonly timestamp: unknown; readonly signature: unknown; readonly body: Uint8Array },
  nowMs: number,
): SignedClick | null {
  if (typeof timestamp !== 'string' || !/^\d{1,12}$/.test(timestamp)) return null;
  if (typeof signature !== 'string' || !/^v0=[0-9a-f]{64}$/.test(signature)) return null;
  const made = createHmac('sha256', secret).update(`v0:${timestamp}:`).update(body).digest();
  const offered = Buffer.from(signature.slice(3), 'hex');
  return same(made, offered) && isRecent(Number(timestamp) * 1_000, nowMs) ? { digest: digestOf(made) } : null;
}

/**
 * A request of Teams, by its public scheme for outgoing webhooks: `HMAC` and the base64 HMAC-SHA-256 over the raw body, whose time
 * `isRecentClick` checks. `null` when it does not hold.
 */
export function teamsClick(secret: Uint8Array, authorization: unknown, body: Uint8Array): SignedClick | null {
  const offered =
    typeof authorization === 'string' ? /^HMAC ([A-Za-z0-9+/]{43}=)$/.exec(authorization)?.[1] : undefined;
  if (offered === undefined) return null;
  const made = createHmac('sha256', secret).update(body).digest();
  return same(made, Buffer.from(offered, 'base64')) ? { digest: digestOf(made) } : null;
}

export const isRecentClick = (timestamp: string, nowMs: number): boolean => isRecent(Date.parse(timestamp), nowMs);
