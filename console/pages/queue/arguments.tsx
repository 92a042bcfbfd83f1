import { BATCH_METHOD } from '../../../contracts/call-methods.js';
import type { Json } from '../../../contracts/json.js';
import type { PendingRequest } from '../../../contracts/review.js';
import { pathText } from '../../../domain/review/argument-path.js';
import { isInBatchCall } from '../../../domain/review/modification.js';
import { argumentsOf } from '../../../domain/review/since-last.js';
import { printable } from '../../../domain/printable.js';
import { shownJson } from '../../../domain/shown-json.js';
import { ForeignBlock } from '../../ui/parts.js';

/** How much an approver can read; a larger call is not approved here. */
const MOST_CHARACTERS = 100_000;
/** Values that are listed one by one; the JSON below has all. */
const MOST_LISTED = 40;
const LONG_VALUE = 160;

/** A value of the call, with the keys that lead to it. */
export interface Leaf {
  readonly path: readonly string[];
  readonly value: string | number | boolean | null;
  /** Whether an approver may put another value in its place: no key of a list leads to it. */
  readonly replaceable: boolean;
}

/** Every scalar of the arguments, in their order. */
export function leavesOf(value: Json, path: readonly string[] = [], replaceable = true): readonly Leaf[] {
  if (value === null || typeof value !== 'object')
    return [{ path, value, replaceable: replaceable && path.length > 0 }];
  if (Array.isArray(value)) return value.flatMap((item, at) => leavesOf(item, [...path, String(at)], false));
  return Object.entries(value).flatMap(([key, item]) => leavesOf(item, [...path, key], replaceable));
}

/** Every scalar of a call's arguments. Of a batch only the arguments of its calls may change, not their ids and tools. */
export function leavesIn({
  method,
  request_payload,
}: Pick<PendingRequest, 'method' | 'request_payload'>): readonly Leaf[] {
  const given = argumentsOf(request_payload);
  const leaves = leavesOf(given);
  if (method !== BATCH_METHOD) return leaves;
  const calls = (given as { readonly calls?: readonly { readonly arguments?: Json }[] } | null)?.calls ?? [];
  const replaceable = new Set(
    calls
      .flatMap(({ arguments: of = null }, at) => leavesOf(of, ['calls', String(at), 'arguments']))
      .flatMap((leaf) => (leaf.replaceable && isInBatchCall(leaf.path) ? [JSON.stringify(leaf.path)] : [])),
  );
  return leaves.map((leaf) => ({ ...leaf, replaceable: replaceable.has(JSON.stringify(leaf.path)) }));
}

/** The text that an approver reads, and whether it is all of the call. */
export function readable({ request_payload }: Pick<PendingRequest, 'request_payload'>): {
  readonly text: string;
  readonly isWhole: boolean;
} {
  const { text, isWhole } = shownJson(argumentsOf(request_payload), MOST_CHARACTERS);
  // What nobody sees becomes an escape of eight characters.
  const shown = printable(text);
  return isWhole && shown.length <= 2 * MOST_CHARACTERS
    ? { text, isWhole: true }
    : { text: text.slice(0, 25_000), isWhole: false };
}

/** What the call asks for: its values by name, then its JSON as a whole. */
export function Arguments({ row }: { readonly row: PendingRequest }) {
  const { text, isWhole } = readable(row);
  const leaves = isWhole ? leavesIn(row) : [];
  return (
    <section aria-labelledby="arguments">
      <h3 id="arguments">Arguments</h3>
      {leaves.length > 0 && leaves.length <= MOST_LISTED && (
        <table class="values">
          <tbody>
            {leaves.map(({ path, value }) => (
              <tr key={JSON.stringify(path)}>
                <th scope="row">
                  <bdi class="foreign">{printable(pathText(path))}</bdi>
                </th>
                <td>
                  <Value value={value} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {!isWhole && (
        <p class="notice bad" role="alert">
          Too large to be read here: cut, and not approved here. <code>npx gate pending {row.id} --json</code> has it
          whole.
        </p>
      )}
      <details open={leaves.length === 0 || leaves.length > MOST_LISTED}>
        <summary>As JSON</summary>
        <ForeignBlock text={text} label="Arguments as JSON" />
      </details>
    </section>
  );
}

/** A value; of a long text the beginning, and the rest on request. */
function Value({ value }: { readonly value: Leaf['value'] }) {
  if (typeof value !== 'string') return <code>{String(value)}</code>;
  const shown = printable(value);
  if (shown.length <= LONG_VALUE) return <span class="foreign text">{shown}</span>;
  return (
    <details>
      <summary>
        <span class="foreign text">{shown.slice(0, LONG_VALUE)}…</span>{' '}
        <span class="dim">{value.length} characters</span>
      </summary>
      <span class="foreign text">{shown}</span>
    </details>
  );
}

/** What the approver put in the place of what was asked for; the rest ran as it was asked. */
export const Changed = ({ row }: { readonly row: PendingRequest }) => (
  <section aria-labelledby="changed">
    <h3 id="changed">Changed by the approver</h3>
    <table class="values">
      <tbody>
        {row.modification_diff?.replacements.map(({ path, value }) => (
          <tr key={JSON.stringify(path)}>
            <th scope="row">
              <bdi class="foreign">{printable(pathText(path))}</bdi>
            </th>
            <td>
              <ins>
                <Value value={value} />
              </ins>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </section>
);
