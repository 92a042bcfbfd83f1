import { parseSync } from '@swc/core';

/** A file of the product. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

/** A node of a syntax tree, as SWC makes it. */
export interface Node {
  readonly type: string;
  readonly [part: string]: unknown;
}

const isNode = (value: unknown): value is Node =>
  value !== null && typeof value === 'object' && typeof (value as { type?: unknown }).type === 'string';
export const nodeAt = (node: Node | null | undefined, ...path: readonly string[]): Node | null => {
  let at: unknown = node;
  for (const part of path) at = isNode(at) ? at[part] : null;
  return isNode(at) ? at : null;
};
export const nodesAt = (node: Node | null | undefined, part: string): readonly Node[] => {
  const list = node?.[part];
  return Array.isArray(list) ? list.flatMap((one: unknown) => nodeOf(one) ?? []) : [];
};
/** Arguments and array elements are wrapped in an object. */
const nodeOf = (one: unknown): Node | null => {
  if (isNode(one)) return one;
  const inner = one !== null && typeof one === 'object' ? (one as { expression?: unknown }).expression : null;
  return isNode(inner) ? inner : null;
};

const trees = new Map<string, Node>();
/** The syntax tree of a text. Throws where it is no TypeScript. */
export function treeOf({ text }: Source): Node {
  const known = trees.get(text);
  if (known) return known;
  const tree = parsed(text) as unknown as Node;
  trees.set(text, tree);
  return tree;
}

/** Called for each node; `true` skips its children. `parents` goes from the file to the nearest parent. */
export type Visit = (node: Node, parents: readonly Node[]) => boolean | void;

/** Parts of a node that do not exist at run time, and where it stands. */
const NOT_AT_RUN_TIME = new Set([
  'typeAnnotation',
  'typeParams',
  'typeArguments',
  'typeParameters',
  'returnType',
  'superTypeParams',
  'implements',
  'span',
  'decorators',
]);
const TYPES_ALONE = new Set(['TsInterfaceDeclaration', 'TsTypeAliasDeclaration', 'TsModuleDeclaration']);

/** Visits every node that exists at run time, so no types. */
export function walk(node: Node, visit: Visit, parents: readonly Node[] = []): void {
  if (TYPES_ALONE.has(node.type) || visit(node, parents) === true) return;
  const around = [...parents, node];
  const go = (value: unknown): void => {
    if (value === null || typeof value !== 'object') return;
    if (Array.isArray(value)) for (const one of value) go(one);
    else if (isNode(value)) walk(value, visit, around);
    else for (const part in value) go((value as Record<string, unknown>)[part]);
  };
  for (const part in node) if (!NOT_AT_RUN_TIME.has(part)) go(node[part]);
}

export interface Place {
  readonly node: Node;
  readonly parents: readonly Node[];
}

const places = new WeakMap<Node, Map<string, Place[]>>();
/** All nodes of a kind that exist at run time; a tree is walked once for all kinds. */
export function found(tree: Node, type: string): readonly Place[] {
  let known = places.get(tree);
  if (!known) {
    const list = new Map<string, Place[]>();
    walk(tree, (node, parents) => {
      const same = list.get(node.type);
      if (same) same.push({ node, parents });
      else list.set(node.type, [{ node, parents }]);
    });
    places.set(tree, (known = list));
  }
  return known.get(type) ?? [];
}

/** The name of an identifier, member or text; `c` for `a.b.c`. */
export function nameOf(node: Node | null | undefined): string | null {
  if (!node) return null;
  if (node.type === 'Identifier' || node.type === 'StringLiteral') return node['value'] as string;
  if (node.type === 'MemberExpression') return nameOf(nodeAt(node, 'property'));
  if (node.type === 'Computed') return nameOf(nodeAt(node, 'expression'));
  if (node.type === 'OptionalChainingExpression') return nameOf(nodeAt(node, 'base'));
  return null;
}

const WRAPPED = new Set([
  'ParenthesisExpression',
  'TsAsExpression',
  'TsSatisfiesExpression',
  'TsConstAssertion',
  'TsNonNullExpression',
]);
/** The expression without brackets and type assertions. */
export function bare(node: Node): Node {
  const inner = WRAPPED.has(node.type) ? nodeAt(node, 'expression') : null;
  return inner ? bare(inner) : node;
}

/** A text with elements of JSX is no plain TypeScript, and some plain TypeScript is none beside JSX. */
function parsed(text: string) {
  try {
    return parseSync(text, { syntax: 'typescript', target: 'es2022' });
  } catch {
    return parseSync(text, { syntax: 'typescript', tsx: true, target: 'es2022' });
  }
}
