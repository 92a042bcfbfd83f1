import type { FastifyRequest } from 'fastify';
import { assertAsked } from '../../console/pages/audit/asked.js';

/** The names that stand more than once in the address of a request. */
export const twiceIn = ({ query }: Pick<FastifyRequest, 'query'>): string[] =>
  Object.entries(query as Readonly<Record<string, unknown>>).flatMap(([name, value]) =>
    typeof value === 'string' ? [] : [name],
  );

/** A file is kept and read elsewhere, where nobody sees what was not asked for: refuses a name that is given twice, or unknown. */
export const assertAskedOnce = (request: Pick<FastifyRequest, 'query'>, known: readonly string[]): void =>
  assertAsked(Object.keys(request.query as object), twiceIn(request), known);
