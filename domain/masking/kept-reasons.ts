import type { Json, JsonObject } from '../../contracts/json.js';
import { canonicalJson } from '../crypto/digest.js';
import { mask } from './mask.js';

/** Reasons that rules say of call after call, and long ones, which stand in several rows of one call. */
const KEPT_TEXTS = 512;
const KEPT_UNITS = 256;
const KEPT_LONG = 8;
const kept = new Map<string, string>();
const keptLong = new Map<string, string>();

/**
 * The reasons of a verdict as the ledger keeps them. A rule may quote an argument, and of arguments the ledger has the masked ones alone
 * (docs/architecture/ledger-rows.md#masking).
 */
export const keptReasons = (reasons: readonly string[]): string[] => reasons.map(keptReason);

function keptReason(reason: string): string {
  const [texts, most] = reason.length > KEPT_UNITS ? [keptLong, KEPT_LONG] : [kept, KEPT_TEXTS];
  const known = texts.get(reason);
  if (known !== undefined) return known;
  const masked = mask(reason) as string;
  if (texts.size === most) texts.clear();
  texts.set(reason, masked);
  return masked;
}

interface Said {
  readonly reasons: readonly string[];
  readonly review_reasons: readonly string[];
}
/** Both kinds of a verdict or a decision. */
export const reasonsKept = ({ reasons, review_reasons }: Said): { reasons: string[]; review_reasons: string[] } => ({
  reasons: keptReasons(reasons),
  review_reasons: keptReasons(review_reasons),
});

/** The event of an evaluation, which has the reasons too; that of a batch has one for each call. */
export function eventKept(event: JsonObject): JsonObject {
  const { events } = event;
  const told = Object.fromEntries(
    ['reasons', 'review_reasons'].flatMap((name) => (isTexts(event[name]) ? [[name, keptReasons(event[name])]] : [])),
  );
  return {
    ...event,
    ...told,
    ...(Array.isArray(events) && { events: events.map((one) => (isObject(one) ? eventKept(one) : one)) }),
  };
}
const isTexts = (value: Json | undefined): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');
const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What is derived now, to be held against what a row has of it: as the ledger keeps it, unless the row has it as it is. */
export const heldAgainst = <Now>(then: unknown, now: Now, kept: (now: Now) => Now): Now =>
  canonicalJson((then ?? null) as Json) === canonicalJson((now ?? null) as Json) ? now : kept(now);
