import { MOST_BATCH_BYTES, MOST_CALL_BYTES, MOST_CALLS } from '../calls.js';
import { GateMalformedCall } from '../errors.js';
import { strictJson } from '../strict-json.js';
import type { ToolCall } from '../types.js';

export type Fields = Readonly<Record<string, unknown>>;

/** Members of what a provider sent; nothing is rested on but what is looked at. */
export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** The name of a call that nothing could be read of. */
export const UNEXTRACTABLE = '<unextractable>';

/** A call whose arguments are a text of JSON. An empty text is a call without arguments. */
export function callOfText(id: unknown, name: unknown, text: unknown): ToolCall {
  const toolName = textOf(name) ?? UNEXTRACTABLE;
  if (textOf(id) === undefined || textOf(name) === undefined || textOf(text) === undefined)
    throw new GateMalformedCall(toolName, 'a tool call has no id, no name or no arguments');
  const read = strictJson(text === '' ? '{}' : (text as string));
  if ('fault' in read)
    throw new GateMalformedCall(toolName, `arguments of ${toolName} cannot be judged: ${read.fault}`);
  return { id: id as string, name: name as string, input: read.value };
}

/** A call whose arguments the provider's client has read already. */
export function callOfValue(id: unknown, name: unknown, input: unknown): ToolCall {
  const toolName = textOf(name) ?? UNEXTRACTABLE;
  if (textOf(id) === undefined || textOf(name) === undefined || input === undefined)
    throw new GateMalformedCall(toolName, 'a tool call has no id, no name or no input');
  return { id: id as string, name: name as string, input };
}

/** A call of a tool that takes a text as it is. Gate judges objects: it is shown as the member `input`. */
export function callOfFreeText(id: unknown, name: unknown, text: unknown): ToolCall {
  return callOfValue(id, name, textOf(text) === undefined ? undefined : { input: text });
}

/** Texts of calls that arrive in pieces, within what Gate takes. */
export class Pieces<Key> {
  readonly #open = new Map<Key, { id: unknown; name: unknown; text: string }>();
  #total = 0;

  get size(): number {
    return this.#open.size;
  }

  has(key: Key): boolean {
    return this.#open.has(key);
  }

  begin(key: Key, id: unknown, name: unknown): void {
    if (this.#open.has(key)) throw new GateMalformedCall(textOf(name) ?? UNEXTRACTABLE, 'a tool call began twice');
    if (this.#open.size >= MOST_CALLS)
      throw new GateMalformedCall(textOf(name) ?? UNEXTRACTABLE, `more than ${MOST_CALLS} tool calls are open`);
    this.#open.set(key, { id, name, text: '' });
  }

  /** A later piece may leave id and name out, or say them again: one reader puts pieces together, another takes the last. */
  same(key: Key, id: unknown, name: unknown): void {
    const call = this.#open.get(key);
    const differs = (before: unknown, now: unknown): boolean =>
      now !== undefined && now !== null && now !== '' && now !== before;
    if (call !== undefined && (differs(call.id, id) || differs(call.name, name)))
      throw new GateMalformedCall(textOf(call.name) ?? UNEXTRACTABLE, 'a tool call goes on under another id or name');
  }

  add(key: Key, piece: unknown): void {
    const call = this.#open.get(key);
    if (call === undefined) throw new GateMalformedCall(UNEXTRACTABLE, 'arguments of a tool call that did not begin');
    if (typeof piece !== 'string') return;
    call.text += piece;
    this.#total += piece.length;
    if (call.text.length > MOST_CALL_BYTES || this.#total > MOST_BATCH_BYTES)
      throw new GateMalformedCall(
        textOf(call.name) ?? UNEXTRACTABLE,
        'the arguments have more than 1 MiB, or 4 MiB together',
      );
  }

  take(key: Key): { id: unknown; name: unknown; text: string } | undefined {
    const call = this.#open.get(key);
    this.#open.delete(key);
    return call;
  }

  end(): void {
    for (const { name } of this.#open.values())
      throw new GateMalformedCall(textOf(name) ?? UNEXTRACTABLE, 'the stream ended inside a tool call');
  }
}
