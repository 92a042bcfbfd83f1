import type { SqlFinding } from '../../contracts/policy.js';
import { toolTokens } from '../tool-shape.js';
import { isParsedSoon } from '../sql/read-sql.js';
import { REMOVES_IN_NAME } from '../shell/removal-words.js';
import { lex, POSTGRES } from '../sql/lexer.js';
import { readStatements, type Reading } from '../sql/statements.js';
import type { SqlNode } from '../sql/tree.js';
import { HARMLESS_FUNCTIONS } from '../sql/vocabulary.js';
import { quoted } from '../printable.js';
import { words } from '../text.js';
import type { Checkpoint } from '../in-place.js';
import {
  type ChangeKind,
  type Finding,
  graver,
  isCarried,
  isGraver,
  type ReadCall,
  type Readers,
  type Reversible,
} from './finding.js';

/** Texts that are parsed for the tables in them. */
const PARSED_TEXTS = 16;
const STATEMENTS = 32;

/** The SQL in the arguments, each statement by Postgres' parser, and where that refuses a text by what the policies see in it. */
export function readSqlActs(given: ReadCall, readers: Readers, checkpoint: Checkpoint): readonly Finding[] {
  const call = withNames(given, readers, checkpoint);
  const { found, more } = readers.readSql(call.arguments, call.share, checkpoint);
  const told = found.filter((one) => isStatement(call, one, readers));
  const findings: Finding[] = [];
  const texts = new Set<string>();
  for (const one of told) {
    if (one.effect === 'text' || one.effect === 'none') {
      if (one.effect === 'text') findings.push(UNREADABLE_TEXT);
      continue;
    }
    if (isSought(call, one, readers)) {
      findings.push(SOUGHT_TEXT);
      continue;
    }
    const parsed = call.leaves
      .filter(({ value, path }) => typeof value === 'string' && isSamePath(path, one.path))
      .map(({ value }) => String(value))
      .filter((text) => !texts.has(text));
    let parsedWorst: Finding['severity'] | null = null;
    for (const text of parsed.slice(0, PARSED_TEXTS)) {
      texts.add(text);
      checkpoint();
      const statements = parse(text, readers);
      if (statements === null) continue;
      for (const statement of statements.slice(0, STATEMENTS)) {
        const finding = findingOf(statement);
        parsedWorst = graver(parsedWorst ?? 'safe', finding.severity);
        findings.push(finding);
      }
      if (statements.length > STATEMENTS) findings.push(otherwise({ ...one, effect: 'unreadable' }));
    }
    // What the parser takes for a read, another database may not; and a block holds more than its statement says.
    const whole = otherwise(one);
    if (parsedWorst === null || isGraver(whole.severity, parsedWorst)) findings.push(whole);
  }
  if (more) findings.push(otherwise({ effect: 'unreadable', kind: 'more SQL than is read' }));
  return findings;
}

/** As the rules of the policy have it: everywhere in a tool that takes statements, elsewhere unless the text is carried. */
function isStatement(call: ReadCall, one: SqlFinding, readers: Readers): boolean {
  const { sql_arguments, query_words, engine_words } = readers.data.sql;
  const speaks = call.words.some((word) => engine_words.includes(word));
  const isNamed = one.path.some((name) => sql_arguments.includes(name.toLowerCase()));
  if (one.effect === 'text') return isNamed || speaks;
  const wants = isNamed || speaks || call.words.some((word) => query_words.includes(word));
  if (wants) return one.form !== 'prose';
  return (
    (one.form === 'statement' || isNoEnglish(call, one.path, readers)) &&
    !isCarried(call, one.path, readers) &&
    !isSelector(call, one.path)
  );
}

