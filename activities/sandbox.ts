import type { CallInput } from '../contracts/call.js';
import type { JsonObject } from '../contracts/json.js';
import type { SandboxReport } from '../contracts/sandbox.js';
import type { CallStore } from '../domain/call/ports.js';
import { NotAsStaged } from '../domain/call/record.js';
import type { Sandbox } from '../domain/sandbox/port.js';
import { within } from '../domain/within.js';

/** A call waits no longer for its report; the report is for a person, who takes longer. */
const LIMIT_MS = 2_000;

interface Asked {
  readonly sandbox: Sandbox;
  readonly limitMs?: number | undefined;
}
type Analyzed = Pick<CallInput, 'method' | 'tenant' | 'agent'>;

/** What a call with this body would do; `null` where the sandbox has no report in time. Never throws. */
export type Predict = (call: Analyzed, body: JsonObject) => Promise<SandboxReport | null>;

export const predictBy =
  ({ sandbox, limitMs = LIMIT_MS }: Asked): Predict =>
  ({ method, tenant, agent }, { params }) =>
    within(
      limitMs,
      Promise.resolve().then(() => sandbox.analyze({ method, params, agent: `${tenant}/${agent}` })),
      () => new Error('not in time'),
    ).catch(() => null);

export const createSandboxActivities = ({
  calls,
  ...asked
}: Asked & { readonly calls: Pick<CallStore, 'request'> }) => ({
  /**
   * What a call would do, for the person who decides it. `null` where the sandbox has no report in time: the call waits all the same. Never
   * throws, and changes nothing, so a second run asks again.
   */
  async analyzeCall(call: Analyzed & Pick<CallInput, 'correlation_id' | 'digest'>): Promise<SandboxReport | null> {
    try {
      const request = await calls.request(call.correlation_id, call.digest);
      return !request || request instanceof NotAsStaged ? null : await predictBy(asked)(call, request.body);
    } catch {
      return null;
    }
  },
});
export type SandboxActivities = ReturnType<typeof createSandboxActivities>;
