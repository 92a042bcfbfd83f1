import { narrows } from './condition.js';
import { HARMLESS_FUNCTIONS } from './vocabulary.js';
import type { SqlNode } from './tree.js';

/** From harmless to worst. `session` affects only the connection. `unreadable` may do anything. */
export const EFFECTS = ['none', 'read', 'session', 'change', 'unreadable', 'destructive'] as const;
export type Effect = (typeof EFFECTS)[number];

export interface Reading {
  readonly effect: Effect;
  /** The statement in a few words, for people. */
  readonly kind: string;
  /** It changes or removes every row of its table. */
  readonly everyRow?: true;
  /** It calls a function that is not known to be harmless. */
  readonly calls?: true;
}

export const worse = <R extends Reading>(one: R, other: R): R =>
  EFFECTS.indexOf(other.effect) > EFFECTS.indexOf(one.effect) ? other : one;

const SESSION = new Set(
  `VariableSetStmt TransactionStmt FetchStmt ClosePortalStmt ListenStmt UnlistenStmt NotifyStmt DeallocateStmt DiscardStmt LockStmt
  CheckPointStmt VacuumStmt ClusterStmt ConstraintsSetStmt ExecuteStmt`.split(/\s+/),
);
const DROPS: Readonly<Record<string, string>> = {
  DropStmt: '',
  DropdbStmt: 'DATABASE',
  DropRoleStmt: 'ROLE',
  DropTableSpaceStmt: 'TABLESPACE',
  DropOwnedStmt: 'OWNED',
  DropUserMappingStmt: 'USER MAPPING',
  DropSubscriptionStmt: 'SUBSCRIPTION',
};
/** These statements run what they contain, at once or later. */
const RUN_THEIR_INSIDE = new Set(
  `SelectStmt InsertStmt UpdateStmt DeleteStmt MergeStmt PrepareStmt DeclareCursorStmt CreateTableAsStmt CopyStmt`.split(
    /\s+/,
  ),
);

const isNode = (value: unknown): value is SqlNode =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);
const textOf = (value: unknown): string =>
  isNode(value) && isNode(value['String']) && typeof value['String']['sval'] === 'string'
    ? value['String']['sval']
    : '';

/** What the statements of one text do together. More than one statement counts as a change at least. */
export function readStatements(statements: readonly SqlNode[], block: (body: string) => Reading | null): Reading {
  const readings = statements.map((statement) => readStatement(statement, block));
  const worst = readings.reduce(worse, { effect: 'none', kind: 'nothing' });
  return statements.length > 1 ? worse({ effect: 'change', kind: 'several statements' }, worst) : worst;
}

/** The table of a single DELETE that has nothing else: no schema, no condition, no other table. */
export function onlyTarget(statements: readonly SqlNode[]): string | undefined {
  const deletion = statements.length === 1 ? statements[0]?.['DeleteStmt'] : undefined;
  if (!isNode(deletion)) return undefined;
  const more = ['whereClause', 'usingClause', 'returningList', 'withClause'].some(
    (part) => deletion[part] !== undefined,
  );
  return more ? undefined : unqualified(deletion['relation']);
}

const unqualified = (relation: unknown): string | undefined =>
  isNode(relation) && relation['schemaname'] === undefined && typeof relation['relname'] === 'string'
    ? relation['relname']
    : undefined;

function readStatement(statement: SqlNode, block: (body: string) => Reading | null): Reading {
  const [name = ''] = Object.keys(statement);
  const body = statement[name];
  if (!isNode(body)) return { effect: 'unreadable', kind: 'statement' };
  if (name === 'ExplainStmt') {
    const inside = isNode(body['query'])
      ? readStatement(body['query'], block)
      : ({ effect: 'read', kind: 'EXPLAIN' } as const satisfies Reading);
    if (runsWhatItExplains(body)) return { ...inside, kind: `EXPLAIN ANALYZE ${inside.kind}` };
    return inside.calls ? inside : { effect: 'read', kind: 'EXPLAIN' };
  }
  if (name === 'VariableShowStmt') return { effect: 'read', kind: 'SHOW' };
  if (SESSION.has(name)) return { effect: 'session', kind: label(name) };
  const drops = DROPS[name];
  if (drops !== undefined) return { effect: 'destructive', kind: `DROP ${drops || objectOf(body)}` };
  if (name === 'TruncateStmt') return { effect: 'destructive', kind: 'TRUNCATE' };
  if (name === 'AlterTableStmt') {
    const dropped = listOf(body['cmds']).some(
      (command) =>
        isNode(command) && isNode(command['AlterTableCmd']) && command['AlterTableCmd']['subtype'] === 'AT_DropColumn',
    );
    return dropped ? { effect: 'destructive', kind: 'DROP COLUMN' } : { effect: 'change', kind: 'ALTER TABLE' };
  }
  if (name === 'DoStmt') {
    const texts = listOf(body['args']).map((part) =>
      isNode(part) && isNode(part['DefElem']) ? textOf(part['DefElem']['arg']) : '',
    );
    const inside = block(texts.join('\n'));
    return inside?.effect === 'destructive'
      ? { effect: 'destructive', kind: `DO block with ${inside.kind}` }
      : { effect: 'change', kind: 'DO block' };
  }
  const own = ownReading(name, body);
  return RUN_THEIR_INSIDE.has(name) ? worse(own, readInside(statement)) : own;
}

