import { BATCH_METHOD } from '../../../contracts/call-methods.js';
import type { Json, JsonObject } from '../../../contracts/json.js';
import { type LedgerEntry, SIMULATOR_SOURCE } from '../../../contracts/ledger.js';
import type { RecordedPolicyInput } from '../../../contracts/ledger-reports.js';
import { modelsIn } from '../../replay/parts.js';
import { mask } from '../../masking/mask.js';
import { classIn, longerLived } from '../../ledger/erasure/retention-class.js';
import type { RowFilter } from '../../ledger/row-filter.js';
import type { LedgerReader } from '../../ledger/ports.js';

type Scope = Pick<RowFilter, 'tenant' | 'demoPrefix'>;

/** A row of an agent's life cycle with its payload; `null` when none was committed or it was purged. */
export type LifecycleRow = LedgerEntry & { readonly payload: Json };

/** All rows of a registered agent, by its registry id, in chain order (docs/architecture/ledger-reads.md#routes). */
export async function* lifecycleRows(
  ledger: LedgerReader,
  tenant: string,
  agentId: string,
): AsyncGenerator<LifecycleRow[]> {
  for await (const page of ledger.pages({ agentId, tenant })) {
    const rows: LifecycleRow[] = [];
    for (const row of page) {
      const payload = row['payload_sha256'] === null ? null : await ledger.sidecar(row.id);
      rows.push({ ...row, payload: payload?.kind === 'payload' ? jsonOf(payload.text) : null });
    }
    yield rows;
  }
}

export interface MaskedParams {
  readonly masked_params: JsonObject | null;
  readonly retention_class: string | null;
}

/**
 * The parameters of the call that an entry commits to. They are masked when read, because only one sealed copy of the request is stored;
 * purging it removes these too. `masked_params` is `null` when the entry is unknown, out of scope or commits to no parameters. The
 * retention class is the one that policy gave the call.
 */
export async function maskedParams(ledger: LedgerReader, entryId: string, scope: Scope): Promise<MaskedParams> {
  const entry = await ledger.get(entryId);
  if (!entry || !inScope(entry, scope)) return { masked_params: null, retention_class: null };
  const isCommitted = entry['payload_sha256'] !== null || entry['brain_evidence_sha256'] !== null;
  const sidecar = isCommitted ? await ledger.sidecar(entryId) : null;
  return {
    masked_params: sidecar && maskedOf(entry, sidecar.text),
    retention_class: await retentionClassOf(ledger, entry),
  };
}

/** More is not masked, nor parsed: whoever appends rows would wait for it. What Brain masked has this length, beside its evidence. */
const MASKED_UNITS = 65_536;
function maskedOf(entry: LedgerEntry, text: string | null): JsonObject | null {
  const most = entry.event_kind === 'brain.inspection' ? 2 * MASKED_UNITS : MASKED_UNITS;
  if (text !== null && text.length > most)
    return { too_large: 'of this request nothing is shown: it is too large to be masked here' };
  const params = paramsOf(entry, jsonOf(text));
  return params && (mask(params) as JsonObject);
}

/**
 * The policy input that the newest evaluation of a call commits to, as it was judged, with what policy, inspection and the verdict said then.
 * All are `null` when there is no such row in scope, `input` also when nothing was committed or it was purged.
 */
export async function recordedPolicyInput(
  ledger: LedgerReader,
  correlationId: string,
  scope: Scope,
): Promise<RecordedPolicyInput> {
  const found = new Map<string | null, LedgerEntry>();
  for await (const page of ledger.pages({ ...scope, correlationId, eventKinds: JUDGED_KINDS }))
    for (const row of page) if (isOfJudgement(row)) found.set(row.event_kind, row);
  const [entry, verdict, inspected] = JUDGED_KINDS.map((kind) => found.get(kind));
  if (entry === undefined) return NEVER_JUDGED;
  const input = await payloadOf(ledger, entry);
  return {
    seq: entry.seq,
    input,
    decision: entry.policy_decision ?? {},
    request: verdict && input?.['method'] === BATCH_METHOD ? await payloadOf(ledger, verdict) : null,
    verdict: verdict?.policy_decision ?? null,
    inspection: inspected
      ? {
          available: inspected.policy_decision?.['available'] === true,
          authorized: inspected.authorized,
          reasoning: inspected.reasoning,
          models: await modelsOf(ledger, inspected),
        }
      : null,
  };
}

/** Which model answered in which lane; `null` where the evidence was purged. */
async function modelsOf(ledger: LedgerReader, inspected: LedgerEntry): Promise<string[] | null> {
  const sidecar = inspected['brain_evidence_sha256'] === null ? null : await ledger.sidecar(inspected.id);
  const evidence = sidecar?.kind === 'brain_evidence' ? jsonOf(sidecar.text) : null;
  const models = modelsIn(isObject(evidence) ? evidence : null);
  return models && [...models];
}

const JUDGED_KINDS = ['policy.evaluated', 'proxy.verdict', 'brain.inspection'] as const;
const NEVER_JUDGED: RecordedPolicyInput = {
  seq: null,
  input: null,
  decision: null,
  request: null,
  verdict: null,
  inspection: null,
};

/** An evaluation that failed has no input, and a call that came too often under its id was not judged again. */
const isOfJudgement = ({ event_kind: kind, policy_decision: said }: LedgerEntry): boolean =>
  !(kind === 'policy.evaluated' && said?.['available'] === false) &&
  !(kind === 'proxy.verdict' && said?.['outcome'] === 'rate_limited');

async function payloadOf(ledger: LedgerReader, entry: LedgerEntry): Promise<JsonObject | null> {
  const sidecar = entry['payload_sha256'] === null ? null : await ledger.sidecar(entry.id);
  const payload = sidecar?.kind === 'payload' ? jsonOf(sidecar.text) : null;
  return isObject(payload) ? payload : null;
}

/** A verdict commits to the request, an evaluation to the policy input made from it, an inspection to what Brain masked of it. */
function paramsOf(entry: LedgerEntry, payload: Json): JsonObject | null {
  if (!isObject(payload)) return null;
  if (entry.event_kind === 'brain.inspection')
    return isObject(payload['masked_params']) ? payload['masked_params'] : null;
  if (entry.event_kind === 'policy.evaluated' && isObject(payload['arguments']))
    return { name: entry.tool_type, arguments: payload['arguments'] };
  return isObject(payload['params']) ? payload['params'] : null;
}

async function retentionClassOf(ledger: LedgerReader, entry: LedgerEntry): Promise<string | null> {
  let found = classIn(entry.policy_decision);
  if (entry.correlation_id === null) return found;
  for await (const page of ledger.pages({ correlationId: entry.correlation_id, eventKinds: ['policy.evaluated'] }))
    for (const row of page)
      if (row['tenant'] === entry['tenant']) found = longerLived(found, classIn(row.policy_decision));
  return found;
}

const inScope = (entry: LedgerEntry, { tenant, demoPrefix }: Scope): boolean =>
  demoPrefix === undefined
    ? tenant === undefined || entry['tenant'] === tenant
    : entry['source'] === SIMULATOR_SOURCE || entry.correlation_id?.startsWith(`${demoPrefix}-`) === true;

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Sidecars of Gate's own rows are JSON. Those of other authors may be any text, which is then returned as a string. */
export function jsonOf(text: string | null): Json {
  try {
    return text === null ? null : (JSON.parse(text) as Json);
  } catch {
    return text;
  }
}
