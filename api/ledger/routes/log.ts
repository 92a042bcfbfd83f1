import type { FastifyError } from 'fastify';
import { z } from 'zod';
import {
  type AppendReceipt,
  appendReceipt,
  HELD_IDS_LIMIT,
  heldIds,
  type HeldRows,
  type Ledger,
  newLedgerRow,
} from '../../../contracts/ledger.js';
import { CALLER_IDS } from '../../../contracts/route-authority.js';
import { errorText, GateError } from '../../../domain/errors.js';
import { isOfIdentity } from '../../../domain/identity/identity-rows.js';
import { isOfPolicyChange } from '../../../domain/policy/library-rows.js';
import { parseStrictJson } from '../../../domain/mcp/strict-json.js';
import type { ServiceApp } from '../../plugins/app.js';
import { readJsonBodies } from '../../plugins/json-bodies.js';

/** Most bytes of a body of `POST /log` (docs/architecture/ledger-rows.md#appending). */
const LOG_BODY_BYTES = 1_048_576;
/** The rows of one call with their sidecars. Each row has its own limits too. */
const BATCH_BODY_BYTES = 16_777_216;
const BATCH_ROWS = 256;

const batch = z.object({ rows: z.array(newLedgerRow).min(1).max(BATCH_ROWS) });
const receipts = z.object({ receipts: z.array(appendReceipt) });
const asked = z.object({
  ids: z
    .string()
    .transform((ids) => ids.split(','))
    .pipe(z.array(z.uuid()).max(HELD_IDS_LIMIT)),
});

/** The ledger checks rows itself and names the bad field. The schemas only document the routes. */
const unchecked = () => (value: unknown) => ({ value });
const errorHandler = (error: FastifyError): never => {
  if (!(error instanceof GateError) && error.statusCode === 400) throw notARow(errorText(error));
  throw error;
};
const notARow = (detail: string): GateError =>
  new GateError('invalid_log_request', detail, { fields: { field: 'body' } });

/** 201 when anything was appended, 200 when every row existed. */
const statusOf = (answers: readonly AppendReceipt[]): 200 | 201 =>
  answers.some((receipt) => receipt.status === 'created') ? 201 : 200;

/**
 * Appends over HTTP: one row, or the rows of one call in one transaction. Both are safe to repeat if the rows carry ids. `GET /log/held`
 * says which rows exist.
 */
export function logRoutes({
  app,
  writer,
  reader,
}: {
  readonly app: ServiceApp;
  readonly writer: Ledger;
  readonly reader: HeldRows;
}): void {
  app.get('/log/held', { schema: { querystring: asked, response: { 200: heldIds } } }, async ({ query: { ids } }) => ({
    held: [...(await reader.held(ids))].sort(),
  }));
  void app.register((child, _options, done) => {
    const scope = child as unknown as ServiceApp;
    // Duplicate keys, or numbers that JavaScript rounds, would be hashed as something the author did not say.
    readJsonBodies(scope, parseStrictJson, notARow);

    scope.post(
      '/log',
      {
        bodyLimit: LOG_BODY_BYTES,
        schema: { body: newLedgerRow, response: { 200: appendReceipt, 201: appendReceipt } },
        validatorCompiler: unchecked,
        errorHandler,
      },
      async (request, reply) => {
        const answers = await writer.append([request.body]);
        return reply.code(statusOf(answers)).send(answers[0] as AppendReceipt);
      },
    );

    scope.post(
      '/log/batch',
      {
        bodyLimit: BATCH_BODY_BYTES,
        schema: { body: batch, response: { 200: receipts, 201: receipts } },
        validatorCompiler: unchecked,
        errorHandler,
      },
      async (request, reply) => {
        const rows: unknown = (request.body as Partial<typeof request.body> | null)?.rows;
        if (!Array.isArray(rows) || rows.length === 0 || rows.length > BATCH_ROWS)
          throw new GateError('invalid_log_request', `rows must be a list of 1 to ${BATCH_ROWS} rows`, {
            fields: { field: 'rows' },
          });
        if (request.caller?.callerId === CALLER_IDS.policyEngine && !rows.every(isOfPolicyChange))
          throw new GateError('capability_denied', 'the policy engine appends the rows of policy changes alone');
        if (request.caller?.callerId === CALLER_IDS.identity && !rows.every(isOfIdentity))
          throw new GateError('capability_denied', 'identity appends the rows of certificates alone');
        const answers = await writer.append(rows as typeof request.body.rows);
        return reply.code(statusOf(answers)).send({ receipts: answers });
      },
    );
    done();
  });
}
