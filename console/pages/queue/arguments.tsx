import { BATCH_METHOD } from '../../../contracts/call-methods.js';
import type { Json, JsonObject } from '../../../contracts/json.js';
import type { PendingRequest } from '../../../contracts/review.js';
import { sha256Hex } from '../../../domain/crypto/digest.js';
import { pathText } from '../../../domain/decision/argument-path.js';
import { isInBatchCall } from '../../../domain/decision/modification.js';
import { argumentsOf } from '../../../domain/review/since-last.js';
import { printable } from '../../../domain/printable.js';
import { shownJson } from '../../../domain/shown-json.js';
import { Id, ShownBlock } from '../../ui/parts.js';

/** How much an approver can read; a larger call is not approved here. */
export const MOST_CHARACTERS = 100_000;
/** Values that are listed one by one; the JSON below has all. */
const MOST_LISTED = 40;
/** A longer text is folded, and the approval says so. */
const LONG_VALUE = 4_000;
const BEGINNING = 160;

export type Scalar = string | number | boolean | null;
/** A list or an object with nothing in it. */
type Hollow = readonly [] | Readonly<Record<string, never>>;

/** A value of the call that holds no other, with the keys that lead to it. */
export interface Leaf {
  readonly path: readonly string[];
  /** The path as it is read: places in a list in brackets, `to[0]`, apart from keys that are numbers. */
  readonly name: string;
  readonly value: Scalar | Hollow;
  /** Whether an approver may put another value in its place: a scalar, to which no key of a list leads. */
  readonly replaceable: boolean;
}

export const isScalar = (value: unknown): value is Scalar => value === null || typeof value !== 'object';

/** Everything that the arguments say, in canonical order, whatever order the agent chose: each scalar, and each list and object with nothing in it, which says something too. */
function leavesOf(
  value: Json,
  path: readonly string[] = [],
  { name, replaceable }: Pick<Leaf, 'name' | 'replaceable'> = { name: '', replaceable: true },
): readonly Leaf[] {
  // No key is written so without quotes.
  const leaf = { path, name: name || '(all)' };
  if (isScalar(value)) return [{ ...leaf, value, replaceable: replaceable && path.length > 0 }];
  if (Object.keys(value).length === 0) return [{ ...leaf, value: value as Hollow, replaceable: false }];
  if (Array.isArray(value))
    return value.flatMap((item, at) =>
      leavesOf(item, [...path, String(at)], { name: `${name}[${at}]`, replaceable: false }),
    );
  const object = value as Readonly<Record<string, Json>>;
  return Object.keys(object)
    .sort()
    .flatMap((key) =>
      leavesOf(object[key] as Json, [...path, key], {
        name: `${name}${name && '.'}${pathText([key])}`,
        replaceable,
      }),
    );
}

