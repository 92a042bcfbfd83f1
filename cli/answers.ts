import { oneLine } from '../domain/printable.js';
import { CliError } from './errors.js';

/** The header that says which tenant is meant. */
export const scopeOf = (tenant: string | undefined): Record<string, string> =>
  tenant === undefined ? {} : { 'x-gate-tenant-scope': tenant };

/** 3: the caller may not; 4: there is no such thing or its state changed; 2: a bad request; 5: Gate could not answer. */
export const exitOf = (status: number): number =>
  ({ 401: 3, 403: 3, 404: 4, 409: 4 })[status] ?? (status < 500 ? 2 : 5);

/** The cause of a failed connection, because the error itself says only `fetch failed`. */
export const why = async (error: unknown): Promise<string> =>
  (await import('../activities/clients/unsent.js')).causeText(error);

/** What a service answered that did not do what it was asked; `more` is said after its reason. */
export function refusal(status: number, text: string, more = ''): CliError {
  const code = saidIn(text)('error');
  return new CliError(`${refusalText(status, text)}${more}`, exitOf(status), code);
}

type Said = 'error' | 'reason' | 'reasoning' | 'detail' | 'decided_by' | 'status';

/** Reads fields of an answer; of one that is not Gate's own there are none. */
function saidIn(text: string): (field: Said) => string | undefined {
  let refused: unknown;
  try {
    refused = JSON.parse(text);
  } catch {
    // Its text is shown.
  }
  return (field) => {
    const value = (refused as Partial<Record<Said, unknown>> | null | undefined)?.[field];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
}

export function refusalText(status: number, text: string): string {
  const said = saidIn(text);
  const who = said('decided_by') ? ` (${said('status')} by ${said('decided_by')})` : '';
  const detail = said('detail') ? ` (${oneLine(said('detail') ?? '')})` : '';
  return `${said('error') ?? status}: ${oneLine(said('reason') ?? said('reasoning') ?? text.slice(0, 200))}${detail}${who}`;
}
