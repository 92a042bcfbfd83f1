import type { InspectionResponse, InspectRequest } from '../../contracts/inspection.js';
import { LOOKED_AT_IN_PLACE, sizeOf } from '../../domain/large.js';
import { compiledScript, createThreads, type ThreadLimits } from '../threads/threads.js';
import type { Persona, Personas } from '../../domain/inspection/personas.js';
import type { Inspector, ReadyInspector } from '../../domain/inspection/port.js';
import type { HeuristicLevel } from '../../domain/inspection/texts.js';

export interface InspectionThreads extends Required<ReadyInspector> {
  /** Starts a thread in advance for the first large request. */
  warm(): void;
  /** Ends the threads; open requests are refused. */
  close(): Promise<void>;
}

export interface InspectionThreadOptions extends ThreadLimits {
  readonly personas: Personas;
  readonly level?: HeuristicLevel;
  /** The compiled inspection-thread.js. */
  readonly script?: URL;
}

/** What a thread is started with. */
export interface ThreadStart {
  readonly personas: readonly (readonly [string, Persona])[];
  readonly level: HeuristicLevel;
}

/** Inspects each call of one request by itself. */
export const inspectEach = (
  inspector: Inspector,
  calls: readonly InspectRequest[],
): Promise<readonly InspectionResponse[]> => Promise.all(calls.map((call) => inspector.inspect(call)));

/**
 * The same inspector, with large requests in separate threads. Inspecting a megabyte then delays nobody else, however many calls it is
 * divided into, and agents take turns. Fails closed with `provider_unavailable` when a verdict takes longer than the limit (the thread is
 * then ended; the limit is shorter while other agents wait), when too many requests wait, or when a thread ends. A refused request was not
 * inspected, and asking again is safe.
 */
export function inspectLargeInThreads(
  inPlace: ReadyInspector,
  { personas, level = 'standard', script, ...limits }: InspectionThreadOptions,
): InspectionThreads {
  const threads = createThreads<readonly InspectRequest[], readonly InspectionResponse[]>({
    work: 'inspection',
    code: 'provider_unavailable',
    script: script ?? compiledScript(new URL('./inspection-thread.js', import.meta.url)),
    material: { personas: entriesOf(personas), level } satisfies ThreadStart,
    ...limits,
  });
  const inspectAll = (calls: readonly InspectRequest[]) =>
    isLarge(calls) ? threads.ask(calls, agentOf(calls)) : inspectEach(inPlace, calls);
  return {
    inspectAll,
    inspect: async (call) => (await inspectAll([call]))[0] as InspectionResponse,
    ready: () => inPlace.ready(),
    warm: () => threads.warm(),
    close: () => threads.close(),
  };
}

/** Whether the calls of a request together are too large to inspect in place. */
export const isLarge = (calls: readonly Pick<InspectRequest, 'method' | 'params'>[]): boolean =>
  sizeOf(calls.map(({ method, params }) => [method, params])) > LOOKED_AT_IN_PLACE;

/** The agent of a request; all its calls have the same one. */
const agentOf = ([call]: readonly InspectRequest[]): string => `${call?.tenant ?? ''}/${call?.agent_id ?? ''}`;

/** Personas in a form that can be sent to a thread. */
const entriesOf = (personas: Personas): [string, Persona][] =>
  personas.names.flatMap((name) => {
    const [agent = '', tenant] = name.split('/').toReversed();
    const persona = personas.find(tenant, agent);
    return persona === null ? [] : [[name, persona] as [string, Persona]];
  });
