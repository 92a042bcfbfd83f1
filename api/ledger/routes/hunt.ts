import { z } from 'zod';
import { hunt, replayCorpus } from '../../../contracts/ledger-reports.js';
import { decidedPage } from '../../../contracts/decided-calls.js';
import { tenantName } from '../../../contracts/erasure.js';
import { MOST_REPLAY_ROWS, replayPage } from '../../../contracts/replay-rows.js';
import { GateError } from '../../../domain/errors.js';
import type { ChosenCorpus } from '../../../domain/evidence/reports/corpus.js';
import type { LedgerReports } from '../../../adapters/evidence/reports/reports.js';
import type { ServiceApp } from '../../plugins/app.js';
import { sendPieces } from '../json-stream.js';
import { agentLabel, scopeOf, scopeQuery, time, windowOf } from '../query.js';

const MAX_AGENTS = 1_000;

/**
 * Searches across agents: who is behind suspicious rows, and recorded inputs to judge again
 * (docs/architecture/ledger-reads.md#hunt-and-corpus).
 */
export function huntRoutes({ app, reports }: { readonly app: ServiceApp; readonly reports: LedgerReports }): void {
  app.get(
    '/audit/hunt',
    {
      schema: {
        querystring: z.object({
          ...scopeQuery,
          method: z.string().min(1).max(128).optional(),
          signal: z.string().min(1).max(128).optional(),
          authorized: z.stringbool().optional(),
          from: time,
          to: time,
          limit: z.coerce
            .number()
            .int()
            .default(100)
            .transform((limit) => Math.max(1, Math.min(MAX_AGENTS, limit))),
        }),
        response: { 200: hunt },
      },
    },
    (request) => {
      const { method, signal, authorized, limit } = request.query;
      const filter = {
        ...scopeOf(request.query),
        ...windowOf(request.query),
        methods: method === undefined ? undefined : [method],
        signal,
        authorized,
      };
      return reports.hunt(filter, limit);
    },
  );

  app.get(
    '/audit/replay/corpus',
    {
      schema: {
        querystring: z.object({
          since: time,
          until: time,
          limit: z.coerce.number().int().min(1).max(5_000),
          agent_id: agentLabel.optional(),
          tool_type: z.string().min(1).max(256).optional(),
          tenant_prefix: z.string().min(1).max(63).optional(),
        }),
        response: { 200: replayCorpus },
      },
    },
    async (request, reply) => {
      const {
        since,
        until,
        limit,
        agent_id: agentId,
        tool_type: toolType,
        tenant_prefix: tenantPrefix,
      } = request.query;
      if (since === undefined) throw new GateError('invalid_window', 'since is required: the corpus has a beginning');
      const chosen = await reports.replayCorpus(
        { ...windowOf({ from: since, to: until }), agentId },
        { limit, toolType, tenantPrefix },
      );
      return sendPieces(reply, corpusPieces(chosen));
    },
  );
  replayRoute(app, reports);
}

/** Pages of recorded evaluations, and of what people decided, in chain order, for who judges all of a window again. */
function replayRoute(app: ServiceApp, reports: LedgerReports): void {
  app.get(
    '/audit/replay/rows',
    {
      schema: {
        querystring: z.object({
          since: time,
          until: time,
          after: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
          limit: z.coerce.number().int().min(1).max(MOST_REPLAY_ROWS),
          tenant: scopeQuery.tenant,
          agent_id: agentLabel.optional(),
          tool_type: z.string().min(1).max(256).optional(),
        }),
        response: { 200: replayPage },
      },
    },
    ({ query: { since, until, after, limit, tenant, agent_id: agentId, tool_type: tool } }) =>
      reports.replayPage({ ...windowOf({ from: since, to: until }), after, limit, tenant, agentId, tool }),
  );
  app.get(
    '/audit/replay/decisions',
    {
      schema: {
        querystring: z.object({
          since: time,
          until: time,
          after: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
          limit: z.coerce.number().int().min(1).max(MOST_REPLAY_ROWS),
          tenant: tenantName,
          tool_type: z.string().min(1).max(256).optional(),
        }),
        response: { 200: decidedPage },
      },
    },
    ({ query: { since, until, after, limit, tenant, tool_type: tool } }) =>
      reports.decidedPage({ ...windowOf({ from: since, to: until }), after, limit, tenant, tool }),
  );
}

/** Entry by entry, because together they may be many times larger than memory. */
async function* corpusPieces({ entries, total, sampled }: ChosenCorpus): AsyncGenerator<string> {
  let separator = '{"corpus":[';
  let returned = 0;
  for await (const entry of entries) {
    yield separator + JSON.stringify(entry);
    separator = ',';
    returned += 1;
  }
  const end = `],${JSON.stringify({ total_in_window: total, returned, sampled }).slice(1)}`;
  yield returned === 0 ? `{"corpus":[${end}` : end;
}
