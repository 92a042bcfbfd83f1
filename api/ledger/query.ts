import { z } from 'zod';
import { tenantName } from '../../contracts/erasure.js';
import { GateError } from '../../domain/errors.js';
import type { RowFilter } from '../../domain/ledger/row-filter.js';

export const agentLabel = z.string().min(1).max(256);

/**
 * The scope of a read (docs/architecture/ledger-reads.md#routes). The session token is the prefix itself: the console has checked it, and
 * the ledger has no session keys.
 */
export const scopeQuery = {
  tenant: tenantName.optional(),
  demo_session_token: z
    .string()
    .regex(/^[0-9a-f]{8}$/)
    .optional(),
};

export const scopeOf = (query: {
  readonly tenant?: string | undefined;
  readonly demo_session_token?: string | undefined;
}): Pick<RowFilter, 'tenant' | 'demoPrefix'> => ({ tenant: query.tenant, demoPrefix: query.demo_session_token });

/** A time in a query. `windowOf` checks it, so that a bad one is `invalid_window`. */
export const time = z.string().max(64).optional();

/** Parses RFC 3339 with a time zone, or throws `invalid_window`. Returns the chain's spelling, which compares as text. */
function timeOf(text: string, name: string): string {
  const parsed = z.iso.datetime({ offset: true }).safeParse(text);
  const ms = parsed.success ? Date.parse(text) : Number.NaN;
  // After the year 9999 times have another form, and text no longer compares as time.
  if (!(ms >= 0 && ms < Date.UTC(10_000, 0, 1)))
    throw new GateError('invalid_window', `${name} is no RFC 3339 time: write 2026-01-02T03:04:05Z`);
  return new Date(ms).toISOString();
}

/** The half-open window [from, to). Throws `invalid_window` on text that is not a time, and on an end before its start. */
export function windowOf(query: { readonly from?: string | undefined; readonly to?: string | undefined }): {
  readonly from?: string;
  readonly to?: string;
} {
  const from = query.from === undefined ? undefined : timeOf(query.from, 'from');
  const to = query.to === undefined ? undefined : timeOf(query.to, 'to');
  if (from !== undefined && to !== undefined && to < from)
    throw new GateError('invalid_window', 'the window ends before it begins');
  return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
}

/** A window that needs both ends, the first before the second. Throws `invalid_window` otherwise. */
export function requiredWindow(query: { readonly from?: string | undefined; readonly to?: string | undefined }): {
  readonly from: string;
  readonly to: string;
} {
  const { from, to } = windowOf(query);
  if (from === undefined || to === undefined) throw new GateError('invalid_window', 'name both ends: from and to');
  if (from === to) throw new GateError('invalid_window', 'the window is empty: it holds from and ends before to');
  return { from, to };
}
