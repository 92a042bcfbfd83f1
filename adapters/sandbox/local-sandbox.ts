import type { SandboxReport, SandboxRequest } from '../../contracts/sandbox.js';
import { GateError } from '../../domain/errors.js';
import { lasting, TookTooLong } from '../../domain/in-place.js';
import { JUDGED_IN_PLACE, sizeOf } from '../../domain/large.js';
import { type Analyzer, LARGEST_ANALYZED } from '../../domain/sandbox/analyze.js';
import type { Sandbox } from '../../domain/sandbox/port.js';
import { createTurns } from '../../domain/turns.js';
import { compiledScript, createThreads, type ThreadLimits } from '../threads/threads.js';

export interface LocalSandbox extends Sandbox {
  /** Starts a thread, so that the first large call need not wait for one. */
  warm(): void;
  /** Ends its threads; open requests have no report. */
  close(): Promise<void>;
}

export interface SandboxLimits extends ThreadLimits {
  readonly inPlaceMs?: number;
}

/** Less than a call waits for its report. */
const LIMIT_MS = 1_500;
/** How long an analysis may block the event loop, in ms; an ordinary call takes one. */
const LONGEST_IN_PLACE = 50;

/**
 * The sandbox in this process, without delaying others. A large call is analysed in a thread, and a small one that is built to take long is
 * given up in place and analysed there from the beginning. Agents take turns at both. Rejects with `sandbox_unavailable` where there is no
 * report in time.
 */
export function createLocalSandbox(
  analyze: Analyzer,
  { inPlaceMs = LONGEST_IN_PLACE, limitMs = LIMIT_MS, ...limits }: SandboxLimits = {},
): LocalSandbox {
  const threads = createThreads<SandboxRequest, SandboxReport>({
    work: 'sandbox analysis',
    code: 'sandbox_unavailable',
    script: compiledScript(new URL('./sandbox-thread.js', import.meta.url)),
    material: () => null,
    threads: 1,
    limitMs,
    ...limits,
  });
  const turns = createTurns({ limitMs });
  const late = () => new GateError('sandbox_unavailable', 'too many calls wait for sandbox analysis already');
  /** Null when it would take too long. */
  const inPlace = ({ method, params }: SandboxRequest): SandboxReport | null => {
    try {
      return analyze(method, params, lasting(inPlaceMs));
    } catch (error) {
      if (error instanceof TookTooLong) return null;
      throw error;
    }
  };
  return {
    async analyze(request) {
      const agent = request.agent ?? '';
      const size = sizeOf(request.params, LARGEST_ANALYZED);
      // What is too large to be analysed is told so at once.
      const isLarge = size > JUDGED_IN_PLACE && size <= LARGEST_ANALYZED;
      const soon = isLarge ? null : await turns.run(() => inPlace(request), { agent, late });
      return soon ?? (await threads.ask(request, agent));
    },
    warm: () => threads.warm(),
    close: () => threads.close(),
  };
}
