import { escapedInPath } from '../../domain/name-in-path.js';

/** An address that says the same to whoever opens it. */
export function addressOf(path: string, said: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(said).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}

const at = (place: string, id: string, part: string | undefined): string =>
  `/${place}/${escapedInPath(id)}${part === undefined ? '' : `/${part}`}`;

/** Where the ledger tells a call, or what is had of it. */
export const callAddress = (id: string, part?: string): string => at('audit/correlation', id, part);

/** Where a call is reviewed, or what is done with it. */
export const reviewAddress = (id: string, part?: string): string => at('hil', id, part);

/** Where a case is kept, or what is done with it. */
export const caseAddress = (id: string, part?: string): string => at('cases', id, part);
