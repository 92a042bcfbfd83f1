import type { SqlNode } from './tree.js';

/** A condition nested deeper than this counts as one that narrows. */
const DEPTH = 64;

/**
 * Whether a condition limits the rows. These do not: no condition, a constant (`1 = 1`, `true`, `now() > '2000-01-01'`), a column compared
 * with itself, LIKE '%', and anything joined to one of them by OR. A condition that never holds counts as a constant too.
 */
export const narrows = (condition: unknown): boolean => isNode(condition) && !holdsForAll(condition, 0);

const isNode = (value: unknown): value is SqlNode =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function holdsForAll(node: SqlNode, depth: number): boolean {
  if (depth > DEPTH) return false;
  const expression = node['BoolExpr'];
  if (isNode(expression)) {
    const parts = (Array.isArray(expression['args']) ? expression['args'] : []).filter(isNode);
    const always = (part: SqlNode): boolean => holdsForAll(part, depth + 1);
    if (expression['boolop'] === 'OR_EXPR') return parts.some(always) || complement(parts);
    if (expression['boolop'] === 'AND_EXPR') return parts.every(always);
    return parts.some((part) => !mentionsColumn(part) || neverHolds(part));
  }
  if (!mentionsColumn(node)) return true;
  const comparison = node['A_Expr'];
  if (isNode(comparison)) {
    const [left, right] = [shape(comparison['lexpr']), shape(comparison['rexpr'])];
    const operator = operatorOf(comparison);
    if (left === right && ['=', '<=', '>=', '~~', '~~*', '~', '~*'].includes(operator)) return true;
    if (comparison['kind'] === 'AEXPR_NOT_DISTINCT' && left === right) return true;
    if (comparison['kind'] === 'AEXPR_LIKE' || comparison['kind'] === 'AEXPR_ILIKE')
      return operator.startsWith('~~') && /^%+$/.test(constantText(comparison['rexpr']) ?? '');
    if (comparison['kind'] === 'AEXPR_IN' && operator === '=')
      return itemsOf(comparison['rexpr']).some((item) => shape(item) === left);
    if (comparison['kind'] === 'AEXPR_BETWEEN' && itemsOf(comparison['rexpr']).every((item) => shape(item) === left))
      return true;
  }
  return false;
}

/** Conditions that hold for no row, such as `a <> a` and `a < a`. NOT turns them into "all rows". */
function neverHolds(node: SqlNode): boolean {
  const comparison = node['A_Expr'];
  return (
    isNode(comparison) &&
    ['<>', '<', '>'].includes(operatorOf(comparison)) &&
    shape(comparison['lexpr']) === shape(comparison['rexpr'])
  );
}

/** Two alternatives that together cover all rows: `a IS NULL OR a IS NOT NULL`, `a = 1 OR a <> 1`, `a = 1 OR NOT a = 1`. */
function complement(parts: readonly SqlNode[]): boolean {
  const opposite: Readonly<Record<string, string>> = {
    '=': '<>',
    '<>': '=',
    '<': '>=',
    '>=': '<',
    '>': '<=',
    '<=': '>',
  };
  const seen = new Set<string>();
  for (const part of parts) {
    const [mine, others] = ((): [string, string] => {
      const nulls = part['NullTest'];
      if (isNode(nulls)) {
        const type = nulls['nulltesttype'] === 'IS_NULL';
        return [`null ${type} ${shape(nulls['arg'])}`, `null ${!type} ${shape(nulls['arg'])}`];
      }
      const comparison = part['A_Expr'];
      if (isNode(comparison)) {
        const operator = operatorOf(comparison);
        const sides = `${shape(comparison['lexpr'])} ${shape(comparison['rexpr'])}`;
        return [`${operator} ${sides}`, `${opposite[operator] ?? '?'} ${sides}`];
      }
      return [shape(part), shape({ BoolExpr: { boolop: 'NOT_EXPR', args: [part] } })];
    })();
    if (seen.has(others)) return true;
    seen.add(mine);
    const negated = part['BoolExpr'];
    if (isNode(negated) && negated['boolop'] === 'NOT_EXPR' && Array.isArray(negated['args'])) {
      if (parts.some((other) => shape(other) === shape((negated['args'] as unknown[])[0]))) return true;
    }
  }
  return false;
}

function operatorOf(comparison: SqlNode): string {
  const names = Array.isArray(comparison['name']) ? (comparison['name'] as unknown[]) : [];
  const last = names.at(-1);
  const text = isNode(last) && isNode(last['String']) ? last['String']['sval'] : '';
  return typeof text === 'string' ? text : '';
}

function itemsOf(list: unknown): readonly unknown[] {
  if (!isNode(list)) return [];
  const inner = list['List'];
  return isNode(inner) && Array.isArray(inner['items']) ? (inner['items'] as unknown[]) : [];
}

function constantText(node: unknown): string | undefined {
  if (!isNode(node) || !isNode(node['A_Const']) || !isNode(node['A_Const']['sval'])) return undefined;
  const text = node['A_Const']['sval']['sval'];
  return typeof text === 'string' ? text : undefined;
}

/** An expression as text without its source locations, so that equal expressions give equal texts. */
const shape = (node: unknown): string =>
  JSON.stringify(node, (key, value: unknown) =>
    key === 'location' || key.endsWith('_location') ? undefined : value,
  ) ?? '';

function mentionsColumn(node: SqlNode): boolean {
  const open: unknown[] = [node];
  while (open.length > 0) {
    const value = open.pop();
    if (Array.isArray(value)) {
      for (const part of value as unknown[]) open.push(part);
    } else if (isNode(value)) {
      if ('ColumnRef' in value || 'CurrentOfExpr' in value || 'ParamRef' in value) return true;
      for (const key in value) open.push(value[key]);
    }
  }
  return false;
}
