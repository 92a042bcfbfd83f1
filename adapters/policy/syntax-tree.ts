import { z } from 'zod';
import { errorText } from '../../domain/errors.js';
import { ADDED_PACKAGE, EVERY_RULE, type FirstRead, type RuleNames } from '../../domain/policy/compiler.js';

/** A place in a text; both begin with 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** What a syntax tree says, as `opa parse` writes it in JSON with the places. */
export interface ReadTree extends RuleNames {
  /** `gate.authz`, where its name stands. */
  readonly package: Place & { readonly name: string };
  /** Rules by the first part of their name, each where it stands; `value` where it is no set that others add to. */
  readonly heads: readonly (Place & { readonly name: string; readonly value: boolean })[];
  /** The first note that names schemas. */
  readonly schemas: Place | null;
  /** Behind `data.gate`. */
  readonly reads: readonly FirstRead[];
  /** Behind `input`. */
  readonly inputs: readonly FirstRead[];
}
export type TreeRead = ReadTree | { readonly unreadable: string };

const location = z.object({ row: z.int(), col: z.int() });
const term = z.object({ value: z.unknown(), location: location.optional() });
const tree = z.object({
  annotations: z.array(z.object({ schemas: z.array(z.unknown()).default([]), location })).default([]),
  package: z.object({ path: z.array(term) }),
  rules: z
    .array(
      z.object({
        head: z.object({
          ref: z.array(term).min(1),
          key: z.unknown().optional(),
          value: z.unknown().optional(),
          location,
        }),
      }),
    )
    .default([]),
});
const text = z.object({ type: z.literal('string'), value: z.string(), location });
const dataOfGate = z.object({
  type: z.literal('ref'),
  value: z.tuple(
    [
      z.object({ type: z.literal('var'), value: z.literal('data') }),
      z.object({ type: z.literal('string'), value: z.literal('gate') }),
      text,
    ],
    z.unknown(),
  ),
});
const inputOfCall = z.object({
  type: z.literal('ref'),
  value: z.tuple([z.object({ type: z.literal('var'), value: z.literal('input') }), text], z.unknown()),
});
const references = z.object({ value: z.array(z.object({ type: z.string(), value: z.unknown() })) });

export function readTree(json: string): TreeRead {
  try {
    const parsed: unknown = JSON.parse(json);
    const { annotations, package: of, rules } = tree.parse(parsed);
    const placed = (at: z.infer<typeof location> | undefined): Place => ({ line: at?.row ?? 1, column: at?.col ?? 1 });
    const schemas = annotations.find(({ schemas: named }) => named.length > 0);
    const heads = rules.map(({ head: { ref, key, value, location: at } }) => ({
      name: String(ref[0]?.value),
      value: key === undefined || value !== undefined,
      ...placed(at),
    }));
    return {
      package: {
        // The first part is `data`, which every package has.
        name: of.path
          .slice(1)
          .map(({ value }) => String(value))
          .join('.'),
        ...placed(of.path.at(-1)?.location),
      },
      heads,
      schemas: schemas ? placed(schemas.location) : null,
      rules: rules.map(({ head: { ref, location: at } }) => ({
        name: ref.map(({ value }) => String(value)).join('.'),
        line: at.row,
      })),
      ...readsIn(parsed),
    };
  } catch (error) {
    return { unreadable: `the syntax tree cannot be read: ${errorText(error).slice(0, 200)}` };
  }
}

/** Every name that stands in a tree, but for those that its rules themselves have. */
function readsIn(parsed: unknown): Pick<ReadTree, 'reads' | 'inputs' | 'names'> {
  const reads = new Map<string, number>();
  const inputs = new Map<string, number>();
  const names = new Set<string>();
  const note = (first: Map<string, number>, name: string, row: number) =>
    void first.set(name, Math.min(row, first.get(name) ?? row));
  const open: unknown[] = [parsed];
  while (open.length > 0) {
    const one = open.pop();
    if (typeof one !== 'object' || one === null) continue;
    if ('type' in one && one.type === 'ref') {
      const [data, input] = [dataOfGate.safeParse(one), inputOfCall.safeParse(one)];
      if (data.success) note(reads, data.data.value[2].value, data.data.value[2].location.row);
      if (input.success) note(inputs, input.data.value[1].value, input.data.value[1].location.row);
      else for (const name of namesIn(one)) names.add(name);
    } else if ('type' in one && one.type === 'var' && 'value' in one) names.add(String(one.value));
    for (const [key, part] of Object.entries(one)) open.push(key === 'head' ? withoutName(part) : part);
  }
  const inOrder = (first: ReadonlyMap<string, number>) =>
    [...first].map(([name, line]) => ({ name, line })).toSorted((one, other) => one.line - other.line);
  return { reads: inOrder(reads), inputs: inOrder(inputs), names: [...names] };
}

/** The names in a reference; of the package itself, or of it with what is only known when it is judged, every rule. */
function namesIn(reference: object): readonly string[] {
  const parts = references.safeParse(reference);
  if (!parts.success) return [];
  const names = parts.data.value.flatMap(({ type, value }) => (type === 'string' ? [String(value)] : []));
  const whole = parts.data.value
    .slice(0, 4)
    .map(({ type, value }) => (type === 'var' || type === 'string' ? value : ''));
  const [data, ...path] = whole;
  const [, , , rule] = parts.data.value;
  const isPackage = data === 'data' && path.slice(0, 2).join('.') === ADDED_PACKAGE;
  return isPackage && rule?.type !== 'string' ? [...names, EVERY_RULE] : names;
}

/** The name of a rule stands in its head, which is no use of it. */
function withoutName(head: unknown): unknown {
  if (typeof head !== 'object' || head === null || !('ref' in head) || !Array.isArray(head.ref)) return head;
  return { ...head, ref: head.ref.slice(1) };
}
