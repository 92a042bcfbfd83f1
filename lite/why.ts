import { performance } from 'node:perf_hooks';
import type { ExplainedVerdict } from '../contracts/policy-studies.js';
import { recordedVerdict } from '../contracts/policy-studies.js';
import { openLedgerReadOnly } from '../adapters/ledger/read-only.js';
import { loadPolicySet } from '../adapters/policy/load-policy-set.js';
import { GateError } from '../domain/errors.js';
import { recordedPolicyInput } from '../domain/evidence/reports/call-rows.js';
import { explained } from '../domain/policy/explain/explain.js';
import { toldExplanation } from '../domain/policy/explain/told.js';
import { keysBeside } from './keys.js';
import { policyFolder } from './policy-folder.js';

const WHY_MS = 10_000;

/**
 * Why a call in a ledger file was judged as it was, by the rules of the folder. Reads the file only. Throws `not_found` where policy judged no
 * such call, `payload_unavailable` without keys or after a purge.
 */
export async function whyInFile(file: string, correlationId: string, policies?: string): Promise<ExplainedVerdict> {
  const keys = keysBeside(file);
  if (!keys)
    throw new GateError('payload_unavailable', `the recorded inputs are sealed: put ${file}.keys beside the file`);
  const ledger = openLedgerReadOnly(file, { sidecarKeys: keys });
  try {
    const found = await recordedPolicyInput(ledger, correlationId, {});
    if (found.decision === null) throw new GateError('not_found', `policy judged no call ${correlationId}`);
    if (found.input === null) throw new GateError('payload_unavailable', 'the recorded inputs were purged');
    const { input, request, decision } = recordedVerdict.parse(found);
    const set = await loadPolicySet({ directory: policyFolder(policies).directory });
    const bundle = decision['policy_bundle'] as { readonly hash_sha256?: string } | undefined;
    const until = performance.now() + WHY_MS;
    const explanation = {
      rules: bundle?.hash_sha256 === set.bundle.hash_sha256 ? ('then' as const) : ('now' as const),
      policy_bundle: set.bundle,
      ...(await explained({ input, request }, (one) => set.evaluate(one), set.files, {
        goOn: () => performance.now() < until,
      })),
    };
    return { ...explanation, text: toldExplanation(explanation, input.tool_type) };
  } finally {
    await ledger.close();
  }
}
