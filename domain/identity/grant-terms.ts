import type { CallGrant, Delegation, Recurrence } from '../../contracts/call-grant.js';
import { type GrantClaims, MOST_GRANT_SECONDS } from '../../contracts/grants.js';
import { GateError } from '../errors.js';

/** When a grant counts, and how often. Times are epoch seconds, as its claims have them. */
export interface GrantTerms {
  readonly iat: number;
  readonly exp: number;
  readonly notBefore: number | null;
  readonly notAfter: number | null;
  readonly maxUses: number | null;
  readonly recurrence: Recurrence | null;
}

const DAY_MINUTES = 1_440;
const MINUTE_MS = 60_000;
const DAY_MS = DAY_MINUTES * MINUTE_MS;
/** 1970 began on a Thursday. */
const FIRST_WEEKDAY = 3;
const MOST_WINDOWS = 16;
const MOST_USES = 1_000_000_000;

const within = (value: number, least: number, most: number): boolean => value >= least && value <= most;
const refuse = (what: string): never => {
  throw new GateError('invalid_grant_terms', what);
};

/** What a grant that is issued now says of its time; it ends at `latestMs` at the latest. Throws `invalid_grant_terms`. */
export function termsOf(
  asked: {
    readonly max_uses?: number | undefined;
    readonly not_before?: number | undefined;
    readonly not_after?: number | undefined;
    readonly recurrence?: Recurrence | undefined;
  },
  nowMs: number,
  latestMs = Number.POSITIVE_INFINITY,
): GrantTerms {
  const { max_uses: maxUses = null, not_before: notBefore = null, not_after: notAfter = null } = asked;
  const iat = Math.floor(nowMs / 1_000);
  if (maxUses !== null && !within(maxUses, 1, MOST_USES)) refuse(`max_uses: is not between 1 and ${MOST_USES}`);
  if (notAfter !== null && notAfter <= iat) refuse('not_after: is over');
  const latest = Math.min(iat + MOST_GRANT_SECONDS, Math.floor(latestMs / 1_000));
  const exp = Math.min(latest, notAfter ?? latest);
  if (notBefore !== null && notBefore >= exp)
    refuse(`not_before: the grant would end before that, ${latest - iat} s from now at the latest`);
  if (asked.recurrence) assertRecurrence(asked.recurrence);
  return { iat, exp, notBefore, notAfter, maxUses, recurrence: asked.recurrence ?? null };
}

function assertRecurrence({ tz_offset_minutes: offset, windows }: Recurrence): void {
  if (!within(offset, -720, 840)) refuse('recurrence.tz_offset_minutes: is not between -720 and 840');
  if (!within(windows.length, 1, MOST_WINDOWS)) refuse(`recurrence.windows: are not 1 to ${MOST_WINDOWS}`);
  for (const [at, { weekdays, start_minute: start, end_minute: end }] of windows.entries()) {
    const place = `recurrence.windows[${at}]`;
    if (!within(weekdays.length, 1, 7) || new Set(weekdays).size !== weekdays.length)
      refuse(`${place}.weekdays: are not 1 to 7 days, each once`);
    if (!weekdays.every((day) => within(day, 0, 6))) refuse(`${place}.weekdays: 0 is Monday, and 6 is Sunday`);
    if (!within(start, 0, DAY_MINUTES) || !within(end, 0, DAY_MINUTES) || start >= end)
      refuse(`${place}: its minutes are of one day, and end_minute is after start_minute`);
  }
}

/** Whether the schedule lets something begin at that time. */
export function isInSchedule({ tz_offset_minutes: offset, windows }: Recurrence, nowMs: number): boolean {
  const localMs = nowMs + offset * MINUTE_MS;
  const day = Math.floor(localMs / DAY_MS);
  const weekday = (((day + FIRST_WEEKDAY) % 7) + 7) % 7;
  const minute = Math.floor((localMs - day * DAY_MS) / MINUTE_MS);
  return windows.some(
    ({ weekdays, start_minute: start, end_minute: end }) =>
      weekdays.includes(weekday) && minute >= start && minute < end,
  );
}

/** What a grant, whose signature holds, is refused for at that time; `null` where it counts. No clock is given a tolerance. */
export function timeFault(
  { exp, nbf, recurrence }: Pick<CallGrant, 'exp' | 'nbf' | 'recurrence'>,
  nowMs: number,
): GateError | null {
  if (nowMs >= exp * 1_000) return new GateError('grant_expired');
  if (nbf !== undefined && nowMs < nbf * 1_000) return new GateError('grant_not_yet_valid');
  if (recurrence && !isInSchedule(recurrence, nowMs)) return new GateError('grant_outside_schedule');
  return null;
}

/** How the grant of a call is refused, as answers, rows and outcomes say it. */
export type GrantRefusal =
  | 'grant_invalid'
  | 'grant_expired'
  | 'grant_not_yet_valid'
  | 'grant_outside_schedule'
  | 'grant_revoked'
  | 'grant_usage_exhausted'
  | 'grant_required'
  | 'scope_outside_envelope';
const GRANT_REFUSALS: Readonly<Record<GrantRefusal, true>> = {
  grant_invalid: true,
  grant_expired: true,
  grant_not_yet_valid: true,
  grant_outside_schedule: true,
  grant_revoked: true,
  grant_usage_exhausted: true,
  grant_required: true,
  scope_outside_envelope: true,
};
export const isGrantRefusal = (code: string | null | undefined): code is GrantRefusal =>
  code != null && Object.hasOwn(GRANT_REFUSALS, code);

/** How the token of an agent of another Gate is refused, as answers and rows say it. */
export type ActorRefusal = 'a2a_redeem_failed';
export const isActorRefusal = (code: string): code is ActorRefusal => code === 'a2a_redeem_failed';

/** What a call carries of its grant. */
export const carriedOf = ({
  jti,
  act,
  scope,
  yellow_scope,
  exp,
  nbf,
  max_uses,
  recurrence,
}: GrantClaims): CallGrant => ({
  jti,
  act_sub: act.sub,
  idp: act.idp,
  scope,
  yellow_scope,
  exp,
  ...(nbf !== undefined && { nbf }),
  ...(max_uses !== undefined && { max_uses }),
  ...(recurrence && { recurrence }),
});

const instant = (seconds: number): string => new Date(seconds * 1_000).toISOString();

/** What people are shown of it. */
export const delegationOf = (grant: CallGrant): Delegation => ({
  jti: grant.jti,
  human_sub: grant.act_sub,
  idp: grant.idp,
  scope: [...grant.scope],
  yellow_scope: [...grant.yellow_scope],
  max_uses: grant.max_uses ?? null,
  not_before: grant.nbf === undefined ? null : instant(grant.nbf),
  not_after: instant(grant.exp),
  recurrence_summary: grant.recurrence ? recurrenceSummary(grant.recurrence) : null,
});

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const;
const two = (value: number): string => String(value).padStart(2, '0');
const clock = (minute: number): string => `${two(Math.floor(minute / 60))}:${two(minute % 60)}`;

/** `Mon Tue 05:00–06:00; Sat 00:00–24:00 (UTC+02:00)` */
export function recurrenceSummary({ tz_offset_minutes: offset, windows }: Recurrence): string {
  const days = windows.map(
    ({ weekdays, start_minute: start, end_minute: end }) =>
      `${weekdays
        .toSorted((a, b) => a - b)
        .map((day) => WEEKDAYS[day] ?? day)
        .join(' ')} ${clock(start)}–${clock(end)}`,
  );
  return `${days.join('; ')} (UTC${offset < 0 ? '-' : '+'}${clock(Math.abs(offset))})`;
}
