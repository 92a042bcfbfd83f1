import { addressOf } from '../audit/asked.js';

/** Where a policy is shown, at a line of it. */
export const policyAddress = (name: string, line?: number): string =>
  `/policies/${encodeURIComponent(name)}${line === undefined ? '' : `#L${line}`}`;

/** What is done with a policy, or shown of it. */
export const policyPart = (
  name: string,
  part: string,
  query: Readonly<Record<string, string | number | undefined>> = {},
): string => addressOf(`${policyAddress(name)}/${part}`, query);

export const templateAddress = (name: string, part?: string): string =>
  `/policies/templates/${encodeURIComponent(name)}${part === undefined ? '' : `/${part}`}`;
