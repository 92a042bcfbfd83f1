import type { DefinitionScanResult, ToolNameScanResult } from '../../contracts/definition-scan.js';
import type { ArgumentScanResult, ScanRequest, ScanResult } from '../../contracts/response-scan.js';
import type { HeuristicLevel } from '../../domain/inspection/texts.js';
import { scanLargeApart } from '../../domain/inspection/large-apart.js';
import { LOOKED_AT_IN_PLACE, sizeOf } from '../../domain/large.js';
import type { RequestScanner, ResponseScanner } from '../../domain/inspection/response-port.js';
import type { DefinitionScanner } from '../../domain/tool-definitions/ports.js';
import { isLargeScan, scanDefinitions } from '../../domain/tool-definitions/scan-definitions.js';
import { scanToolName } from '../../domain/tool-definitions/tool-names.js';
import { compiledScript, createThreads, type ThreadLimits } from '../threads/threads.js';
import type { ScanAnswer, ScanQuestion, ScanThreadStart } from './scan-thread.js';

export interface ScanThreads extends ResponseScanner, RequestScanner, DefinitionScanner {
  /** Starts a thread in advance for the first large question. */
  warm(): void;
  /** Ends the threads; open requests are refused. */
  close(): Promise<void>;
}

/** Longer than a request has: the tool has run, and an answer that is not looked at in time is lost. */
const LIMIT_MS = 7_000;

/**
 * Looks at answers, arguments and tools by rules, at large ones in threads of their own, so that ten megabytes delay nobody else. Fails closed
 * with `provider_unavailable` where one takes longer than the limit, or too many wait; with `invalid_request` where it is nested too deeply.
 */
export function scanInThreads({
  level = 'standard',
  script,
  limitMs = LIMIT_MS,
  ...limits
}: ThreadLimits & { readonly level?: HeuristicLevel; readonly script?: URL } = {}): ScanThreads {
  const threads = createThreads<ScanQuestion, ScanAnswer>({
    work: 'scanning',
    code: 'provider_unavailable',
    unreadable: 'invalid_request',
    script: script ?? compiledScript(new URL('./scan-thread.js', import.meta.url)),
    material: () => ({ level }) satisfies ScanThreadStart,
    limitMs,
    ...limits,
  });
  const ask = (
    question: ScanQuestion,
    { agent_id: agent, tenant }: Pick<ScanRequest, 'agent_id' | 'tenant'>,
  ): Promise<ScanAnswer> => threads.ask(question, `${tenant ?? ''}/${agent}`);
  return {
    ...scanLargeApart(level, {
      scanResponse: async (response) => (await ask({ response }, response)) as ScanResult,
      scanRequest: async (request) => (await ask({ request }, request)) as ArgumentScanResult,
    }),
    scanDefinitions: async (definitions) =>
      isLargeScan(definitions)
        ? ((await ask({ definitions }, definitions)) as DefinitionScanResult)
        : scanDefinitions(definitions, level),
    scanToolName: async (name) =>
      sizeOf(name.catalog) > LOOKED_AT_IN_PLACE
        ? ((await ask({ name }, name)) as ToolNameScanResult)
        : scanToolName(name),
    warm: () => threads.warm(),
    close: () => threads.close(),
  };
}
