import { EVENT_KINDS } from '../contracts/event-kinds.js';
import { bare, found, nameOf, type Node, nodeAt, nodesAt, type Source, treeOf } from './syntax.js';

/** The position of a text or value in the syntax tree. */
type Use = 'read' | 'written';
const COMPARES = new Set(['===', '!==', '==', '!=']);
/** Calls that search for a text. */
const LOOKS = new Set(['startsWith', 'endsWith', 'includes', 'has', 'get', 'indexOf']);
const SEEN_THROUGH = /^(?:ParenthesisExpression|Ts.*|UnaryExpression)$/;

/** Whether the text here is searched for or written. Readers compare it, list it or look it up; writers pass it on. */
function useOf(node: Node, parents: readonly Node[]): Use {
  let inner = node;
  for (const parent of parents.toReversed()) {
    if (parent.type === 'BinaryExpression' && COMPARES.has(parent['operator'] as string)) return 'read';
    if (parent.type === 'SwitchCase' && nodeAt(parent, 'test') === inner) return 'read';
    if (parent.type === 'KeyValueProperty' && nodeAt(parent, 'key') === inner) return 'read';
    if (parent.type === 'CallExpression' || parent.type === 'NewExpression')
      return LOOKS.has(nameOf(nodeAt(parent, 'callee')) ?? '') ? 'read' : 'written';
    // A list of texts is for lookups; a list of objects or rows is not.
    if (parent.type === 'ArrayExpression') return 'read';
    if (!SEEN_THROUGH.test(parent.type)) return 'written';
    inner = parent;
  }
  return 'written';
}

interface Text {
  readonly text: string;
  readonly node: Node;
  readonly parents: readonly Node[];
}
const textsIn = (tree: Node): readonly Text[] =>
  found(tree, 'StringLiteral').map((one) => ({ ...one, text: one.node['value'] as string }));

/** Event kinds that a row may have: those that are passed on as a text, or composed, as in `hil.${status}`. */
export function writtenKinds(sources: readonly Source[]): ReadonlySet<string> {
  const written = new Set<string>();
  for (const source of sources) {
    const tree = treeOf(source);
    const texts = textsIn(tree);
    for (const { text, node, parents } of texts) if (useOf(node, parents) === 'written') written.add(text);
    for (const { node } of found(tree, 'TemplateLiteral')) {
      const start = nodesAt(node, 'quasis')[0]?.['raw'];
      if (typeof start === 'string' && /^[a-z_]+\.$/.test(start))
        for (const { text } of texts) written.add(`${start}${text}`);
    }
  }
  return written;
}

const KNOWN: ReadonlySet<string> = new Set(EVENT_KINDS);
/** Whether a file reads rows of every kind. */
const isEvidence = (path: string): boolean => /^(?:adapters|domain)\/evidence\//.test(path);
/** `agent.registered`, and where rows are read also `agent_silent`. A text without a dot or underscore may be anything. */
const looksLikeKind = (text: string, path: string): boolean =>
  KNOWN.has(text) || (isEvidence(path) ? /^[a-z]+(?:[._][a-z]+)+$/ : /^[a-z_]+\.[a-z_]+$/).test(text);
const isCalled = (name: RegExp, node: Node | null): boolean => name.test((node && nameOf(bare(node))) ?? '');
/** `fact.kind`, `row.event_kind`: the kind of a row is compared. */
const isKind = (node: Node | null): boolean => isCalled(/(?:^|_)kind$/i, node);
/** The kind of something that is certainly a row; other things have kinds and such names too. */
const isKindOfRow = (node: Node | null): boolean => {
  const value = node && bare(node);
  const isRows = value?.type === 'MemberExpression' && isCalled(/^(?:fact|row|entry)$/, nodeAt(value, 'object'));
  return isKind(value) && (isRows || value?.type === 'Identifier');
};
const isCompared = (around: Node | undefined, is: (node: Node | null) => boolean): boolean =>
  around?.type === 'BinaryExpression' &&
  COMPARES.has(around['operator'] as string) &&
  (is(nodeAt(around, 'left')) || is(nodeAt(around, 'right')));
const standsIn = (parents: readonly Node[]): Node | undefined =>
  parents.findLast(({ type }) => !SEEN_THROUGH.test(type));

