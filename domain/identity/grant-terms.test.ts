import { describe, expect, it } from '@jest/globals';
import { GateError } from '../errors.js';
import { isInSchedule, recurrenceSummary, termsOf, timeFault } from './grant-terms.js';

/** A Thursday. */
const NOW_MS = Date.parse('2026-01-01T10:00:00.500Z');
const NOW = Date.parse('2026-01-01T10:00:00Z') / 1_000;
const DAY = 86_400;
const window = (over: object = {}) => ({ weekdays: [3], start_minute: 540, end_minute: 600, ...over });
const schedule = (over: object = {}, more: object = {}) => ({
  tz_offset_minutes: 0,
  windows: [window(over)],
  ...more,
});
const code = (work: () => unknown): string | null => {
  try {
    work();
  } catch (error) {
    if (error instanceof GateError) return error.code;
    throw error;
  }
  return null;
};

describe('the terms of a grant', () => {
  it('end after a day at the latest, and sooner where that is said', () => {
    expect(termsOf({}, NOW_MS)).toMatchObject({ iat: NOW, exp: NOW + DAY, notBefore: null, maxUses: null });
    expect(termsOf({ not_after: NOW + 60 }, NOW_MS).exp).toBe(NOW + 60);
    expect(termsOf({ not_after: NOW + 2 * DAY }, NOW_MS).exp).toBe(NOW + DAY);
    expect(termsOf({ not_before: NOW + DAY - 1 }, NOW_MS)).toMatchObject({ notBefore: NOW + DAY - 1 });
  });

  it.each<[string, Parameters<typeof termsOf>[0]]>([
    ['no use', { max_uses: 0 }],
    ['less than none', { max_uses: -1 }],
    ['more uses than are counted', { max_uses: 1_000_000_001 }],
    ['an end that is over', { not_after: NOW }],
    ['a beginning at the end', { not_before: NOW + 60, not_after: NOW + 60 }],
    ['a beginning after a day', { not_before: NOW + DAY }],
    ['an offset that no place has', { recurrence: schedule({}, { tz_offset_minutes: 841 }) }],
    ['the other one', { recurrence: schedule({}, { tz_offset_minutes: -721 }) }],
    ['no window', { recurrence: { tz_offset_minutes: 0, windows: [] } }],
    ['seventeen windows', { recurrence: { tz_offset_minutes: 0, windows: Array(17).fill(window()) } }],
    ['no weekday', { recurrence: schedule({ weekdays: [] }) }],
    ['an eighth weekday', { recurrence: schedule({ weekdays: [7] }) }],
    ['a weekday twice', { recurrence: schedule({ weekdays: [1, 1] }) }],
    ['a window of nothing', { recurrence: schedule({ start_minute: 600 }) }],
    ['a window over midnight', { recurrence: schedule({ start_minute: 1_400, end_minute: 60 }) }],
    ['a day of 25 hours', { recurrence: schedule({ end_minute: 1_441 }) }],
  ])('are refused with %s', (_what, asked) => {
    expect(code(() => termsOf(asked, NOW_MS))).toBe('invalid_grant_terms');
  });
});

describe('a schedule', () => {
  const at = (text: string, over: object = {}, more: object = {}) =>
    isInSchedule(schedule(over, more), Date.parse(text));

  it('holds from its first minute until before its last, on its days', () => {
    expect(at('2026-01-01T09:00:00Z')).toBe(true);
    expect(at('2026-01-01T09:59:59.999Z')).toBe(true);
    expect(at('2026-01-01T10:00:00Z')).toBe(false);
    expect(at('2026-01-01T08:59:59.999Z')).toBe(false);
    expect(at('2026-01-02T09:30:00Z')).toBe(false);
    expect(at('2026-01-08T09:30:00Z')).toBe(true);
    // A Monday, and the Sunday before.
    expect(at('2026-01-05T09:30:00Z', { weekdays: [0] })).toBe(true);
    expect(at('2026-01-04T09:30:00Z', { weekdays: [6] })).toBe(true);
    expect(at('2026-01-01T23:59:59.999Z', { start_minute: 0, end_minute: 1_440 })).toBe(true);
  });

  it('is of the place that it says: its day begins there', () => {
    const late = { weekdays: [4], start_minute: 0, end_minute: 60 };
    expect(at('2026-01-01T23:30:00Z', late, { tz_offset_minutes: 60 })).toBe(true);
    expect(at('2026-01-01T23:30:00Z', late)).toBe(false);
    expect(
      at(
        '2026-01-02T00:30:00Z',
        { ...late, weekdays: [3], start_minute: 1_410, end_minute: 1_440 },
        { tz_offset_minutes: -60 },
      ),
    ).toBe(true);
  });

  it('is told in words', () => {
    const windows = [window({ weekdays: [1, 0] }), window({ weekdays: [5], start_minute: 0, end_minute: 1_440 })];
    expect(recurrenceSummary({ tz_offset_minutes: 120, windows })).toBe(
      'Mon Tue 09:00–10:00; Sat 00:00–24:00 (UTC+02:00)',
    );
    expect(recurrenceSummary({ tz_offset_minutes: -330, windows: [window()] })).toBe('Thu 09:00–10:00 (UTC-05:30)');
  });
});

describe('a grant at a time', () => {
  const fault = (grant: Parameters<typeof timeFault>[0], atMs = NOW_MS) => timeFault(grant, atMs)?.code ?? null;

  it('counts from its beginning until its end, in its schedule', () => {
    expect(fault({ exp: NOW + 1 })).toBeNull();
    expect(fault({ exp: NOW + 1 }, (NOW + 1) * 1_000)).toBe('grant_expired');
    expect(fault({ exp: NOW + 60, nbf: NOW + 1 })).toBe('grant_not_yet_valid');
    expect(fault({ exp: NOW + 60, nbf: NOW + 1 }, (NOW + 1) * 1_000)).toBeNull();
    expect(fault({ exp: NOW + 60, recurrence: schedule() })).toBe('grant_outside_schedule');
    expect(fault({ exp: NOW + 60, recurrence: schedule({ end_minute: 601 }) })).toBeNull();
    expect(fault({ exp: NOW, nbf: NOW + 60, recurrence: schedule() })).toBe('grant_expired');
  });
});
