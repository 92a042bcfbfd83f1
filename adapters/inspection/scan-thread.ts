import { workerData } from 'node:worker_threads';
import type {
  DefinitionScanRequest,
  DefinitionScanResult,
  ToolNameScanRequest,
  ToolNameScanResult,
} from '../../contracts/definition-scan.js';
import type {
  ArgumentScanRequest,
  ArgumentScanResult,
  ScanRequest,
  ScanResult,
} from '../../contracts/response-scan.js';
import type { HeuristicLevel } from '../../domain/inspection/texts.js';
import { scanArguments, scanResponse } from '../../domain/inspection/scan-response.js';
import { scanDefinitions } from '../../domain/tool-definitions/scan-definitions.js';
import { scanToolName } from '../../domain/tool-definitions/tool-names.js';
import { answerInThread } from '../threads/threads.js';

/** What a thread of scanning is started with. */
export interface ScanThreadStart {
  readonly level: HeuristicLevel;
}

/** One question of each kind. */
export type ScanQuestion =
  | { readonly response: ScanRequest }
  | { readonly request: ArgumentScanRequest }
  | { readonly definitions: DefinitionScanRequest }
  | { readonly name: ToolNameScanRequest };
export type ScanAnswer = ScanResult | ArgumentScanResult | DefinitionScanResult | ToolNameScanResult;

/** The answer by rules alone. */
function scanned(question: ScanQuestion, level: HeuristicLevel): ScanAnswer {
  if ('response' in question) return scanResponse(question.response, level);
  if ('request' in question) return scanArguments(question.request);
  if ('definitions' in question) return scanDefinitions(question.definitions, level);
  return scanToolName(question.name);
}

/** One thread that looks at what is large: answers, arguments, lists of tools and of names, one at a time. */
const { level } = workerData as ScanThreadStart;
const ordinary: ScanQuestion = {
  response: {
    agent_id: 'warm-up',
    method: 'tools/call',
    response_body: '{"content":[{"type":"text","text":"done"}]}',
    lanes: ['injection', 'data'],
    span_unit: 'utf8_bytes',
  },
};
void answerInThread(
  (question: ScanQuestion) => scanned(question, level),
  () => scanned(ordinary, level),
);
