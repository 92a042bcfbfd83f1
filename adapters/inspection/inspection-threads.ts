import type { InspectionResponse, InspectRequest } from '../../contracts/inspection.js';
import { inspectLargeApart } from '../../domain/inspection/large-apart.js';
import { compiledScript, createThreads, type ThreadLimits } from '../threads/threads.js';
import type { Persona, Personas } from '../../domain/inspection/personas.js';
import type { ReadyInspector } from '../../domain/inspection/port.js';
import type { HeuristicLevel } from '../../domain/inspection/texts.js';
import type { InspectionThreadStart } from './inspection-thread.js';

export interface InspectionThreads extends Required<ReadyInspector> {
  /** Starts a thread in advance for the first large request. */
  warm(): void;
  /** Ends the threads; open requests are refused. */
  close(): Promise<void>;
}

export interface InspectionThreadOptions extends ThreadLimits {
  readonly personas: Personas;
  readonly level?: HeuristicLevel;
  /** What becomes of the verdict on a large request, which threads judge by rules alone. */
  readonly ofLarge?: (verdict: InspectionResponse) => InspectionResponse;
  readonly maskedParams?: boolean;
  /** The compiled inspection-thread.js. */
  readonly script?: URL;
}

/**
 * The same inspector, with large requests in separate threads (`inspectLargeApart`). Agents take turns at them. Fails closed with
 * `provider_unavailable` when a verdict takes longer than the limit (the thread is ended when it has worked for as long itself; the limit is
 * shorter while other agents wait), when too many requests wait, or when a thread ends. A refused request was not inspected, and asking again
 * is safe.
 */
export function inspectLargeInThreads(
  inPlace: ReadyInspector,
  { personas, level = 'standard', maskedParams = false, ofLarge, script, ...limits }: InspectionThreadOptions,
): InspectionThreads {
  const threads = createThreads<readonly InspectRequest[], readonly InspectionResponse[]>({
    work: 'inspection',
    code: 'provider_unavailable',
    script: script ?? compiledScript(new URL('./inspection-thread.js', import.meta.url)),
    material: () => ({ personas: entriesOf(personas), level, maskedParams }) satisfies InspectionThreadStart,
    ...limits,
  });
  return {
    ...inspectLargeApart(inPlace, (calls, agent) => threads.ask(calls, agent), ofLarge),
    warm: () => threads.warm(),
    close: () => threads.close(),
  };
}

/** Personas in a form that can be sent to a thread. */
const entriesOf = (personas: Personas): [string, Persona][] =>
  personas.names.flatMap((name) => {
    const [agent = '', tenant] = name.split('/').toReversed();
    const persona = personas.find(tenant, agent);
    return persona === null ? [] : [[name, persona] as [string, Persona]];
  });
