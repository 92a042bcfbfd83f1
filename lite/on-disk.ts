import type { LocalFile } from '../adapters/store/local-file.js';
import type { CallStore } from '../domain/call-record/ports.js';
import { GateError } from '../domain/errors.js';
import type { CallRunner } from '../domain/pipeline/call-runner.js';
import type { LiteMetrics } from './metrics.js';

export interface OnDiskOptions {
  readonly file: Pick<LocalFile, 'durable' | 'durableFromHere'>;
  readonly calls: Pick<CallStore, 'find'>;
  readonly queued: LiteMetrics['queued'];
}

/** What waits for the disk before it leaves the process, and what a call is told of which something was undone. */
export function createOnDisk({ file, calls, queued }: OnDiskOptions) {
  /** Answers of calls that stand although something else was undone while they ran: the wait for the disk that is left to each. */
  const answers = new Map<string, () => Promise<void>>();
  let undone: { readonly count: number; readonly why: GateError } | null = null;

  /** Of what follows from here: what one answer, by the id of its call, waits for. */
  function durableFromHere(): (correlationId: string) => Promise<void> {
    const onDisk = file.durableFromHere();
    return (correlationId) => {
      const answered = answers.get(correlationId);
      answers.delete(correlationId);
      return queued((answered ?? onDisk)());
    };
  }

  return {
    /** To be told when a transaction was undone, and why. */
    undone(why: GateError): void {
      undone = { count: (undone?.count ?? 0) + 1, why };
    },
    durableFromHere,
    /** Others are told only what is on disk. */
    told(tell: () => void): void {
      file.durable().then(tell, () => undefined);
    },
    /** A call of which something was undone is answered with the cause, not with the error that followed from it, nor with what was undone. */
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
          // What else was undone while its tool worked is nothing to this call.
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
