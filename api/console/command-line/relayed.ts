import type { Role } from '../../../console/roles.js';
import type { ReviewAnswer } from '../../../domain/review/masked-review.js';
import type { AskLimits } from '../ask-limits.js';

/** What a route answers. The rows of the ledger are masked already. */
type Answered =
  | { readonly service: 'hil'; readonly answers: Exclude<ReviewAnswer, 'event'> }
  | { readonly service: 'ledger'; readonly answers: 'entries' };

/** A route of another service that the command line asks through the console. */
export type RelayedRoute = Answered & {
  readonly method: 'GET' | 'POST';
  /** As the service has it; `:id` stands for a UUID. Here it stands below `/command-line/<service>`. */
  readonly path: `/${string}`;
  /** The least role. */
  readonly role: Role;
  /** What may stand in the query; anything else is refused. */
  readonly query: readonly string[];
  readonly limit: keyof Pick<AskLimits, 'reportMs' | 'decideMs'>;
};

/**
 * What a token of the command line is good for: what `gate pending`, `gate decide`, `gate approvals` and `gate audit` ask, and nothing else. The
 * stream of `gate pending --watch` stands beside (`relay.ts`).
 */
export const RELAYED: readonly RelayedRoute[] = [
  hil('/pending', 'rows', ['id', 'status', 'sort', 'limit', 'before', 'agent_id']),
  hil('/pending/summaries', 'summaries', ['status', 'sort', 'limit', 'cursor', 'q', 'risk_tier']),
  hil('/pending/:id', 'row', []),
  hil('/pending/by-correlation/:id', 'row', []),
  hil('/approvals/stats', 'counts', ['window']),
  {
    service: 'hil',
    answers: 'row',
    method: 'POST',
    path: '/decide/:id',
    role: 'approver',
    query: [],
    limit: 'decideMs',
  },
  ledger('/audit/correlation/:id', []),
  ledger('/audit/agent/rows', ['agent_id', 'limit', 'before']),
];

function hil(
  path: RelayedRoute['path'],
  answers: Exclude<ReviewAnswer, 'event'>,
  query: readonly string[],
): RelayedRoute {
  return { service: 'hil', answers, method: 'GET', path, role: 'viewer', query, limit: 'reportMs' };
}

function ledger(path: RelayedRoute['path'], query: readonly string[]): RelayedRoute {
  return { service: 'ledger', answers: 'entries', method: 'GET', path, role: 'viewer', query, limit: 'reportMs' };
}
