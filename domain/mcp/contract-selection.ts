import { DECISION_CONTRACT, SERVER_EXECUTION_CONTRACT, type CallContract } from '../../contracts/call.js';
import type { ErrorCodeName } from '../../contracts/error-codes.js';
import { GateError } from '../errors.js';
import { hasUuidForm } from '../uuid.js';

/** Header values as received; `undefined` when absent. Repeated headers are a separate error. */
export interface SelectorHeaders {
  readonly decision: string | undefined;
  readonly serverExecution: string | undefined;
  readonly legacy: string | undefined;
  readonly idempotencyId: string | undefined;
}

export interface SelectedContract {
  readonly contract: CallContract;
  readonly idempotencyId: string;
}

/**
 * The contract that the headers select (docs/architecture/requests-and-answers.md#contract-selection); `null` for none. Checked before
 * authentication, limits, policy and any effect. Throws GateError with the code of the intended contract.
 */
export function selectContract(headers: SelectorHeaders): SelectedContract | null {
  const { decision, serverExecution, legacy, idempotencyId } = headers;
  if (serverExecution !== undefined && (decision !== undefined || legacy !== undefined))
    throw refusal('server_execution_selector_conflict', SERVER_EXECUTION_CONTRACT);
  if (decision !== undefined && legacy !== undefined) throw refusal('decision_selector_conflict', DECISION_CONTRACT);
  if (decision === undefined && serverExecution === undefined) {
    if (legacy !== undefined)
      throw refusal(
        'decision_selector_invalid',
        DECISION_CONTRACT,
        'X-Gate-Execution-Contract is no longer a selector',
      );
    if (idempotencyId !== undefined)
      throw refusal(
        'decision_selector_invalid',
        DECISION_CONTRACT,
        'X-Gate-Idempotency-Id needs a contract selector beside it',
      );
    return null;
  }
  if (decision !== undefined && decision !== DECISION_CONTRACT && decision !== 'decision/v1') {
    throw refusal(
      'decision_selector_invalid',
      DECISION_CONTRACT,
      `X-Gate-Decision-Contract must be ${DECISION_CONTRACT}`,
    );
  }
  if (serverExecution !== undefined && serverExecution !== SERVER_EXECUTION_CONTRACT) {
    throw refusal(
      'server_execution_selector_invalid',
      SERVER_EXECUTION_CONTRACT,
      `X-Gate-Server-Execution-Contract must be ${SERVER_EXECUTION_CONTRACT}`,
    );
  }
  const contract = decision === undefined ? SERVER_EXECUTION_CONTRACT : DECISION_CONTRACT;
  if (idempotencyId === undefined || !hasUuidForm(idempotencyId)) {
    const code = decision === undefined ? 'server_execution_selector_invalid' : 'decision_selector_invalid';
    throw refusal(code, contract, 'X-Gate-Idempotency-Id must be a UUID in lower-case hyphenated text');
  }
  return { contract, idempotencyId };
}

/** The error for a contract selector on a control method. */
export const selectorOnControl = ({ contract }: SelectedContract): GateError =>
  refusal(contract === DECISION_CONTRACT ? 'decision_tool_required' : 'server_execution_tool_required', contract);

const refusal = (code: ErrorCodeName, contract: CallContract, detail?: string): GateError =>
  new GateError(code, detail, { fields: { contract, executable: false } });
