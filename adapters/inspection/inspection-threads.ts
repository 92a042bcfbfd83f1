import type { InspectionResponse, InspectRequest } from '../../contracts/inspection.js';
import { LOOKED_AT_IN_PLACE, sizeOf } from '../../domain/large.js';
import { compiledScript, createThreads, type ThreadLimits } from '../threads/threads.js';
import type { Persona, Personas } from '../../domain/inspection/personas.js';
import type { ReadyInspector } from '../../domain/inspection/port.js';
import type { HeuristicLevel } from '../../domain/inspection/texts.js';
import { inspectEach, type InspectionThreadStart } from './inspection-work.js';

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

/** Of the calls of one batch where models are asked: a provider takes few questions at once, and each call has up to three. */
const WITH_MODELS_AT_ONCE = 8;

/**
 * The same inspector, with large requests in separate threads. Inspecting a megabyte then delays nobody else, however many calls it is
 * divided into, and agents take turns. Fails closed with `provider_unavailable` when a verdict takes longer than the limit (the thread
 * is ended when it has worked for as long itself; the limit is shorter while other agents wait), when too many requests wait, or when a thread ends. A refused request was not
 * inspected, and asking again is safe.
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
  const inspectAll = async (calls: readonly InspectRequest[]) => {
    if (!isLarge(calls)) return inspectEach(inPlace, calls, ofLarge && WITH_MODELS_AT_ONCE);
    const verdicts = await threads.ask(calls, agentOf(calls));
    return ofLarge === undefined ? verdicts : verdicts.map(ofLarge);
  };
  return {
    inspectAll,
    inspect: async (call) => (await inspectAll([call]))[0] as InspectionResponse,
    ready: () => inPlace.ready(),
    snapshot: () => inPlace.snapshot(),
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