/** Event kinds that code searches for, with the file. */
export function readKinds(sources: readonly Source[]): ReadonlyMap<string, string> {
  const read = new Map<string, string>();
  for (const source of sources)
    for (const { text, parents } of textsIn(treeOf(source))) {
      if (!looksLikeKind(text, source.path)) continue;
      const around = standsIn(parents);
      const chosen =
        around?.type === 'SwitchCase' &&
        isKind(
          nodeAt(
            parents.findLast(({ type }) => type === 'SwitchStatement'),
            'discriminant',
          ),
        );
      const listed =
        around?.type === 'ArrayExpression' &&
        nodesAt(around, 'elements').some((one) => KNOWN.has(nameOf(bare(one)) ?? ''));
      const compared = isCompared(around, text.includes('.') ? isKind : isKindOfRow);
      if (compared || chosen || listed) read.set(text, source.path);
    }
  return read;
}

/** Signals that code searches for by name. */
export function readSignals(sources: readonly Source[]): ReadonlyMap<string, string> {
  const read = new Map<string, string>();
  for (const source of sources.filter(({ path }) => isEvidence(path)))
    for (const { text, parents } of textsIn(treeOf(source)))
      if (isCompared(standsIn(parents), (node) => isCalled(/(?:^|_)signal$/i, node))) read.set(text, source.path);
  return read;
}

/** The signals that rows may carry: the values of `signal`, also through a parameter or constant whose type lists them. */
export function writtenSignals(sources: readonly Source[]): ReadonlySet<string> {
  const written = new Set<string>();
  const elsewhere = new Map(sources.flatMap((source) => [...aliasesIn(treeOf(source))]));
  for (const source of sources) {
    const tree = treeOf(source);
    const names = new Set<string>();
    for (const { node } of found(tree, 'KeyValueProperty')) {
      const value = nameOf(nodeAt(node, 'key')) === 'signal' ? nodeAt(node, 'value') : null;
      if (value?.type === 'Identifier') names.add(nameOf(value) ?? '');
      // Itself, or one of several.
      else if (value !== null && ['StringLiteral', 'BinaryExpression', 'ConditionalExpression'].includes(value.type))
        everything(value, (one) => {
          if (one.type === 'StringLiteral') written.add(one['value'] as string);
        });
    }
    for (const { node } of found(tree, 'ObjectExpression'))
      for (const one of nodesAt(node, 'properties'))
        if (one.type === 'Identifier' && nameOf(one) === 'signal') names.add('signal');
    if (names.size > 0) for (const text of typedTexts(tree, names, elsewhere)) written.add(text);
  }
  return written;
}

function everything(node: unknown, visit: (node: Node) => void): void {
  if (Array.isArray(node)) for (const one of node) everything(one, visit);
  else if (node !== null && typeof node === 'object') {
    if (typeof (node as Node).type === 'string') visit(node as Node);
    for (const value of Object.values(node)) everything(value, visit);
  }
}

/** The types that a file gives a name. */
function aliasesIn(tree: Node): ReadonlyMap<string, Node> {
  const types = new Map<string, Node>();
  everything(tree, (node) => {
    if (node.type === 'TsTypeAliasDeclaration') types.set(nameOf(nodeAt(node, 'id')) ?? '', node);
  });
  return types;
}

/** The texts that the type of an identifier allows, where it lists them itself or by a type of the same file or another one. */
function typedTexts(tree: Node, names: ReadonlySet<string>, elsewhere: ReadonlyMap<string, Node>): readonly string[] {
  const types = aliasesIn(tree);
  const texts: string[] = [];
  const allowed = (type: Node, depth = 0): void =>
    everything(type, (node) => {
      const literal = node.type === 'TsLiteralType' ? nodeAt(node, 'literal') : null;
      if (literal?.type === 'StringLiteral') texts.push(literal['value'] as string);
      const name = node.type === 'TsTypeReference' ? (nameOf(nodeAt(node, 'typeName')) ?? '') : '';
      const alias = types.get(name) ?? elsewhere.get(name);
      if (alias && depth < 3) allowed(alias, depth + 1);
    });
  everything(tree, (node) => {
    const annotation =
      node.type === 'Identifier' && names.has(nameOf(node) ?? '') ? nodeAt(node, 'typeAnnotation') : null;
    if (annotation) allowed(annotation);
  });
  return texts;
}

/** Names of fields that the shapes of the contracts declare. */
function declaredFields(contracts: readonly Source[]): ReadonlySet<string> {
  const fields = new Set<string>();
  for (const source of contracts)
    for (const { node } of found(treeOf(source), 'CallExpression'))
      if (/^(?:object|strictObject|looseObject|extend)$/.test(nameOf(nodeAt(node, 'callee')) ?? ''))
        for (const shape of nodesAt(node, 'arguments').map(bare))
          for (const one of nodesAt(shape, 'properties')) {
            const name = nameOf(nodeAt(one, 'key'));
            if (name !== null) fields.add(name);
          }
  return fields;
}

