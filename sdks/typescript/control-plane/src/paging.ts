import { GateTransportError } from './errors.js';
import type { AnswerOf, OperationAt, ServiceName, Services } from './types.js';

interface Page {
  readonly body: unknown;
  readonly headers: Headers;
}

/** How a list goes on: the parameter that says where the next page begins, and what it is after this page; `undefined` behind the last. */
interface Paging {
  readonly parameter: string;
  readonly next: (page: Page) => string | number | undefined;
}

const after =
  (member: string, items?: string): Paging['next'] =>
  (page) => {
    const rows = itemsOf(page.body, items);
    return (rows.at(-1) as Record<string, string | number> | undefined)?.[member];
  };
const said =
  (member: string): Paging['next'] =>
  (page) =>
    (page.body as Record<string, string | number | null>)[member] ?? undefined;

/** Every list that has pages. */
const LISTS = {
  hil: {
    '/pending': { parameter: 'before', next: ({ headers }) => headers.get('x-gate-next-before') ?? undefined },
    '/pending/summaries': { parameter: 'cursor', next: said('next_cursor') },
  },
  identity: {
    '/agents': { parameter: 'after', next: after('agent_name') },
    '/stops': { parameter: 'after', next: after('id') },
    '/grants': { parameter: 'after', next: after('jti', 'grants') },
    '/attestation/measurements': { parameter: 'after', next: after('id') },
  },
  ledger: {
    '/audit/{agent_id}': { parameter: 'before', next: after('seq') },
    '/audit/agent/rows': { parameter: 'before', next: after('seq') },
    '/audit/replay/rows': { parameter: 'after', next: said('next') },
    '/audit/replay/decisions': { parameter: 'after', next: said('next') },
  },
} as const satisfies { readonly [S in ServiceName]?: { readonly [Path in keyof Services[S]]?: Paging } };

type Lists = typeof LISTS;
/** The lists of a service that have pages. */
export type ListOf<S extends ServiceName> = S extends keyof Lists ? keyof Lists[S] & keyof Services[S] & string : never;

/** A row of a list. */
export type RowOf<S extends ServiceName, Path extends keyof Services[S]> =
  AnswerOf<OperationAt<Services[S], 'get', Path>> extends infer Body
    ? Body extends readonly (infer Row)[]
      ? Row
      : Body extends { items: readonly (infer Row)[] }
        ? Row
        : Body extends { rows: readonly (infer Row)[] }
          ? Row
          : Body extends { grants: readonly (infer Row)[] }
            ? Row
            : never
    : never;

export const pagingOf = (service: string, path: string): Paging | undefined =>
  (LISTS as Record<string, Record<string, Paging>>)[service]?.[path];

/** The rows of a page: the answer itself, or its one list. Throws where there is none: that is no page, and no end of the pages. */
export function itemsOf(body: unknown, member?: string): readonly unknown[] {
  if (Array.isArray(body)) return body;
  const found = member === undefined ? ['items', 'rows', 'grants'] : [member];
  const name = found.find((each) => Array.isArray((body as Record<string, unknown> | null)?.[each]));
  if (name === undefined) throw new GateTransportError('the answer has no list of rows', { status: 200 });
  return (body as Record<string, readonly unknown[]>)[name]!;
}
