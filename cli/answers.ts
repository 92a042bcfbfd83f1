import { oneLine } from '../domain/printable.js';

/** The header that says which tenant is meant. */
export const scopeOf = (tenant: string | undefined): Record<string, string> =>
  tenant === undefined ? {} : { 'x-gate-tenant-scope': tenant };

/** 3: the caller may not; 4: there is no such thing or its state changed; 2: a bad request; 5: Gate could not answer. */
export const exitOf = (status: number): number =>
  ({ 401: 3, 403: 3, 404: 4, 409: 4 })[status] ?? (status < 500 ? 2 : 5);

/** The cause of a failed connection, because the error itself says only `fetch failed`. */
export const why = async (error: unknown): Promise<string> =>
  (await import('../activities/clients/unsent.js')).causeText(error);

export function refusalText(status: number, text: string): string {
  let refused: Partial<Record<'error' | 'reason' | 'reasoning' | 'detail' | 'decided_by' | 'status', unknown>> = {};
  try {
    refused = JSON.parse(text) as typeof refused;
  } catch {
    // Not Gate's own answer; show its text.
  }
  const said = (field: keyof typeof refused): string | undefined => {
    const value = refused[field];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const who = said('decided_by') ? ` (${said('status')} by ${said('decided_by')})` : '';
  const detail = said('detail') ? ` (${oneLine(said('detail') ?? '')})` : '';
  return `${said('error') ?? status}: ${oneLine(said('reason') ?? said('reasoning') ?? text.slice(0, 200))}${detail}${who}`;
}
