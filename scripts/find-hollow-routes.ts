import { bare, found, nameOf, type Node, nodeAt, nodesAt, type Source, treeOf, walk } from './syntax.js';

export interface HollowRoute {
  readonly name: string;
  readonly path: string;
}

/** How deep an answer is followed through names and helpers. Anything deeper counts as computed. */
const MAX_DEPTH = 12;
const METHODS = new Set(['get', 'post', 'put', 'delete', 'patch']);
const FUNCTIONS = new Set(['ArrowFunctionExpression', 'FunctionExpression', 'FunctionDeclaration', 'MethodProperty']);
const LITERALS = new Set(['StringLiteral', 'NumericLiteral', 'BooleanLiteral', 'NullLiteral', 'BigIntLiteral']);
/** Calls that return their argument. */
const HANDS_ON = new Set(['Promise.resolve', 'Object.freeze', 'structuredClone', 'String', 'JSON.stringify']);

/** The possible values of an expression: both sides of a condition, without the condition. */
function outcomes(given: Node): readonly Node[] {
  const node = bare(given);
  const sides = (...parts: readonly string[]) => parts.flatMap((part) => outcomesAt(node, part));
  if (node.type === 'AwaitExpression') return sides('argument');
  if (node.type === 'ConditionalExpression') return sides('consequent', 'alternate');
  if (node.type === 'BinaryExpression' && ['??', '||'].includes(node['operator'] as string))
    return sides('left', 'right');
  if (node.type === 'UnaryExpression' && node['operator'] === 'void') return sides('argument');
  return [node];
}
const outcomesAt = (node: Node, part: string): readonly Node[] => {
  const inner = nodeAt(node, part);
  return inner ? outcomes(inner) : [];
};

const calleeOf = (call: Node): Node | null => nodeAt(call, 'callee');
/** `reply` of `reply.code(200).send(x)`. */
function rootOf(node: Node | null): string | null {
  if (!node) return null;
  if (node.type === 'CallExpression') return rootOf(calleeOf(node));
  if (node.type === 'MemberExpression') return rootOf(nodeAt(node, 'object'));
  return nameOf(node);
}
/** The argument of `reply.….send(x)`; `null` for any other call. */
function sentBy(node: Node): readonly Node[] | null {
  const callee = node.type === 'CallExpression' ? calleeOf(node) : null;
  if (callee?.type !== 'MemberExpression' || nameOf(callee) !== 'send' || rootOf(callee) !== 'reply') return null;
  return nodesAt(node, 'arguments').flatMap(outcomes);
}

