import type { ScanRequest, ScanResult } from '../../contracts/response-scan.js';
import type { HeuristicLevel } from '../../domain/inspection/texts.js';
import { LOOKED_AT_IN_PLACE } from '../../domain/large.js';
import type { ResponseScanner } from '../../domain/responses/port.js';
import { scanResponse } from '../../domain/responses/scan-response.js';
import { compiledScript, createThreads, type ThreadLimits } from '../threads/threads.js';

/** What a thread is started with. */
export interface ResponseThreadStart {
  readonly level: HeuristicLevel;
}

export interface ResponseThreads extends ResponseScanner {
  /** Starts a thread in advance for the first large answer. */
  warm(): void;
  /** Ends the threads; open requests are refused. */
  close(): Promise<void>;
}

/** Longer than a request has: the tool has run, and an answer that is not looked at in time is lost. */
const LIMIT_MS = 7_000;

/**
 * Looks at answers by rules, at large ones in threads of their own, so that ten megabytes delay nobody else. Fails closed with
 * `provider_unavailable` where one takes longer than the limit, or too many wait.
 */
export function scanResponses({
  level = 'standard',
  script,
  limitMs = LIMIT_MS,
  ...limits
}: ThreadLimits & { readonly level?: HeuristicLevel; readonly script?: URL } = {}): ResponseThreads {
  const threads = createThreads<ScanRequest, ScanResult>({
    work: 'response inspection',
    code: 'provider_unavailable',
    script: script ?? compiledScript(new URL('./response-thread.js', import.meta.url)),
    material: { level } satisfies ResponseThreadStart,
    limitMs,
    ...limits,
  });
  return {
    scanResponse: async (request) =>
      request.response_body.length > LOOKED_AT_IN_PLACE
        ? threads.ask(request, `${request.tenant ?? ''}/${request.agent_id}`)
        : scanResponse(request, level),
    warm: () => threads.warm(),
    close: () => threads.close(),
  };
}
