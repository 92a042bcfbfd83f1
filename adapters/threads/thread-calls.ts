import type { MessagePort, Worker } from 'node:worker_threads';
import type { ErrorCodeName } from '../../contracts/error-codes.js';
import type { Json } from '../../contracts/json.js';
import { errorText, GateError } from '../../domain/errors.js';

/** One end of a connection between two threads: a port, a worker, or the port to the parent thread. */
export type Line = Pick<MessagePort | Worker, 'postMessage' | 'on'>;

/** A request: call the function at a path, read the next item of a stream, or end a stream. */
type Asked = { readonly id: number } & (
  | { readonly path: string; readonly args: readonly unknown[] }
  | { readonly next: number }
  | { readonly end: number }
);
type Said = { readonly id: number } & (
  | { readonly value: unknown }
  | { readonly item: unknown }
  | { readonly ended: true }
  | { readonly refused: Refused }
);
interface Refused {
  readonly code: ErrorCodeName | null;
  readonly message: string;
  readonly fields: Readonly<Record<string, Json>>;
}

/** Replaces a stream in an answer; the stream itself stays in its thread. */
interface StreamReference {
  readonly threadStream: number;
}
const isReference = (value: unknown): value is StreamReference =>
  typeof value === 'object' && value !== null && 'threadStream' in value;
const isStream = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
/** Whether a value is a plain object, whichever thread created it. */
const isPlain = (value: unknown): value is Record<string, unknown> => {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};
const mapped = (value: Record<string, unknown>, map: (part: unknown) => unknown): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).map(([name, part]) => [name, map(part)]));

/** Answers incoming calls with the functions of `target`, found by their path. */
export function answerCalls(line: Line, target: object): void {
  const streams = new Map<
    number,
    { readonly source: AsyncIterable<unknown>; readonly items: AsyncIterator<unknown> }
  >();
  let keys = 0;

  const kept = (value: unknown): unknown => {
    if (!isStream(value)) return value;
    streams.set((keys += 1), { source: value, items: value[Symbol.asyncIterator]() });
    return { threadStream: keys } satisfies StreamReference;
  };
  /** Keeps streams here when they are the value itself or one level below it. Everything else is copied. */
  const sendable = (value: unknown): unknown => (isPlain(value) ? mapped(value, kept) : kept(value));

  function functionAt(path: string): (...args: unknown[]) => unknown {
    const names = path.split('.');
    let [owner, found]: [unknown, unknown] = [null, target];
    for (const name of names) [owner, found] = [found, (found as Record<string, unknown> | undefined)?.[name]];
    if (typeof found !== 'function') throw new Error(`nothing answers ${path}`);
    return (found as (...args: unknown[]) => unknown).bind(owner);
  }

  async function end(key: number): Promise<void> {
    const stream = streams.get(key);
    streams.delete(key);
    await stream?.items.return?.();
    // Ending the iterator does not reach a stream that was never read, so destroy the stream itself.
    const destroy: unknown = stream && (stream.source as { destroy?: unknown }).destroy;
    if (typeof destroy === 'function') destroy.call(stream?.source);
  }

  async function answer(asked: Asked): Promise<Said> {
    const { id } = asked;
    if ('path' in asked) return { id, value: sendable(await functionAt(asked.path)(...asked.args)) };
    if ('end' in asked) {
      await end(asked.end);
      return { id, ended: true };
    }
    const { done, value } = (await streams.get(asked.next)?.items.next()) ?? { done: true, value: undefined };
    if (!done) return { id, item: value };
    streams.delete(asked.next);
    return { id, ended: true };
  }

  line.on('message', (asked: Asked) => {
    const refuse = (error: unknown) => line.postMessage({ id: asked.id, refused: refusedBy(error) } satisfies Said);
    // A value that cannot be copied to the other thread is refused like a thrown error.
    answer(asked)
      .then((said) => line.postMessage(said))
      .catch(refuse);
  });
}

const refusedBy = (error: unknown): Refused =>
  error instanceof GateError
    ? { code: error.code, message: error.message, fields: error.fields }
    : { code: null, message: errorText(error), fields: {} };

/** A stream whose items come from another thread. `return` ends it there, even before the first item, and never throws. */
export interface ThreadStream<Item> extends AsyncIterableIterator<Item> {
  return(): Promise<IteratorResult<Item>>;
}

/** Calls to the functions of another thread. */
export interface ThreadCalls {
  /** Calls the function in the other thread. A stream in the answer becomes a `ThreadStream`. Throws what the function threw. */
  call(path: string, ...args: readonly unknown[]): Promise<unknown>;
  /** Rejects all open and future calls. */
  refuseAll(error: Error): void;
}

export function callsOver(line: Line): ThreadCalls {
  const open = new Map<number, { resolve: (said: Said) => void; reject: (error: Error) => void }>();
  let ids = 0;
  let gone: Error | null = null;
  line.on('message', (said: Said) => {
    open.get(said.id)?.resolve(said);
    open.delete(said.id);
  });
  type Question = Asked extends infer One ? (One extends { id: number } ? Omit<One, 'id'> : never) : never;
  const ask = (question: Question): Promise<Said> =>
    new Promise<Said>((resolve, reject) => {
      if (gone) return reject(gone);
      const id = (ids += 1);
      line.postMessage({ id, ...question });
      open.set(id, { resolve, reject });
    }).then((said) => {
      if (!('refused' in said)) return said;
      const { code, message, fields } = said.refused;
      throw code === null ? new Error(message) : new GateError(code, message, { fields });
    });

  function streamAt(key: number): ThreadStream<unknown> {
    let over = false;
    const ended = { done: true, value: undefined } as const;
    return {
      [Symbol.asyncIterator]() {
        return this;
      },
      async next() {
        if (over) return ended;
        try {
          const said = await ask({ next: key });
          if ('item' in said) return { done: false, value: said.item };
          over = true;
          return ended;
        } catch (error) {
          over = true;
          throw error;
        }
      },
      async return() {
        // If the thread has ended, the stream has ended with it.
        if (!over) await ask({ end: key }).catch(() => undefined);
        over = true;
        return ended;
      },
    };
  }
  const received = (value: unknown): unknown => (isReference(value) ? streamAt(value.threadStream) : value);
  return {
    async call(path, ...args) {
      const said = await ask({ path, args });
      const value = 'value' in said ? said.value : undefined;
      return isPlain(value) && !isReference(value) ? mapped(value, received) : received(value);
    },
    refuseAll(error) {
      gone = error;
      for (const { reject } of open.values()) reject(error);
      open.clear();
    },
  };
}
