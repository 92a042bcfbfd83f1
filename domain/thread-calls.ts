import { Readable } from 'node:stream';
import type { MessagePort, Worker } from 'node:worker_threads';
import type { ErrorCodeName } from '../contracts/error-codes.js';
import type { Json } from '../contracts/json.js';
import { errorText, GateError } from './errors.js';

/** One end of a line between two threads: a port, a worker, or the port to the thread that began this one. */
export type Line = Pick<MessagePort | Worker, 'postMessage' | 'on'>;

/** What is asked: a function by its path, the next item of a stream, or the end of one. */
type Asked = { readonly id: number } & (
  | { readonly path: readonly (string | number)[]; readonly args: readonly unknown[] }
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

/** Stands in an answer for what cannot be sent: a stream, or a function of the answer. */
interface Reference {
  readonly threadReference: 'stream' | 'function';
  readonly key: number;
}
const isReference = (value: unknown): value is Reference =>
  typeof value === 'object' && value !== null && 'threadReference' in value;
const isStream = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
/** An object written as `{…}`, whichever thread it was made in. */
const isPlain = (value: unknown): value is Record<string, unknown> => {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};

/** Answers calls that come over a line with the functions of `target`, found by their path in it. */
export function answerCalls(line: Line, target: object): void {
  const streams = new Map<number, AsyncIterator<unknown>>();
  const functions = new Map<number, (...args: unknown[]) => unknown>();
  let keys = 0;

  /** Streams and functions stay here, as the value itself or one level below it; everything else is copied. */
  function sendable(value: unknown): unknown {
    if (isStream(value)) {
      streams.set((keys += 1), value[Symbol.asyncIterator]());
      return { threadReference: 'stream', key: keys } satisfies Reference;
    }
    if (typeof value === 'function') {
      functions.set((keys += 1), value as (...args: unknown[]) => unknown);
      return { threadReference: 'function', key: keys } satisfies Reference;
    }
    if (!isPlain(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, part]) => [
        name,
        isStream(part) || typeof part === 'function' ? sendable(part) : part,
      ]),
    );
  }

  function functionAt(path: readonly (string | number)[]): (...args: unknown[]) => unknown {
    const [first, ...rest] = path;
    if (typeof first === 'number') {
      const found = functions.get(first);
      if (found) return found;
      throw new Error('no such function any more');
    }
    let owner: unknown = target;
    for (const name of path.slice(0, -1)) owner = (owner as Record<string, unknown>)[name];
    const found = (owner as Record<string, unknown>)[rest.at(-1) ?? (first as string)];
    if (typeof found !== 'function') throw new Error(`nothing answers ${path.join('.')}`);
    return (found as (...args: unknown[]) => unknown).bind(owner);
  }

  async function answer(asked: Asked): Promise<Said> {
    const { id } = asked;
    if ('path' in asked) return { id, value: sendable(await functionAt(asked.path)(...asked.args)) };
    if ('end' in asked) {
      const stream = streams.get(asked.end);
      streams.delete(asked.end);
      await stream?.return?.();
      return { id, ended: true };
    }
    const { done, value } = (await streams.get(asked.next)?.next()) ?? { done: true, value: undefined };
    if (!done) return { id, item: value };
    streams.delete(asked.next);
    return { id, ended: true };
  }

  line.on('message', (asked: Asked) => {
    void answer(asked)
      .catch((error: unknown): Said => ({ id: asked.id, refused: refusedBy(error) }))
      .then((said) => line.postMessage(said));
  });
}

const refusedBy = (error: unknown): Refused =>
  error instanceof GateError
    ? { code: error.code, message: error.message, fields: error.fields }
    : { code: null, message: errorText(error), fields: {} };

/** Calls over a line. */
export interface ThreadCalls {
  /** Calls the function there; a stream of the answer is read as it is asked for. Throws what the function threw. */
  call(path: string, ...args: readonly unknown[]): Promise<unknown>;
  /** What was asked and is asked from now on is refused. */
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
      open.set(id, { resolve, reject });
      line.postMessage({ id, ...question });
    }).then((said) => {
      if (!('refused' in said)) return said;
      const { code, message, fields } = said.refused;
      throw code === null ? new Error(message) : new GateError(code, message, { fields });
    });

  async function* items(key: number): AsyncGenerator<unknown> {
    let over = false;
    try {
      for (;;) {
        const said = await ask({ next: key });
        over = !('item' in said);
        if (!('item' in said)) return;
        yield said.item;
      }
    } catch (error) {
      over = true;
      throw error;
    } finally {
      if (!over) await ask({ end: key });
    }
  }
  const asked = async (path: readonly (string | number)[], args: readonly unknown[]): Promise<unknown> => {
    const said = await ask({ path, args });
    return 'value' in said ? received(said.value) : undefined;
  };
  const received = (value: unknown): unknown => {
    if (isReference(value))
      return value.threadReference === 'stream' ? items(value.key) : (...args: unknown[]) => asked([value.key], args);
    if (!isPlain(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, part]) => [name, isReference(part) ? received(part) : part]),
    );
  };
  return {
    call: (path, ...args) => asked(path.split('.'), args),
    refuseAll(error) {
      gone = error;
      for (const { reject } of open.values()) reject(error);
      open.clear();
    },
  };
}

/** A stream whose beginning is still being asked for. */
export async function* streamOf<Item>(coming: Promise<unknown>): AsyncGenerator<Item> {
  yield* (await coming) as AsyncIterable<Item>;
}

/** The same as bytes to send. */
export const bytesOf = (coming: Promise<unknown>): Readable =>
  Readable.from(streamOf<Uint8Array>(coming), { objectMode: false });
