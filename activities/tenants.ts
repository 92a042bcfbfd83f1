import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../contracts/json.js';
import type {
  DrivenTenantCompletion,
  DrivenTenantOperation,
  DrivenTenantStep,
  StepOwner,
  TenantOperation,
  TenantOperationState,
  TenantStep,
  TenantWarrant,
} from '../contracts/tenant-lifecycle.js';
import { ERROR_CODES } from '../contracts/error-codes.js';
import type { CallStore } from '../domain/call/ports.js';
import { errorText, GateError } from '../domain/errors.js';
import type { RevocationMirror } from '../domain/identity/revocation-mirror.js';
import { nextStep } from '../domain/identity/tenant-operations.js';

/** Who asks identity hears of a change within half a second. */
const HEARD_LIMIT_MS = 5_000;
const HEARD_LOOK_MS = 100;
/** Where a step is due and could not be claimed. */
const PAUSE_MS = 1_000;
/** What came of a step is said again to an identity that is away, for half of the lease: said once, the step would wait for all of it. */
const SAID_LIMIT_MS = 15_000;
const SAID_AGAIN_MS = 250;

/** Identity, as the driver of operations asks it. */
export interface TenantOperations {
  driven(operationId: string): Promise<DrivenTenantOperation>;
  drive(operationId: string): Promise<DrivenTenantStep>;
  complete(operationId: string, said: DrivenTenantCompletion): Promise<DrivenTenantOperation>;
}
/** The services that have a step done for a warrant. */
export type StepTakers = Readonly<
  Record<Extract<StepOwner, 'policy-engine' | 'hil' | 'ledger'>, (warrant: TenantWarrant) => Promise<JsonObject>>
>;

export interface TenantActivityOptions {
  readonly identity: TenantOperations;
  readonly takers: StepTakers;
  /** What this process has heard of identity; absent where nobody asks. */
  readonly heard: Pick<RevocationMirror, 'position' | 'agentFault'> | undefined;
  /** The calls, for those that are still at their tools, and what they touched. */
  readonly calls: Pick<CallStore, 'atTool' | 'forgetDecoyHits'>;
}

/** How far an operation is, without what its owners said. */
export interface TenantProgress {
  readonly state: TenantOperationState;
  readonly steps: number;
  readonly next: Pick<TenantStep, 'id' | 'order' | 'owner' | 'attempts' | 'last_error'> | null;
  /** Milliseconds until that can be claimed; `null` where none goes on by itself. */
  readonly wait_ms: number | null;
}

export const createTenantActivities = ({ identity, takers, heard, calls }: TenantActivityOptions) => {
  /** What the proxies' own list says of the tenant, once this process has heard so much of it. */
  async function heardOf({ warrant: { tenant, kind }, feed_generation: feed }: Claim): Promise<JsonObject> {
    if (!heard)
      throw new GateError(
        'control_state_unavailable',
        'nobody here asks identity what is stopped (GATE_PROXY_REVOCATIONS)',
      );
    const untilMs = performance.now() + HEARD_LIMIT_MS;
    while (heard.position() < feed && performance.now() < untilMs) await sleep(HEARD_LOOK_MS);
    const generation = heard.position();
    if (generation < feed)
      throw new GateError(
        'control_state_unavailable',
        `number ${generation} of the list is heard here, and identity is at ${feed}`,
      );
    const fault = heard.agentFault({ tenant, agent: '' });
    const isStopped = fault?.code === 'tenant_decommissioned' || fault?.code === 'tenant_suspended';
    if (fault !== null && !(isStopped && kind === 'offboard')) throw fault;
    if (!isStopped && kind === 'offboard')
      throw new GateError('control_state_unavailable', `tenant ${tenant} is not heard to be stopped`);
    if (kind === 'offboard') await calls.forgetDecoyHits(tenant);
    return { tenant, generation, state: isStopped ? 'offboarded' : 'active' };
  }

  /** What stays, and under whose digest. */
  function retained({ operation }: DrivenTenantStep): JsonObject {
    const exported = operation.steps.find(({ id }) => id === 'ledger_final_export')?.receipt ?? {};
    return { disposition: 'retained-pending-erasure', artifact_sha256: exported['artifact_sha256'] ?? null };
  }

  async function receiptOf(step: DrivenTenantStep, claim: Claim): Promise<JsonObject | undefined> {
    const { owner, warrant } = claim;
    if (owner === 'identity') return undefined;
    if (owner === 'proxy') return heardOf(claim);
    if (owner === 'platform') return retained(step);
    return takers[owner](warrant);
  }

  /** What a call says when it ends is exported with the rest, so the export waits for it; Gate ends every attempt after a time. */
  async function assertAtNoTool({ tenant, kind, steps }: TenantOperation): Promise<void> {
    if (kind !== 'offboard' || nextStep<TenantStep>({ steps })?.id !== 'ledger_final_export') return;
    const call = await calls.atTool(tenant);
    if (call !== null)
      throw new GateError('operation_unfinished', `call ${call} of tenant ${tenant} is still at its tool`);
  }

  return {
    async lookAtTenant(operationId: string): Promise<TenantProgress> {
      return progressOf(await identity.driven(operationId));
    },

    /**
     * One attempt at the next step: claimed, done by its owner, and said, again where identity is away just then. Where this process ends in between,
     * identity has the claim, and its lease ends; what an owner did it does not do twice. Leases and warrants stay in here, and in no history.
     */
    async takeTenantStep(operationId: string): Promise<TenantProgress> {
      await assertAtNoTool((await identity.driven(operationId)).operation);
      const step = await identity.drive(operationId);
      const { claim } = step;
      if (claim === null) {
        const progress = progressOf(step);
        // Asked again at once, identity would say the same.
        return progress.wait_ms === 0 ? { ...progress, wait_ms: PAUSE_MS } : progress;
      }
      const { step_id, lease_token } = claim;
      const untilMs = performance.now() + SAID_LIMIT_MS;
      const say = async (said: Pick<DrivenTenantCompletion, 'outcome' | 'receipt' | 'error'>) => {
        for (;;)
          try {
            return progressOf(await identity.complete(operationId, { step_id, lease_token, ...said }));
          } catch (error) {
            if (!isAway(error) || performance.now() > untilMs) throw error;
            await sleep(SAID_AGAIN_MS);
          }
      };
      try {
        const receipt = await receiptOf(step, claim);
        return await say({ outcome: 'succeeded', ...(receipt && { receipt }) });
      } catch (error) {
        return say({ outcome: isFinal(error) ? 'manual_recovery' : 'retryable', error: told(error) });
      }
    },
  };
};
export type TenantActivities = ReturnType<typeof createTenantActivities>;

type Claim = NonNullable<DrivenTenantStep['claim']>;

const progressOf = ({ operation, wait_ms }: DrivenTenantOperation): TenantProgress => {
  const next = nextStep<TenantStep>(operation);
  return {
    state: operation.state,
    steps: operation.steps.length,
    next: next && {
      id: next.id,
      order: next.order,
      owner: next.owner,
      attempts: next.attempts,
      last_error: next.last_error,
    },
    wait_ms,
  };
};

/** No answer came, so that nobody knows whether it was heard; what was heard is refused the second time. */
const isAway = (error: unknown): boolean => error instanceof GateError && error.code === 'control_state_unavailable';
/** What the same request comes to again. */
const isFinal = (error: unknown): boolean => error instanceof GateError && ERROR_CODES[error.code].retry === 'no';
const told = (error: unknown): string =>
  error instanceof GateError ? `${error.code}: ${error.message}` : errorText(error);