/** `select[name=payment-method]` on a page. */
const isSelector = ({ leaves }: ReadCall, path: readonly string[]): boolean =>
  /(?:selector|locator|css|element)$/.test((path.at(-1) ?? '').toLowerCase()) &&
  leaves.every(
    ({ value, path: own }) =>
      typeof value !== 'string' ||
      !isSamePath(own, path) ||
      /^select(?:[.#:][\w-]{1,64}|\[[\w-]{1,64}(?:[~|^$*]?=["']?[\w -]{1,64}["']?)?\]){1,4}$/i.test(value),
  );

/**
 * English too may grant something to somebody, but no right of SQL; and alter or cut short something, but in no words that are a whole statement
 * about tables or users.
 */
const isNoEnglish = (call: ReadCall, path: readonly string[], readers: Readers): boolean =>
  call.leaves.some(
    ({ value, path: own }) =>
      typeof value === 'string' &&
      isSamePath(own, path) &&
      (GRANTS.test(value) ||
        (CHANGES.test(value) &&
          IN_STATEMENTS.test(value) &&
          !ALSO_ENGLISH.test(value) &&
          parse(value, readers) !== null)),
  );
const GRANTS =
  /^\s{0,8}grant\s{1,8}(?:all|select|insert|update|delete|usage|execute)(?:\s{1,8}privileges)?\s{1,8}on\s/i;
const CHANGES = /^\s{0,8}(?:alter|truncate)\s/i;
/** Statements by their letters alone: the first of them say nothing of what is altered. */
const ALSO_ENGLISH =
  /^\s{0,8}(?:alter\s{1,8}(?:user|role|database)\s{1,8}\w{1,64}|truncate\s{1,8}(?:index|views?))\s{0,8}$/i;

const SEEKS = words('search find lookup browse');
const SOUGHT = words('q query search term terms text keyword keywords phrase');
/** What a search is to look for, where it is a few words that are no whole statement: "drop off points". */
const isSought = (call: ReadCall, { path }: SqlFinding, readers: Readers): boolean =>
  !call.words.some((word) => readers.data.sql.engine_words.includes(word)) &&
  SEEKS.has(toolTokens(call.tool)[0] ?? '') &&
  !toolTokens(call.tool).some((word) => DATA.has(word)) &&
  path.some((name) => SOUGHT.has(name.toLowerCase())) &&
  !path.some((name) => readers.data.sql.sql_arguments.includes(name.toLowerCase())) &&
  call.leaves.every(
    (leaf) =>
      typeof leaf.value !== 'string' ||
      !isSamePath(leaf.path, path) ||
      ALSO_ENGLISH.test(leaf.value) ||
      (/^[\p{L} -]{1,64}$/u.test(leaf.value) && !IN_STATEMENTS.test(leaf.value) && parse(leaf.value, readers) === null),
  );
const IN_STATEMENTS =
  /--|\b(?:where|cascade|restrict|tables?|databases?|schemas?|users?|roles?|views?|index|keyspace|all|set|into|from|to|on)\b/i;
const DATA = words('sql database databases db table tables row rows record records data warehouse query');

const isSamePath = (leaf: readonly string[], path: readonly string[]): boolean =>
  leaf.length === path.length && leaf.every((name, at) => name === path[at]?.toLowerCase());

/**
 * The call with names between double quotes in each text that the parser refuses only because they stand between backticks, as MySQL, SQLite and
 * BigQuery have them. All other texts stay as they are, so no text is read instead of another.
 */
function withNames(call: ReadCall, readers: Readers, checkpoint: Checkpoint): ReadCall {
  if (!call.leaves.some(({ value }) => typeof value === 'string' && mayBeNames(value))) return call;
  const read = new Map<string, string>();
  const named = (value: unknown): unknown => {
    if (typeof value !== 'string' || !mayBeNames(value)) return value;
    const known = read.get(value);
    if (known !== undefined || read.size >= PARSED_TEXTS) return known ?? value;
    checkpoint();
    const text = value.replaceAll(/`([\w.-]{1,128})`/g, '"$1"');
    const isRead = !text.includes('`') && parse(text, readers) !== null;
    read.set(value, isRead ? text : value);
    return isRead ? text : value;
  };
  const root: Record<string, unknown> = { arguments: call.arguments };
  const open: Record<string, unknown>[] = [root];
  for (const holder of open)
    for (const [key, value] of Object.entries(holder)) {
      if (typeof value !== 'object' || value === null) {
        holder[key] = named(value);
        continue;
      }
      const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...value }) as Record<string, unknown>;
      holder[key] = copy;
      open.push(copy);
    }
  const leaves = call.leaves.map((leaf) => ({ ...leaf, value: named(leaf.value) as typeof leaf.value }));
  return { ...call, leaves, arguments: root['arguments'] };
}

/**
 * Whether names stand between backticks, and nothing in the text ends elsewhere for another database: no other quotes for names or texts, no comment,
 * no backslash, and no letter that is a quote or a comment in its plain form.
 */