/** The members that an object literal sets itself, without those it spreads from another. */
const ownParts = (node: Node): readonly (readonly [name: string, value: Node | null])[] =>
  nodesAt(node, 'properties').flatMap((one) => {
    const name = nameOf(one.type === 'Identifier' ? one : nodeAt(one, 'key'));
    return name === null ? [] : [[name, one.type === 'Identifier' ? one : nodeAt(one, 'value')] as const];
  });

/**
 * Which of these fields of a row nothing fills in. A row, or a part of one, is an object that names its kind or has no names but a row's;
 * a field that is handed on from the same field, or is empty, is not filled in.
 */
export function unwrittenFields(sources: readonly Source[], fields: readonly string[]): readonly string[] {
  const unwritten = new Set(fields);
  const ofRows = new Set(fields);
  for (const source of sources)
    for (const { node } of found(treeOf(source), 'ObjectExpression')) {
      const parts = ownParts(node);
      if (!parts.every(([name]) => ofRows.has(name)) && !parts.some(([name]) => name === 'event_kind')) continue;
      for (const [name, value] of parts) {
        const constant = value && constantIn(value, name);
        if (constant !== null && !EMPTY.has(constant)) unwritten.delete(name);
      }
    }
  return [...unwritten];
}

/** Which of these names no object literal sets. */
export function unnamed(sources: readonly Source[], names: readonly string[]): readonly string[] {
  const missing = new Set(names);
  for (const source of sources)
    for (const { node } of found(treeOf(source), 'ObjectExpression'))
      for (const [name] of ownParts(node)) missing.delete(name);
  return [...missing];
}

/** Values that carry no information. A version or a limit is constant too, but means something. */
const EMPTY = new Set(['0', 'null', '""', 'false', '[]', '{}']);

/** Fields of the contracts that are always empty: every place that sets one writes the same empty value, or passes it on. */
export function constantFields(sources: readonly Source[]): ReadonlyMap<string, string> {
  const isContract = ({ path }: Source) => path.startsWith('contracts/');
  const fields = declaredFields(sources.filter(isContract));
  const values = new Map<string, Set<string>>();
  const put = (name: string | null, value: string | null) => {
    if (name === null || value === null || !fields.has(name)) return;
    values.set(name, (values.get(name) ?? new Set()).add(value));
  };
  for (const tree of sources.filter((one) => !isContract(one)).map(treeOf)) {
    // A counter that starts at zero is not empty.
    for (const { node } of found(tree, 'UpdateExpression')) put(nameOf(nodeAt(node, 'argument')), 'something else');
    for (const { node } of found(tree, 'AssignmentExpression')) put(nameOf(nodeAt(node, 'left')), 'something else');
    for (const { node } of found(tree, 'ObjectExpression'))
      for (const one of nodesAt(node, 'properties')) {
        const name = one.type === 'Identifier' ? nameOf(one) : nameOf(nodeAt(one, 'key'));
        const value = nodeAt(one, 'value');
        if (one.type === 'Identifier') put(name, 'something else');
        else if (value && name !== null && fields.has(name)) put(name, constantIn(value, name));
      }
  }
  return new Map(
    [...values].flatMap(([name, [value = '', ...rest]]) =>
      rest.length === 0 && EMPTY.has(value) ? [[name, value] as const] : [],
    ),
  );
}

/** The literal value of an expression; `null` if it passes on a field of the same name. */
function constantIn(given: Node, name: string): string | null {
  const node = bare(given);
  if (/^(?:Numeric|String|Boolean)Literal$/.test(node.type)) return JSON.stringify(node['value']);
  if (node.type === 'NullLiteral') return 'null';
  if (node.type === 'ArrayExpression' && nodesAt(node, 'elements').length === 0) return '[]';
  // `{ min: 0 }` describes the field and is none of its values.
  if (node.type === 'ObjectExpression') {
    const parts = nodesAt(node, 'properties');
    if (parts.length === 0) return '{}';
    if (parts.every((one) => /^(?:min|max)$/.test(nameOf(nodeAt(one, 'key')) ?? ''))) return null;
  }
  const same = found(node, 'MemberExpression').some(({ node: member }) => nameOf(member) === name);
  return same ? null : 'something else';
}
