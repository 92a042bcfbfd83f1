interface Node<Row> {
  readonly literals: Map<string, Node<Row>>;
  param: Node<Row> | null;
  row: Row | null;
}

const PARAM = /^\{[a-z_]+\}$/;
const LITERAL = /^[A-Za-z0-9._-]+$/;

/**
 * Finds the row whose method is exactly `method` and whose template matches the whole path of `url`
 * (docs/architecture/identity-and-routes.md#authority-table). A template has literal segments and `{param}` parts that fill a segment; a
 * literal wins over a `{param}`. There is no prefix, wildcard or method fallback. A path that is not in normal form (empty or dot segments,
 * a trailing slash, broken escapes) matches nothing, and an escaped letter never equals a literal. Throws on a template of another form and
 * on two rows that would match the same paths.
 */
export function routeMatcher<Row extends { readonly method: string; readonly path: string }>(
  rows: readonly Row[],
): (method: string, url: string) => Row | null {
  const roots = new Map<string, Node<Row>>();
  for (const row of rows) {
    let node = childOf(roots, row.method);
    for (const segment of templateSegments(row.path)) {
      if (PARAM.test(segment)) node = node.param ??= emptyNode();
      else node = childOf(node.literals, segment);
    }
    if (node.row) throw new Error(`${row.method} ${row.path} and ${node.row.path} are the same route`);
    node.row = row;
  }
  return (method, url) => {
    const root = roots.get(method);
    const segments = root && pathSegments(url);
    return segments ? find(root, segments, 0) : null;
  };
}

const emptyNode = <Row>(): Node<Row> => ({ literals: new Map(), param: null, row: null });

function childOf<Row>(children: Map<string, Node<Row>>, key: string): Node<Row> {
  const known = children.get(key);
  if (known) return known;
  const child = emptyNode<Row>();
  children.set(key, child);
  return child;
}

function templateSegments(path: string): string[] {
  const segments = path.slice(1).split('/');
  if (!path.startsWith('/') || !segments.every((segment) => PARAM.test(segment) || wellFormedLiteral(segment)))
    throw new Error(`${path} is not a route template`);
  return segments;
}

const wellFormedLiteral = (segment: string): boolean => LITERAL.test(segment) && segment !== '.' && segment !== '..';

function pathSegments(url: string): string[] | null {
  const query = url.indexOf('?');
  const path = query === -1 ? url : url.slice(0, query);
  if (!path.startsWith('/')) return null;
  const segments = path.slice(1).split('/');
  return segments.every(inNormalForm) ? segments : null;
}

function inNormalForm(segment: string): boolean {
  if (segment === '') return false;
  if (!segment.includes('%')) return segment !== '.' && segment !== '..';
  try {
    const text = decodeURIComponent(segment);
    return text !== '.' && text !== '..' && !text.includes('\u0000');
  } catch {
    return false;
  }
}

function find<Row>(node: Node<Row>, segments: readonly string[], depth: number): Row | null {
  const segment = segments[depth];
  if (segment === undefined) return node.row;
  const literal = node.literals.get(segment);
  const found = literal ? find(literal, segments, depth + 1) : null;
  if (found) return found;
  return node.param ? find(node.param, segments, depth + 1) : null;
}
