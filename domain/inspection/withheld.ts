import type { Json } from '../../contracts/json.js';

const SERVER_ERROR = -32_000;

/** What is kept in place of an answer that is withheld: nothing of it, under the caller's own id. */
export const withheldText = (id: Json | undefined, correlationId: string): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: id ?? null,
    error: {
      code: SERVER_ERROR,
      message: 'Gate: egress_blocked: the tool ran, and policy withholds what it answered',
      data: { error: 'egress_blocked', correlation_id: correlationId },
    },
  });
