import type { InspectionResponse, InspectRequest } from '../../contracts/inspection.js';
import type { Persona } from '../../domain/inspection/personas.js';
import type { Inspector } from '../../domain/inspection/port.js';
import type { HeuristicLevel } from '../../domain/inspection/texts.js';

/** What a thread of inspection is started with. */
export interface InspectionThreadStart {
  readonly personas: readonly (readonly [string, Persona])[];
  readonly level: HeuristicLevel;
  readonly maskedParams: boolean;
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