/** Finds routes whose handler computes nothing: every answer is a constant somewhere in the source. */
export function literalRoutes(sources: readonly Source[]): readonly HollowRoute[] {
  const list: HollowRoute[] = [];
  for (const source of sources.filter(({ path }) => /^(api|lite)\//.test(path)))
    for (const { node } of found(treeOf(source), 'CallExpression')) {
      const callee = calleeOf(node);
      const method = callee?.type === 'MemberExpression' ? nameOf(callee) : null;
      const given = nodesAt(node, 'arguments');
      const [route, handler] = [given[0], given.at(-1)];
      if (method === null || !METHODS.has(method) || given.length < 2 || !handler) continue;
      const path = route?.type === 'StringLiteral' ? nameOf(route) : null;
      if (path === null || !path.startsWith('/')) continue;
      // A route that changes something may answer with a constant. One that only reads may not.
      if (method !== 'get' && found(handler, 'AwaitExpression').length > 0) continue;
      const answers = answersOf(source, handler, 0);
      if (answers && answers.length > 0 && answers.every((answer) => isWritten(source, answer, 0)))
        list.push({ name: `${method.toUpperCase()} ${path}`, path: source.path });
    }
  return list;

  /** The possible results of a function; `null` if its source is not here. */
  function answersOf(source: Source, given: Node, depth: number): readonly Node[] | null {
    if (depth > MAX_DEPTH) return null;
    const node = bare(given);
    if (node.type === 'Identifier') {
      const named = declared(source, nameOf(node) ?? '');
      return named && answersOf(named.source, named.node, depth + 1);
    }
    if (!FUNCTIONS.has(node.type)) return null;
    const body = nodeAt(node, 'body');
    if (!body) return null;
    if (!/^(?:BlockStatement|FunctionBody)$/.test(body.type))
      return outcomes(body).flatMap((one) => sentBy(one) ?? [one]);
    const answers: Node[] = [];
    walk(body, (inner) => {
      // The result of an inner function is not the result of this one.
      if (FUNCTIONS.has(inner.type)) return true;
      const sent = sentBy(inner);
      if (sent) answers.push(...sent);
      else if (inner.type === 'ReturnStatement')
        answers.push(...outcomesAt(inner, 'argument').filter((one) => sentBy(one) === null));
      return sent !== null;
    });
    return answers;
  }

  /** A constant or function by its name: in this file, or exported by another one. */
  function declared(source: Source, name: string): { readonly source: Source; readonly node: Node } | null {
    const imported = found(treeOf(source), 'ImportDeclaration').some(({ node }) =>
      nodesAt(node, 'specifiers').some((one) => nameOf(nodeAt(one, 'local')) === name),
    );
    for (const holder of imported ? sources : [source]) {
      const tree = treeOf(holder);
      const isHere = (parents: readonly Node[]) => !imported || parents.at(-1)?.type === 'ExportDeclaration';
      for (const { node, parents } of found(tree, 'VariableDeclaration'))
        if (node['kind'] === 'const' && isHere(parents))
          for (const one of nodesAt(node, 'declarations')) {
            const init = nodeAt(one, 'init');
            if (nodeAt(one, 'id')?.type === 'Identifier' && nameOf(nodeAt(one, 'id')) === name && init)
              return { source: holder, node: init };
          }
      for (const { node, parents } of found(tree, 'FunctionDeclaration'))
        if (isHere(parents) && nameOf(nodeAt(node, 'identifier')) === name) return { source: holder, node };
    }
    return null;
  }

  /** Whether all of an expression is written in the source. */
  function isWritten(source: Source, given: Node, depth: number): boolean {
    if (depth > MAX_DEPTH) return false;
    const all = outcomes(given);
    const written = (one: Node) => isWritten(source, one, depth + 1);
    if (all.length !== 1) return all.every(written);
    const node = all[0] as Node;
    if (LITERALS.has(node.type)) return true;
    if (node.type === 'UnaryExpression') return written(nodeAt(node, 'argument') as Node);
    if (node.type === 'TemplateLiteral') return nodesAt(node, 'expressions').every(written);
    if (node.type === 'ArrayExpression') return nodesAt(node, 'elements').every(written);
    if (node.type === 'ObjectExpression')
      return nodesAt(node, 'properties').every((one) => {
        const value = one.type === 'SpreadElement' ? nodeAt(one, 'arguments') : nodeAt(one, 'value');
        return written(one.type === 'Identifier' ? one : (value ?? one));
      });
    if (node.type === 'CallExpression') return callIsWritten(source, node, depth);
    if (node.type === 'MemberExpression') return nodeIsWritten(source, rootOf(node), depth);
    return node.type === 'Identifier' && nodeIsWritten(source, nameOf(node), depth);
  }

  function callIsWritten(source: Source, node: Node, depth: number): boolean {
    const callee = calleeOf(node);
    const name = nameOf(callee) ?? '';
    const whole = callee?.type === 'MemberExpression' ? `${rootOf(callee)}.${name}` : name;
    if (HANDS_ON.has(whole) || (callee?.type === 'MemberExpression' && name === 'parse'))
      return nodesAt(node, 'arguments').every((one) => isWritten(source, one, depth + 1));
    const answers = callee?.type === 'Identifier' ? answersOf(source, callee, depth + 1) : null;
    return answers !== null && answers.length > 0 && answers.every((one) => isWritten(source, one, depth + 1));
  }

  function nodeIsWritten(source: Source, name: string | null, depth: number): boolean {
    if (name === 'undefined') return true;
    const value = name === null ? null : declared(source, name);
    return value !== null && isWritten(value.source, value.node, depth + 1);
  }
}
