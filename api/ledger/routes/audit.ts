import { z } from 'zod';
import { tenantName } from '../../../contracts/erasure.js';
import { jsonObject, jsonValue } from '../../../contracts/json.js';
import { ledgerEntry } from '../../../contracts/ledger.js';
import { storableString } from '../../../contracts/storable.js';
import { recordedPolicyInput } from '../../../contracts/ledger-reports.js';
import {
  lifecycleRows,
  maskedParams,
  recordedPolicyInput as recorded,
} from '../../../domain/evidence/reports/call-rows.js';
import type { ServiceApp } from '../../plugins/service.js';
import { sendList } from '../json-stream.js';
import { agentLabel, scopeOf, scopeQuery, time, windowOf } from '../query.js';
import { DETAIL_KEYS } from '../../../domain/ledger/row-filter.js';
import type { AgentQuery, LedgerReader } from '../../../domain/ledger/ports.js';

const seq = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional();
const detail = z.string().min(1).max(256).optional();

const filterQuery = z.object({
  ...scopeQuery,
  before: seq,
  after: seq,
  since: time,
  from: time,
  to: time,
  seq_from: seq,
  seq_to: seq,
  methods: z.string().min(1).max(4096).optional(),
  original_method: detail,
  reason: detail,
  verdict: detail,
  tool: detail,
  brain_delta: detail,
  signal: z.string().max(128).optional(),
  source: z.string().max(32).optional(),
});
const pageQuery = filterQuery.extend({
  limit: z.coerce.number().int().min(1).max(5000).optional(),
  offset: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
});

function queryOf(query: z.infer<typeof filterQuery>): AgentQuery {
  const details = DETAIL_KEYS.filter((key) => query[key] !== undefined).map((key) => [key, query[key] as string]);
  return {
    ...scopeOf(query),
    ...windowOf({ from: query.from ?? query.since, to: query.to }),
    before: query.before,
    after: query.after,
    seqFrom: query.seq_from,
    seqTo: query.seq_to,
    methods: query.methods?.split(','),
    signal: query.signal,
    source: query.source,
    tool: query.tool,
    ...(details.length > 0 && { detail: Object.fromEntries(details) as AgentQuery['detail'] }),
  };
}

/** Reads of the chain (docs/architecture/ledger-reads.md#routes). Unknown ids give an empty list. */
export function auditRoutes({ app, reader }: { readonly app: ServiceApp; readonly reader: LedgerReader }): void {
  app.get('/agents', { schema: { response: { 200: z.object({ agents: z.array(z.string()) }) } } }, async () => ({
    agents: await reader.agents(),
  }));

  app.get(
    '/audit/correlation/:correlation_id',
    {
      schema: {
        params: z.object({ correlation_id: z.string().min(1).max(64) }),
        querystring: z.object(scopeQuery),
        response: { 200: z.array(ledgerEntry) },
      },
    },
    async (request, reply) =>
      sendList(reply, reader.pages({ ...scopeOf(request.query), correlationId: request.params.correlation_id })),
  );

  app.get(
    '/audit/correlation/:correlation_id/policy-input',
    {
      schema: {
        params: z.object({ correlation_id: z.string().min(1).max(64) }),
        querystring: z.object(scopeQuery),
        response: { 200: recordedPolicyInput },
      },
    },
    (request) => recorded(reader, request.params.correlation_id, scopeOf(request.query)),
  );

  app.get(
    '/audit/:agent_id',
    {
      schema: {
        params: z.object({ agent_id: agentLabel }),
        querystring: pageQuery,
        response: { 200: z.array(ledgerEntry) },
      },
    },
    async (request, reply) => {
      const { limit, offset } = request.query;
      return sendList(reply, reader.agentPages(request.params.agent_id, { ...queryOf(request.query), limit, offset }));
    },
  );

  app.get(
    '/audit/agent/rows',
    {
      schema: {
        querystring: pageQuery.extend({ agent_id: storableString(1, 256) }),
        response: { 200: z.array(ledgerEntry) },
      },
    },
    async (request, reply) => {
      const { agent_id, limit, offset } = request.query;
      return sendList(reply, reader.agentPages(agent_id, { ...queryOf(request.query), limit, offset }));
    },
  );

  app.get(
    '/audit/:agent_id/count',
    {
      schema: {
        params: z.object({ agent_id: agentLabel }),
        querystring: filterQuery,
        response: { 200: z.object({ count: z.number().int() }) },
      },
    },
    async (request) => ({
      count: await reader.agentCount(request.params.agent_id, queryOf(request.query)),
    }),
  );

  app.get(
    '/audit/agent/:tenant/:agent_id/lifecycle',
    {
      schema: {
        params: z.object({ tenant: tenantName, agent_id: agentLabel }),
        response: { 200: z.array(ledgerEntry.extend({ payload: jsonValue })) },
      },
    },
    async (request, reply) => sendList(reply, lifecycleRows(reader, request.params.tenant, request.params.agent_id)),
  );

  app.get(
    '/audit/entry/:entry_id/masked-params',
    {
      schema: {
        params: z.object({ entry_id: z.uuid() }),
        querystring: z.object(scopeQuery),
        response: {
          200: z.object({ masked_params: jsonObject.nullable(), retention_class: z.string().nullable() }),
        },
      },
    },
    (request) => maskedParams(reader, request.params.entry_id, scopeOf(request.query)),
  );
}
