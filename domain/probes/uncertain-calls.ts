import type { JsonObject } from '../../contracts/json.js';
import type { SettleUncertain, UncertainCall, UncertainDetail, UncertainList } from '../../contracts/uncertain.js';
import type { CallStore } from '../call/ports.js';
import { type CallRecord, NotAsStaged, type RecordedOutcome } from '../call/record.js';
import { GateError } from '../errors.js';
import type { Operator } from '../operator.js';
import { effectiveBody } from '../review/approval.js';
import { settledBy } from './settle.js';

/** Calls of unknown outcome as a tenant's operators see and settle them. */
export interface UncertainCalls {
  list(tenant: string): Promise<UncertainList>;
  /** Throws `not_found` for a call of another tenant, and for one whose outcome was never unknown. */
  show(tenant: string, correlationId: string): Promise<UncertainDetail>;
  /** Throws `not_uncertain` when a probe or somebody else was first. Gate executes nothing by it. */
  settle(operator: Operator, correlationId: string, said: SettleUncertain): Promise<UncertainDetail>;
}

export interface UncertainOptions {
  readonly calls: CallStore;
  /** Appends the rows that the record implies by now, as far as the ledger takes them; what it does not take stays due. */
  readonly appendRows: (correlationId: string) => Promise<unknown>;
  readonly now?: () => number;
}

const LISTED = 500;

export function uncertainCalls({ calls, appendRows, now = Date.now }: UncertainOptions): UncertainCalls {
  const known = async (tenant: string, correlationId: string): Promise<CallRecord & { outcome: RecordedOutcome }> => {
    const record = await calls.find(correlationId);
    const { outcome } = record ?? {};
    const wasLost = record?.state === 'uncertain' || outcome?.lost !== undefined;
    if (!record || !outcome || !wasLost || record.evidence.call.tenant !== tenant)
      throw new GateError('not_found', 'no call of unknown outcome under this id');
    return { ...record, outcome };
  };
  const requestOf = async ({ correlation_id, digest }: CallRecord) => {
    const request = await calls.request(correlation_id, digest);
    return request instanceof NotAsStaged ? null : request;
  };
  const detailOf = async (record: CallRecord & { outcome: RecordedOutcome }): Promise<UncertainDetail> => {
    const { outcome, state } = record;
    const request = await requestOf(record);
    const params = (request && effectiveBody(record, request.body)?.['params']) as JsonObject | null | undefined;
    const told = toldOf(record);
    return {
      ...told,
      state,
      waits_for: state === 'uncertain' ? told.waits_for : 'nothing',
      idempotency_id: record.evidence.call.idempotency_id,
      arguments: params?.['arguments'] ?? null,
      evidence: (outcome.probes ?? []).map(({ at, probe, said, detail, answer_sha256 }) => ({
        at,
        probe,
        said,
        detail,
        answer_sha256,
      })),
      settled: outcome.reconciled ? { ...outcome.reconciled } : null,
    };
  };
  return {
    async list(tenant) {
      const found = await calls.uncertain(tenant, LISTED + 1);
      return { calls: found.slice(0, LISTED).map(toldOf), more: found.length > LISTED };
    },
    show: async (tenant, correlationId) => detailOf(await known(tenant, correlationId)),
    async settle({ tenant, subject }, correlationId, { outcome, reason }) {
      const record = await known(tenant, correlationId);
      const end = settledBy(record, await requestOf(record), {
        stage: outcome,
        by: 'person',
        at: new Date(now()).toISOString(),
        decided_by: subject,
        reason,
      });
      const { applied, record: after } = await calls.move(correlationId, end.move, end.patch());
      if (!applied)
        throw new GateError('not_uncertain', `the call is ${after.state}: there is nothing to settle`, {
          fields: { state: after.state },
        });
      await appendRows(correlationId);
      return detailOf(await known(tenant, correlationId));
    },
  };
}

function toldOf({ correlation_id, evidence: { call }, outcome }: CallRecord): UncertainCall {
  const lost = outcome?.lost ?? outcome;
  const looks = outcome?.probes ?? [];
  return {
    correlation_id,
    tenant: call.tenant,
    agent: call.agent,
    tool: call.tool,
    lost_at: lost?.at ?? '',
    why: lost?.error ?? null,
    looks: looks.length,
    waits_for: looks.at(-1)?.last === false ? 'probe' : 'person',
  };
}
