import type { InspectionResponse, InspectRequest } from '../../contracts/inspection.js';
import { LOOKED_AT_IN_PLACE, sizeOf } from '../large.js';
import type { Inspector, ReadyInspector } from './port.js';
import type { RequestScanner, ResponseScanner } from './response-port.js';
import { scanArguments, scanResponse } from './scan-response.js';
import type { HeuristicLevel } from './texts.js';

/** Inspects the calls of one request by rules, where that delays nobody else. Throws `provider_unavailable` when it takes too long. */
export type InspectApart = (calls: readonly InspectRequest[], agent: string) => Promise<readonly InspectionResponse[]>;

/** Of the calls of one batch where models are asked: a provider takes few questions at once, and each call has up to three. */
const WITH_MODELS_AT_ONCE = 8;

/**
 * The same inspector, with large requests inspected apart. Inspecting a megabyte then delays nobody else, however many calls it is divided into.
 * `ofLarge`: what becomes of the verdict on a large request, which is judged by rules alone.
 */
export function inspectLargeApart(
  inPlace: ReadyInspector,
  apart: InspectApart,
  ofLarge?: (verdict: InspectionResponse) => InspectionResponse,
): Required<ReadyInspector> {
  const inspectAll = async (calls: readonly InspectRequest[]) => {
    if (!isLarge(calls)) return inspectEach(inPlace, calls, ofLarge && WITH_MODELS_AT_ONCE);
    const verdicts = await apart(calls, agentOf(calls));
    return ofLarge === undefined ? verdicts : verdicts.map(ofLarge);
  };
  return {
    inspectAll,
    inspect: async (call) => (await inspectAll([call]))[0] as InspectionResponse,
    ready: () => inPlace.ready(),
    snapshot: () => inPlace.snapshot(),
  };
}

/** Inspects each call of one request by itself, so many at a time. */
export async function inspectEach(
  inspector: Inspector,
  calls: readonly InspectRequest[],
  atOnce = calls.length,
): Promise<readonly InspectionResponse[]> {
  const verdicts: InspectionResponse[] = [];
  for (let at = 0; at < calls.length; at += atOnce)
    verdicts.push(...(await Promise.all(calls.slice(at, at + atOnce).map((call) => inspector.inspect(call)))));
  return verdicts;
}

/** Whether the calls of a request together are too large to inspect in place. */
export const isLarge = (calls: readonly Pick<InspectRequest, 'method' | 'params'>[]): boolean =>
  sizeOf(calls.map(({ method, params }) => [method, params])) > LOOKED_AT_IN_PLACE;

/** The agent of a request; all its calls have the same one. */
const agentOf = ([call]: readonly InspectRequest[]): string => `${call?.tenant ?? ''}/${call?.agent_id ?? ''}`;

/** Looks at answers and arguments by rules, at large ones apart. */
export const scanLargeApart = (
  level: HeuristicLevel,
  apart: ResponseScanner & RequestScanner,
): ResponseScanner & RequestScanner => ({
  scanResponse: async (response) =>
    response.response_body.length > LOOKED_AT_IN_PLACE ? apart.scanResponse(response) : scanResponse(response, level),
  scanRequest: async (request) =>
    request.request_body.length > LOOKED_AT_IN_PLACE ? apart.scanRequest(request) : scanArguments(request),
});