function ownReading(name: string, body: SqlNode): Reading {
  if (name === 'SelectStmt') return { effect: 'read', kind: 'SELECT' };
  if (name === 'PrepareStmt' || name === 'DeclareCursorStmt') return { effect: 'session', kind: label(name) };
  if (name === 'CopyStmt' && body['is_program'] === true) return { effect: 'destructive', kind: 'COPY with a program' };
  return { effect: 'change', kind: label(name) };
}

/** EXPLAIN ANALYZE runs the statement. Any value that is not clearly "no" counts as yes. */
const runsWhatItExplains = (body: SqlNode): boolean =>
  listOf(body['options']).some((option) => {
    const element = isNode(option) ? option['DefElem'] : undefined;
    if (!isNode(element) || element['defname'] !== 'analyze') return false;
    const { arg } = element;
    if (arg === undefined) return true;
    if (isNode(arg) && isNode(arg['Integer']))
      return arg['Integer']['ival'] !== undefined && arg['Integer']['ival'] !== 0;
    if (isNode(arg) && isNode(arg['Boolean'])) return arg['Boolean']['boolval'] === true;
    return !['false', 'off'].includes(textOf(arg).toLowerCase());
  });

/** Finds everything inside a statement that changes, destroys or locks something, or calls an unknown function. */
function readInside(statement: SqlNode): Reading {
  let worst: Reading = { effect: 'none', kind: 'nothing' };
  const open: unknown[] = [statement];
  while (open.length > 0) {
    const value = open.pop();
    if (Array.isArray(value)) {
      for (const part of value as unknown[]) open.push(part);
      continue;
    }
    if (!isNode(value)) continue;
    for (const key in value) {
      const part = value[key];
      open.push(part);
      if (isNode(part)) worst = worse(worst, readNode(key, part));
    }
  }
  return worst;
}

function readNode(name: string, node: SqlNode): Reading {
  switch (name) {
    case 'DeleteStmt':
      return narrows(node['whereClause'])
        ? { effect: 'change', kind: 'DELETE' }
        : { effect: 'destructive', kind: 'DELETE without a condition', everyRow: true };
    case 'UpdateStmt':
      return narrows(node['whereClause'])
        ? { effect: 'change', kind: 'UPDATE' }
        : { effect: 'destructive', kind: 'UPDATE without a condition', everyRow: true };
    case 'MergeStmt': {
      const deletes = listOf(node['mergeWhenClauses']).some(
        (clause) =>
          isNode(clause) &&
          isNode(clause['MergeWhenClause']) &&
          clause['MergeWhenClause']['commandType'] === 'CMD_DELETE',
      );
      return deletes && !narrows(node['joinCondition'])
        ? { effect: 'destructive', kind: 'MERGE that deletes without a condition', everyRow: true }
        : { effect: 'change', kind: 'MERGE' };
    }
    case 'InsertStmt':
      return { effect: 'change', kind: 'INSERT' };
    case 'intoClause':
    case 'IntoClause':
      return { effect: 'change', kind: 'SELECT INTO' };
    case 'LockingClause':
      return { effect: 'change', kind: 'SELECT FOR UPDATE' };
    case 'FuncCall': {
      const names = listOf(node['funcname']).map(textOf);
      const known = HARMLESS_FUNCTIONS.has(names.at(-1) ?? '');
      const built = names.length === 1 || (names.length === 2 && names[0] === 'pg_catalog');
      return known && built
        ? { effect: 'read', kind: 'SELECT' }
        : { effect: 'change', kind: `the function ${'`'}${plainName(names.join('.'))}${'`'}`, calls: true };
    }
    case 'A_Expr':
      return listOf(node['name']).length > 1
        ? { effect: 'change', kind: 'an operator by its schema' }
        : { effect: 'none', kind: 'nothing' };
    default:
      return { effect: 'none', kind: 'nothing' };
  }
}

const plainName = (text: string): string => text.replaceAll(/[^a-z0-9_.]/gi, '?').slice(0, 64);

/** Turns "CreateRoleStmt" into "CREATE ROLE". */
const label = (name: string): string =>
  name
    .replace(/Stmt$/, '')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toUpperCase();

const objectOf = (body: SqlNode): string =>
  typeof body['removeType'] === 'string' ? body['removeType'].replace(/^OBJECT_/, '').replaceAll('_', ' ') : '';
