import { DECISION_CONTRACT } from '../../../contracts/call.js';
import { executionReceipt, receiptRecorded } from '../../../contracts/execution-receipt.js';
import type { Ledger } from '../../../contracts/ledger.js';
import { receiptFault, receiptRow, receiptText } from '../../../domain/call/execution-receipt.js';
import type { CallStore } from '../../../domain/call/ports.js';
import { digestOf } from '../../../domain/crypto/digest.js';
import { GateError } from '../../../domain/errors.js';
import type { PublicJwk, Signer } from '../../../domain/identity/signer.js';
import { readObject } from '../../../domain/mcp/envelope.js';
import type { ServiceApp } from '../../plugins/app.js';
import type { AgentLimitsCheck } from '../agent-limits.js';
import { anyAgentOf, bodyText, certificateOf } from '../mcp-requests.js';

export interface ExecutionReceiptOptions {
  readonly calls: CallStore;
  readonly ledger: Ledger;
  readonly signer: Signer;
  /** Keys that signed authorizations before, as they are now. */
  readonly otherKeys?: () => readonly PublicJwk[];
  readonly limits: AgentLimitsCheck;
}

/**
 * Records that a host executed what Gate authorized (docs/architecture/requests-and-answers.md#execution-receipts). Safe to repeat: the same
 * receipt is one row. It runs nothing. Throws `certificate_required`, `execution_receipt_invalid` saying which part does not hold,
 * `execution_receipt_conflict` where the call has another receipt, and `ledger_store_unavailable` where it may be sent again.
 */
export function registerExecutionReceipts(
  app: ServiceApp,
  { calls, ledger, signer, otherKeys = () => [], limits }: ExecutionReceiptOptions,
): void {
  app.post(
    '/execution-receipts',
    // Its bytes are read as those of a call are, so the schema only describes them.
    { config: { described: { body: executionReceipt } }, schema: { response: { 200: receiptRecorded } } },
    async (request) => {
      const caller = anyAgentOf(request);
      const certificate = certificateOf(request, caller.fingerprint);
      await limits.replay({ caller, correlationId: request.correlationId, name: 'POST /execution-receipts' });
      const read = executionReceipt.safeParse(readObject(bodyText(request)));
      if (!read.success) {
        const [issue] = read.error.issues;
        throw invalid(`${issue?.path.join('.') || 'it'}: ${issue?.message ?? 'no receipt'}`);
      }
      const receipt = read.data;
      const record = await calls.find(receipt.correlation_id);
      const call = record?.evidence.call;
      const mine = call !== undefined && call.tenant === caller.tenant && call.agent === caller.agent;
      const allowed = record?.state === 'allowed' || record?.state === 'approved';
      if (!record || !mine || call.contract !== DECISION_CONTRACT || !allowed)
        throw new GateError('not_found', 'no authorization under this id');
      request.correlationId = record.correlation_id;
      const { fingerprint } = caller;
      const keys = [signer.publicJwk, ...otherKeys()];
      const fault = receiptFault(receipt, record, { bearer: { fingerprint, certificate }, keys });
      if (fault) throw invalid(fault);
      const text = receiptText(receipt);
      const identity_signature = await signer.sign(text);
      await ledger.append([receiptRow(receipt, record, identity_signature)]).catch((error: unknown) => {
        if (error instanceof GateError && error.code === 'ledger_entry_conflict')
          throw new GateError('execution_receipt_conflict', undefined, { cause: error });
        throw error;
      });
      const { contract, stage, authorization_id } = receipt;
      const receipt_sha256 = digestOf(text);
      return { status: 'recorded' as const, contract, stage, authorization_id, receipt_sha256, identity_signature };
    },
  );
}

const invalid = (why: string): GateError =>
  new GateError('execution_receipt_invalid', `the receipt is refused: ${why}`);
