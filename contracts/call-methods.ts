import type { JsonObject } from './json.js';

/** The methods that read something for a model and are calls: judged, recorded, limited and sent at most once. */
const READ_CALLS = ['resources/read', 'prompts/get'] as const;
export type ReadCall = (typeof READ_CALLS)[number];

/**
 * Several calls that are allowed or refused together, under either contract (docs/architecture/requests-and-answers.md#atomic-batch).
 */
export const BATCH_METHOD = 'gate/tools.batch';

/** Their `params.name`, if they have one, names no tool. */
const TOOLS_BY_METHOD: ReadonlySet<string> = new Set([...READ_CALLS, BATCH_METHOD]);

/**
 * The tool of a request, under which it is judged, recorded, shown and signed: what a tool call names, or the method. The name of a prompt is
 * an upstream's choice and an argument: as a tool's name on a card it would be whatever tool that upstream likes.
 */
export const toolOf = ({
  request_payload: { params },
  method,
}: {
  readonly request_payload: JsonObject;
  readonly method: string;
}): string =>
  !TOOLS_BY_METHOD.has(method) &&
  params !== null &&
  typeof params === 'object' &&
  !Array.isArray(params) &&
  typeof params.name === 'string' &&
  params.name !== ''
    ? params.name
    : method;
