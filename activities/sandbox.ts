import type { CallInput } from '../contracts/call.js';
import type { SandboxReport } from '../contracts/sandbox.js';
import type { CallStore } from '../domain/call-record/ports.js';
import { NotAsStaged } from '../domain/call-record/record.js';
import type { Sandbox } from '../domain/sandbox/port.js';
import { within } from '../domain/within.js';

/** A call waits no longer for its report; the report is for a person, who takes longer. */
const LIMIT_MS = 2_000;

export const createSandboxActivities = ({
  calls,
  sandbox,
  limitMs = LIMIT_MS,
}: {
  readonly calls: Pick<CallStore, 'request'>;
  readonly sandbox: Sandbox;
  readonly limitMs?: number | undefined;
}) => ({
  /**
   * What a call would do, for the person who decides it. `null` where the sandbox has no report in time: the call waits all the same. Never
   * throws, and changes nothing, so a second run asks again.
   */
  async analyzeCall(
    call: Pick<CallInput, 'correlation_id' | 'digest' | 'method' | 'tenant' | 'agent'>,
  ): Promise<SandboxReport | null> {
    const report = async (): Promise<SandboxReport | null> => {
      const request = await calls.request(call.correlation_id, call.digest);
      if (!request || request instanceof NotAsStaged) return null;
      const { params } = request.body;
      return sandbox.analyze({ method: call.method, params, agent: `${call.tenant}/${call.agent}` });
    };
    try {
      return await within(limitMs, report(), () => new Error('not in time'));
    } catch {
      return null;
    }
  },
});
export type SandboxActivities = ReturnType<typeof createSandboxActivities>;
