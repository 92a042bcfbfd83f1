import { escapedInPath } from '../../../domain/name-in-path.js';
import { addressOf } from '../../ui/addresses.js';
import { PLACED_LINES } from '../../ui/source.js';

/** Where a policy is shown, at a line of it: the last one that has a place where it stands behind that. */
export const policyAddress = (name: string, line?: number): string =>
  `/policies/${escapedInPath(name)}${line === undefined ? '' : `#L${Math.min(line, PLACED_LINES)}`}`;

/** What is done with a policy, or shown of it. */
export const policyPart = (
  name: string,
  part: string,
  query: Readonly<Record<string, string | number | undefined>> = {},
): string => addressOf(`${policyAddress(name)}/${part}`, query);

export const templateAddress = (name: string, part?: string): string =>
  `/policies/templates/${escapedInPath(name)}${part === undefined ? '' : `/${part}`}`;
