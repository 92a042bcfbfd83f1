import { z } from 'zod';
import { ledgerEntry } from '../../../contracts/ledger.js';
import type { AgentQuery } from '../../../domain/ledger/ledger-reader.js';
import type { LedgerContext } from '../context.js';

const tenant = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,63}$/)
  .optional();
const seq = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional();
/** Any RFC 3339 time; compared in the form the chain writes. */
const time = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text).toISOString())
  .optional();

const agentQuery = z.object({
  limit: z.coerce.number().int().min(1).max(5000).optional(),
  offset: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
  before: seq,
  after: seq,
  since: time,
  from: time,
  to: time,
  seq_from: seq,
  seq_to: seq,
  methods: z.string().max(4096).optional(),
  signal: z.string().max(128).optional(),
  source: z.string().max(32).optional(),
  tenant,
});

/** Reads of the chain (spec 4.5; ledger sheet 5, rows 1, 2 and 4). Unknown ids give an empty list. */
export function auditRoutes({ app, ledger }: LedgerContext): void {
  app.get('/agents', { schema: { response: { 200: z.object({ agents: z.array(z.string()) }) } } }, async () => ({
    agents: await ledger.agents(),
  }));

  app.get(
    '/audit/correlation/:correlation_id',
    {
      schema: {
        params: z.object({ correlation_id: z.string().min(1).max(64) }),
        querystring: z.object({ tenant }),
        response: { 200: z.array(ledgerEntry) },
      },
    },
    (request) => {
      const { tenant: scope } = request.query;
      return ledger.byCorrelation(request.params.correlation_id, scope === undefined ? {} : { tenant: scope });
    },
  );

  app.get(
    '/audit/:agent_id',
    {
      schema: {
        params: z.object({ agent_id: z.string().min(1).max(256) }),
        querystring: agentQuery,
        response: { 200: z.array(ledgerEntry) },
      },
    },
    (request) => {
      const { since, from, seq_from: seqFrom, seq_to: seqTo, methods, ...rest } = request.query;
      const asked = { ...rest, from: from ?? since, seqFrom, seqTo, methods: methods?.split(',') };
      const given = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
      return ledger.byAgent(request.params.agent_id, given as AgentQuery);
    },
  );
}
