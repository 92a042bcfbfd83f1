import { LRUCache } from 'lru-cache';
import type { Json, JsonObject } from '../../contracts/json.js';
import { canonicalJson } from '../crypto/digest.js';
import { roomFor } from '../room-for.js';
import { mask } from './mask.js';
import { type NamedSecrets, NO_SECRETS, withoutNamed } from './named-secrets.js';

/** Reasons that rules say of call after call, and long ones, which stand in several rows of one call. */
const kept = new LRUCache<string, string>(roomFor(512));
const keptLong = new LRUCache<string, string>(roomFor(8));
const LONG_UNITS = 256;

/**
 * The reasons of a verdict as the ledger keeps them. A rule may quote an argument, and of arguments the ledger has the masked ones alone
 * (docs/architecture/ledger-rows.md#masking). `secrets` are those of the request that only their names tell.
 */
export const keptReasons = (reasons: readonly string[], secrets = NO_SECRETS): string[] =>
  reasons.map((reason) => keptReason(withoutNamed(reason, secrets)));

function keptReason(reason: string): string {
  const texts = reason.length > LONG_UNITS ? keptLong : kept;
  const known = texts.get(reason);
  if (known !== undefined) return known;
  const masked = mask(reason) as string;
  texts.set(reason, masked);
  return masked;
}

interface Said {
  readonly reasons: readonly string[];
  readonly review_reasons: readonly string[];
}
/** Both kinds of a verdict or a decision. */
export const reasonsKept = (
  { reasons, review_reasons }: Said,
  secrets = NO_SECRETS,
): { reasons: string[]; review_reasons: string[] } => ({
  reasons: keptReasons(reasons, secrets),
  review_reasons: keptReasons(review_reasons, secrets),
});

/** The event of an evaluation, which has the reasons too; that of a batch has one for each call. */
export function eventKept(event: JsonObject, secrets = NO_SECRETS): JsonObject {
  const { events } = event;
  const told = Object.fromEntries(
    ['reasons', 'review_reasons'].flatMap((name) =>
      isTexts(event[name]) ? [[name, keptReasons(event[name], secrets)]] : [],
    ),
  );
  return {
    ...event,
    ...told,
    ...(Array.isArray(events) && { events: events.map((one) => (isObject(one) ? eventKept(one, secrets) : one)) }),
  };
}
const isTexts = (value: Json | undefined): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');
const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * `now` in the form in which it can be compared with what a row holds (`then`): as it is, if the row holds it so; else masked without `secrets`, as an
 * earlier Gate did, which took nothing for a secret by its name alone, if the row holds that; else masked as the ledger does today.
 */
export function heldAgainst<Now>(
  then: unknown,
  now: Now,
  kept: (now: Now, secrets?: NamedSecrets) => Now,
  secrets = NO_SECRETS,
): Now {
  const recorded = canonicalJson((then ?? null) as Json);
  const isRecorded = (form: Now) => canonicalJson((form ?? null) as Json) === recorded;
  if (isRecorded(now)) return now;
  const before = kept(now);
  return isRecorded(before) ? before : kept(now, secrets);
}
