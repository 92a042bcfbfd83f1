import { z } from 'zod';
import { DECISION_CONTRACT } from '../../../contracts/call.js';
import type { JsonObject } from '../../../contracts/json.js';
import { NotAsStaged } from '../../../domain/call-record/record.js';
import { authorizationOf, authorizedFor } from '../../../domain/call-record/authorization.js';
import { canonicalJson } from '../../../domain/crypto/digest.js';
import { TAMPERED } from '../../../domain/call-record/transitions.js';
import { GateError } from '../../../domain/errors.js';
import type { Signer } from '../../../domain/identity/signer.js';
import { approvalFault, type VerifyDecision } from '../../../domain/review/approval.js';
import type { ServiceApp } from '../../plugins/app.js';
import type { AgentLimitsCheck } from '../agent-limits.js';
import { agentOf } from '../mcp-requests.js';
import { idOf } from './mcp.js';
import type { CallStore } from '../../../domain/call-record/ports.js';

export interface AuthorizationRouteOptions {
  readonly calls: CallStore;
  readonly signer: Signer;
  readonly verifyDecision: VerifyDecision;
  readonly limits: AgentLimitsCheck;
  readonly now?: () => number;
}

const UNKNOWN = 'no authorization under this id';

/**
 * The signed statement that a host may execute its call: `gate.execution/v1`, stage `authorization`. For a call that a person approved,
 * HIL's signature is verified again first.
 */
export function registerAuthorizations(
  app: ServiceApp,
  { calls, signer, verifyDecision, limits, now = Date.now }: AuthorizationRouteOptions,
): void {
  const tampered = async (correlationId: string, why: string): Promise<GateError> => {
    await calls.condemn(correlationId, why);
    return new GateError('call_tampered');
  };
  app.get(
    '/authorizations/:correlation_id',
    { schema: { params: z.object({ correlation_id: z.string() }) } },
    async (request): Promise<JsonObject> => {
      const caller = agentOf(request);
      const asked = { caller, correlationId: request.correlationId, name: 'GET /authorizations' };
      await limits.replay(asked);
      const record = await calls.find(idOf(request.params.correlation_id, UNKNOWN));
      const call = record?.evidence.call;
      const mine = call !== undefined && call.tenant === caller.tenant && call.agent === caller.agent;
      if (mine && record?.state === TAMPERED) throw new GateError('call_tampered');
      if (
        !mine ||
        call.contract !== DECISION_CONTRACT ||
        (record?.state !== 'allowed' && record?.state !== 'approved')
      ) {
        throw new GateError('not_found', UNKNOWN);
      }
      request.correlationId = record.correlation_id;
      const staged = await calls.request(record.correlation_id, record.digest);
      if (staged instanceof NotAsStaged) throw await tampered(record.correlation_id, staged.message);
      // Before the time is checked: a forged approval is reported even when it would be too late.
      const fault =
        staged && record.state === 'approved' ? await approvalFault(record, staged.body, verifyDecision) : null;
      if (fault) throw await tampered(record.correlation_id, `approved, but ${fault}`);
      if (now() >= authorizedFor(record).expMs) throw new GateError('authorization_expired');
      if (!staged) throw new GateError('not_found', 'the request of this authorization is past its retention');
      const authorization = authorizationOf(record, staged);
      const text = await limits.retained(asked, () => Promise.resolve(Buffer.from(canonicalJson(authorization))));
      return { authorization, identity_signature: { ...signer.sign(text.toString('utf8')) } };
    },
  );
}
