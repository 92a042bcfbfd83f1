import type { LocalFile } from '../adapters/store/local-file.js';
import type { CallStore } from '../domain/call/ports.js';
import { GateError } from '../domain/errors.js';
import type { CallRunner } from '../domain/call/call-runner.js';
import type { LiteMetrics } from './metrics.js';

export interface OnDiskOptions {
  readonly file: Pick<LocalFile, 'durable' | 'durableFromHere'>;
  readonly calls: Pick<CallStore, 'find'>;
  readonly queued: LiteMetrics['queued'];
}

/** Holds answers back until they are on disk, and decides what a call is told whose writes were undone. */
export function createOnDisk({ file, calls, queued }: OnDiskOptions) {
  /** For answers that stand although something else was undone meanwhile: the wait for the disk that each still needs. */
  const answers = new Map<string, () => Promise<void>>();
  let undone: { readonly count: number; readonly why: GateError } | null = null;

  /** Returns the wait for an answer, by the id of its call. */
  function durableFromHere(): (correlationId: string) => Promise<void> {
    const onDisk = file.durableFromHere();
    return (correlationId) => {
      const answered = answers.get(correlationId);
      answers.delete(correlationId);
      return queued((answered ?? onDisk)());
    };
  }

  return {
    /** Called when a transaction was undone, with the reason. */
    undone(why: GateError): void {
      undone = { count: (undone?.count ?? 0) + 1, why };
    },
    durableFromHere,
    /** Runs the function once everything so far is on disk. */
    told(tell: () => void): void {
      file.durable().then(tell, () => undefined);
    },
    /** A call whose writes were undone is answered with the cause, not with an error that followed from it or with an undone result. */
    starting: (runner: Pick<CallRunner, 'start'>): Pick<CallRunner, 'start'> => ({
      async start(...asked) {
        const before = undone?.count ?? 0;
        const undoneMeanwhile = () => (undone && undone.count > before ? undone.why : null);
        try {
          const summary = await runner.start(...asked);
          const onDisk = file.durableFromHere();
          const why = undoneMeanwhile();
          const { correlation_id: id } = asked[0];
          const stands = why && (await calls.find(id));
          if (why && (!stands || stands.state !== summary?.state || stands.version !== summary.version)) throw why;
          // An undo of other transactions while its tool ran does not concern this call.
          if (why) answers.set(id, onDisk);
          return summary;
        } catch (error) {
          throw undoneMeanwhile() ?? error;
        }
      },
    }),
  };
}
export type OnDisk = ReturnType<typeof createOnDisk>;
