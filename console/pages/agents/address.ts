import { GateError } from '../../../domain/errors.js';
import { nameInPath } from '../../../domain/name-in-path.js';
import { addressOf } from '../../ui/addresses.js';
import type { Visit } from '../../visit.js';

const LONGEST_NAME = 256;

/** Where one agent is told, by tool and tier over time. */
export function agentAddress(agent: string, said: { readonly window?: string; readonly asked?: string } = {}): string {
  const { part, query } = nameInPath(agent);
  return addressOf(`/agents/${part}`, { agent: query, ...said });
}

/** Where a form about it leads. */
export function agentFormAddress(agent: string, form: string): string {
  const { part, query } = nameInPath(agent);
  return addressOf(`/agents/${part}/${form}`, { agent: query });
}

/** Where what it did is told in words. */
export function narrativeAddress(agent: string, said: { readonly window?: string } = {}): string {
  const { part, query } = nameInPath(agent);
  return addressOf(`/audit/agents/${part}/narrative`, { agent: query, ...said });
}

/** The agent that one of these addresses names. Throws `not_found` for one in the path that no path can hold. */
export function agentIn({ params, query }: Pick<Visit, 'params' | 'query'>): string {
  const inPath = params['agent'] ?? '';
  if (nameInPath(inPath).query !== undefined) throw new GateError('not_found', 'There is nothing of that name.');
  return (query['agent'] ?? inPath).slice(0, LONGEST_NAME);
}