/** A text that could be read as another value, or as less than it is, stands in quotes; its lines stay lines, as in a mail that ends with one. */
export function valueText(value: Leaf['value']): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  if (!AMBIGUOUS.test(value) && value.trim() === value) return value;
  const lines = value.split('\n').map((line) => JSON.stringify(line).slice(1, -1));
  return `"${lines.join('\n')}"`;
}
const AMBIGUOUS = /^(?:|".*|true|false|null|\[\]|\{\}|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)$/s;

const argumentsIn = ({ params = null }: JsonObject): Json | undefined =>
  params !== null && typeof params === 'object' && !Array.isArray(params) ? params['arguments'] : undefined;

/** Whether a tool is called without arguments: the tool's name, which also stands in such a request, does not count. */
const hasNone = ({ method, request_payload }: Pick<PendingRequest, 'method' | 'request_payload'>): boolean =>
  method === 'tools/call' && argumentsIn(request_payload) === undefined;

/** The leaves of a call's arguments; none for a tool call without arguments. Only what stands among named arguments may change: of a batch, the arguments of its calls and not their ids and tools. */
export function leavesIn({
  method,
  request_payload,
}: Pick<PendingRequest, 'method' | 'request_payload'>): readonly Leaf[] {
  const given = argumentsOf(request_payload);
  if (hasNone({ method, request_payload })) return [];
  const leaves = leavesOf(given, [], { name: '', replaceable: argumentsIn(request_payload) !== undefined });
  if (method !== BATCH_METHOD) return leaves;
  const calls = (given as { readonly calls?: readonly { readonly arguments?: Json }[] } | null)?.calls ?? [];
  const replaceable = new Set(
    calls
      .flatMap(({ arguments: of = null }, at) => leavesOf(of, ['calls', String(at), 'arguments']))
      .flatMap((leaf) => (leaf.replaceable && isInBatchCall(leaf.path) ? [JSON.stringify(leaf.path)] : [])),
  );
  return leaves.map((leaf) => ({ ...leaf, replaceable: replaceable.has(JSON.stringify(leaf.path)) }));
}

interface Readable {
  /** As it is put on a page: what nobody sees is an escape. */
  readonly shown: string;
  readonly isWhole: boolean;
}

/** The text that an approver reads, of so many characters at most, and whether it is all of the call. */
export function readable(
  { request_payload }: Pick<PendingRequest, 'request_payload'>,
  most = MOST_CHARACTERS,
): Readable {
  const { text, isWhole } = shownJson(argumentsOf(request_payload), most);
  // What nobody sees becomes an escape of eight characters.
  const shown = isWhole ? printable(text) : '';
  return isWhole && shown.length <= 2 * most
    ? { shown, isWhole: true }
    : { shown: printable(text.slice(0, 25_000)), isWhole: false };
}

/** A text among the values that are listed, as it is put on a page. */
interface ShownText {
  readonly whole: string;
  readonly isFolded: boolean;
}
const shownText = (value: string): ShownText => {
  const whole = printable(value);
  return { whole, isFolded: whole.length > LONG_VALUE };
};

interface Listed extends Leaf {
  /** Of a text. */
  readonly shown?: ShownText;
}
interface Reading extends Readable {
  /** The values that are listed one by one: none where the JSON stands open instead. */
  readonly listed: readonly Listed[];
}
/** A page says several things of one call; its texts are gone through once for them all. */
const readings = new WeakMap<JsonObject, Reading>();
export function readingOf(row: Pick<PendingRequest, 'method' | 'request_payload'>): Reading {
  let reading = readings.get(row.request_payload);
  if (reading === undefined) {
    const read = readable(row);
    const leaves = read.isWhole ? leavesIn(row) : [];
    const listed = leaves.length <= MOST_LISTED ? leaves : [];
    reading = {
      ...read,
      listed: listed.map((leaf) => (typeof leaf.value === 'string' ? { ...leaf, shown: shownText(leaf.value) } : leaf)),
    };
    readings.set(row.request_payload, reading);
  }
  return reading;
}

/** How many values the page shows the beginning of, until somebody opens them. */
export const foldedIn = (row: PendingRequest): number =>
  readingOf(row).listed.filter(({ shown }) => shown?.isFolded).length;

/** What the call asks for: its values by name, then its JSON as a whole. */
export function Arguments({ row }: { readonly row: PendingRequest }) {
  const { shown: text, isWhole, listed: leaves } = readingOf(row);
  return (
    <section class="arguments" aria-labelledby="arguments">
      <h3 id="arguments">Arguments</h3>
      {leaves.length > 0 && (
        <table class="values">
          <tbody>
            {leaves.map(({ path, name, value, shown }) => (
              <tr key={JSON.stringify(path)}>
                <th scope="row">
                  <bdi class="foreign">{printable(name)}</bdi>
                </th>
                <td>
                  <Value value={value} shown={shown} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {!isWhole && (
        <p class="notice bad" role="alert">
          Too large to be read here: cut, and not approved here.{' '}
          <code data-copy={`npx gate pending ${row.id} --json`}>npx gate pending {row.id} --json</code> has it whole.
        </p>
      )}
      {hasNone(row) ? (
        <p class="dim">It has none.</p>
      ) : (
        <details open={leaves.length === 0} data-only-here={leaves.length === 0 ? '' : undefined}>
          <summary>As JSON</summary>
          <ShownBlock shown={text} label="Arguments as JSON" />
        </details>
      )}
      <div data-arguments-end />
    </section>
  );
}

/** A value; of a very long text the beginning with its length and digest, and the rest on request. */
function Value({ value, shown }: { readonly value: Leaf['value']; readonly shown?: ShownText | undefined }) {
  if (typeof value !== 'string') return <code>{JSON.stringify(value)}</code>;
  const { whole, isFolded } = shown ?? shownText(value);
  if (!isFolded) {
    const text = valueText(value);
    return <span class="foreign text">{text === value ? whole : printable(text)}</span>;
  }
  return (
    <>
      <details>
        <summary>
          <span class="foreign text">{printable(value.slice(0, BEGINNING))}…</span>{' '}
          <span class="dim">folded: {value.length} characters</span>
        </summary>
        <span class="foreign text">{whole}</span>
      </details>
      {/* Beside what is pressed to unfold it, as it is pressed to copy it. */}
      <span class="dim">
        SHA-256 of its UTF-8 <Id id={sha256Hex(value)} />
      </span>
    </>
  );
}

/** What the approver put in the place of what was asked for; the rest ran as it was asked. */
export function Changed({ row }: { readonly row: PendingRequest }) {
  const names = new Map(leavesIn(row).map(({ path, name }) => [JSON.stringify(path), name]));
  return (
    <section aria-labelledby="changed">
      <h3 id="changed">Changed by the approver</h3>
      <table class="values">
        <tbody>
          {row.modification_diff?.replacements.map(({ path, value }) => (
            <tr key={JSON.stringify(path)}>
              <th scope="row">
                <bdi class="foreign">{printable(names.get(JSON.stringify(path)) ?? pathText(path))}</bdi>
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
}