const mayBeNames = (text: string): boolean => text.includes('`') && !/["\\#$[\x80-\uffff]|--|\/\*|'''/.test(text);

function parse(text: string, { parseSql }: Readers): readonly SqlNode[] | null {
  const { depth } = lex(text, POSTGRES);
  const statements = isParsedSoon(text, depth) ? parseSql(text) : null;
  return statements !== null && statements.length > 0 ? statements : null;
}

const UNREADABLE_TEXT: Finding = {
  operation_class: 'unknown',
  severity: 'risky',
  act: 'run a text that is no SQL',
  kind: 'execute',
  targets: [],
  reversible: 'unknown',
  reasons: ['a text where SQL belongs cannot be read as SQL'],
};

const SOUGHT_TEXT: Finding = {
  ...UNREADABLE_TEXT,
  act: 'look for words that begin as SQL does',
  reasons: ['words to look for that another tool would run as SQL'],
};

/** What is said of a text that the parser refuses. What cannot be read counts as the worst, or hiding would pay. */
function otherwise({ effect, kind }: Pick<SqlFinding, 'effect' | 'kind'>): Finding {
  const hidden = effect === 'unreadable';
  return {
    operation_class: effect === 'read' ? 'read' : /^(?:DROP|DELETE|TRUNCATE)/.test(kind) ? 'delete' : 'write',
    severity: hidden || effect === 'destructive' ? 'destructive' : effect === 'read' ? 'safe' : 'risky',
    act: `SQL: ${kind}`,
    kind: effect === 'read' ? 'read' : 'execute',
    targets: [],
    reversible: effect === 'read' ? 'yes' : effect === 'destructive' ? 'no' : 'unknown',
    reasons: [hidden ? `SQL that cannot be read may do anything: ${kind}` : `SQL: ${kind}`],
  };
}

function findingOf(statement: SqlNode): Finding {
  const reading = readStatements([statement], () => null);
  const tables = tablesOf(statement);
  const kind = revokes(statement) ? reading.kind.replace('GRANT', 'REVOKE') : reading.kind;
  const [first = ''] = kind.replace(/^EXPLAIN ANALYZE /, '').split(' ');
  const everyRow = reading.everyRow === true;
  const known = first === 'MERGE' && mergeDeletes(statement) ? MERGE_DELETES : BY_KIND[first];
  const act = everyRow
    ? `SQL ${kind.replace(/ without a condition$/, '')} of every row of`
    : tables.length > 0
      ? `SQL ${kind} on`
      : `SQL ${kind}`;
  const common = { act, targets: tables, wildcards: everyRow };
  if (reading.effect === 'read')
    return {
      ...common,
      operation_class: 'read',
      severity: 'safe',
      kind: 'read',
      reversible: 'yes',
      reasons: [`SQL ${kind} only looks`],
    };
  // EXPLAIN runs nothing, and EXPLAIN ANALYZE what it explains.
  const runs = !statement['ExplainStmt'] || kind.startsWith('EXPLAIN ANALYZE');
  const remover = reading.effect !== 'destructive' && runs ? removerIn(statement) : undefined;
  if (remover !== undefined)
    return {
      ...common,
      act: tables.length > 0 ? `SQL ${remover} on` : `SQL ${remover}`,
      operation_class: 'delete',
      severity: 'destructive',
      kind: 'delete',
      reversible: 'no',
      reasons: [`SQL ${remover} removes or ends something, by its name`],
    };
  if (known !== undefined)
    return {
      ...common,
      operation_class: known.deletes ? 'delete' : 'write',
      severity: known.destroys || reading.effect === 'destructive' ? 'destructive' : 'risky',
      kind: known.kind,
      reversible: known.reversible,
      reasons: [everyRow ? `SQL ${kind}: every row of the table` : known.reason],
    };
  return {
    ...common,
    operation_class: reading.effect === 'destructive' ? 'delete' : 'write',
    severity: reading.effect === 'destructive' ? 'destructive' : 'risky',
    kind: 'execute',
    reversible: reading.effect === 'destructive' ? 'no' : 'unknown',
    reasons: [reasonOf(reading)],
    ...(isAside(reading) && { aside: tables.length > 0 ? 1 : 2 }),
  };
}

/** A function that is named for a removal: `pg_terminate_backend`, `drop_chunks`. */
function removerIn(statement: SqlNode): string | undefined {
  const open: unknown[] = [statement];
  while (open.length > 0) {
    const value = open.pop();
    if (Array.isArray(value)) for (const part of value as unknown[]) open.push(part);
    if (!isNode(value)) continue;
    const called = value['FuncCall'] ?? value['funccall'];
    const name = isNode(called) ? textsIn(called['funcname']).at(-1) : undefined;
    if (
      name !== undefined &&
      !HARMLESS_FUNCTIONS.has(name) &&
      toolTokens(name).some((word) => REMOVES_IN_NAME.has(word))
    )
      return `the function ${quoted(name, 64)}`;
    for (const key in value) open.push(value[key]);
  }
  return undefined;
}

/** BEGIN, SET, VACUUM and their like stand around what a script is for. EXECUTE may be that. */
const isAside = ({ effect, kind }: Reading): boolean => effect === 'session' && kind !== 'EXECUTE';

const reasonOf = ({ effect, kind }: Reading): string =>
  effect === 'session' ? `SQL ${kind} changes the connection` : `SQL ${kind} is no plain read`;

interface Known {
  readonly deletes?: true;
  readonly destroys?: true;
  readonly kind: ChangeKind;
  readonly reversible: Reversible;
  readonly reason: string;
}
/** By the first word of a statement. */
const BY_KIND: Readonly<Record<string, Known>> = Object.assign(Object.create(null), {
  DELETE: { deletes: true, destroys: true, kind: 'delete', reversible: 'no', reason: 'SQL DELETE removes rows' },
  TRUNCATE: { deletes: true, destroys: true, kind: 'delete', reversible: 'no', reason: 'SQL TRUNCATE empties a table' },
  DROP: { deletes: true, destroys: true, kind: 'delete', reversible: 'no', reason: 'SQL DROP removes what it names' },
  UPDATE: { kind: 'modify', reversible: 'no', reason: 'SQL UPDATE writes over what the rows held' },
  MERGE: { kind: 'modify', reversible: 'no', reason: 'SQL MERGE writes over what the rows held' },
  INSERT: { kind: 'create', reversible: 'yes', reason: 'SQL INSERT adds rows' },
  CREATE: { kind: 'create', reversible: 'yes', reason: 'SQL CREATE adds what it names' },
  ALTER: { destroys: true, kind: 'modify', reversible: 'unknown', reason: 'SQL ALTER changes what others rely on' },
  GRANT: { destroys: true, kind: 'modify', reversible: 'yes', reason: 'SQL GRANT changes who may do what' },
  REVOKE: { destroys: true, kind: 'modify', reversible: 'yes', reason: 'SQL REVOKE changes who may do what' },
  DO: { destroys: true, kind: 'execute', reversible: 'unknown', reason: 'SQL DO runs a program' },
  RENAME: { destroys: true, kind: 'modify', reversible: 'yes', reason: 'SQL RENAME changes what others rely on' },
}) as Record<string, Known>;

const MERGE_DELETES: Known = {
  deletes: true,
  destroys: true,
  kind: 'delete',
  reversible: 'no',
  reason: 'SQL MERGE removes the rows that it matches',
};

const isNode = (value: unknown): value is SqlNode =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The parser has one node for both. */
const revokes = (statement: SqlNode): boolean =>
  [statement['GrantStmt'], statement['GrantRoleStmt']].some((node) => isNode(node) && node['is_grant'] !== true);

const mergeDeletes = (statement: SqlNode): boolean => {
  const clauses = isNode(statement['MergeStmt']) ? statement['MergeStmt']['mergeWhenClauses'] : null;
  return (
    Array.isArray(clauses) &&
    clauses.some(
      (clause: unknown) =>
        isNode(clause) &&
        isNode(clause['MergeWhenClause']) &&
        clause['MergeWhenClause']['commandType'] === 'CMD_DELETE',
    )
  );
};

/** The tables and other objects of a statement, in the order in which they stand; names of its own (WITH) are none. */
function tablesOf(statement: SqlNode): readonly string[] {
  const found: { readonly at: number; readonly name: string }[] = [];
  const own = new Set<string>();
  const open: unknown[] = [statement];
  while (open.length > 0) {
    const value = open.pop();
    if (Array.isArray(value)) for (const part of value as unknown[]) open.push(part);
    if (!isNode(value)) continue;
    const table = typeof value['relname'] === 'string' ? value : null;
    if (table !== null) {
      const names = [table['catalogname'], table['schemaname'], table['relname']];
      const at = typeof table['location'] === 'number' ? table['location'] : 0;
      found.push({ at, name: names.filter((name) => typeof name === 'string').join('.') });
    }
    if (typeof value['ctename'] === 'string') own.add(value['ctename']);
    if (isNode(value['DropStmt']))
      for (const name of droppedBy(value['DropStmt'])) found.push({ at: found.length, name });
    if (typeof value['dbname'] === 'string') found.push({ at: 0, name: value['dbname'] });
    for (const key in value) open.push(value[key]);
  }
  const names = found.toSorted((one, other) => one.at - other.at).map(({ name }) => name);
  return [...new Set(names)].filter((name) => !own.has(name));
}

/** DROP names what it drops as lists of texts. */
function droppedBy(drop: SqlNode): readonly string[] {
  const objects = Array.isArray(drop['objects']) ? (drop['objects'] as unknown[]) : [];
  return objects.map((object) => textsIn(object).join('.'));
}

/** The parts of a name. */
function textsIn(name: unknown): readonly string[] {
  const parts: string[] = [];
  const open: unknown[] = [name];
  while (open.length > 0) {
    const value = open.shift();
    if (Array.isArray(value)) open.push(...(value as unknown[]));
    else if (isNode(value))
      for (const key in value) {
        if (key === 'sval' && typeof value[key] === 'string') parts.push(value[key]);
        else open.push(value[key]);
      }
  }
  return parts;
}

/** Whether the name of a tool says that it takes SQL; such a tool's verb says nothing about what the SQL does. */
export const takesSql = (tool: string, { data: { sql } }: Readers): boolean =>
  toolTokens(tool).some((word) => sql.engine_words.includes(word) || sql.query_words.includes(word));
