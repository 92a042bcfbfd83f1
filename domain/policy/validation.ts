import { RULE_INPUT } from '../../contracts/policy.js';
import { policyBody, policyName, type ValidatePolicy } from '../../contracts/policy-library.js';
import { parseStrictJson, StrictJsonError } from '../mcp/strict-json.js';
import { lettersApart } from '../nearest-names.js';
import {
  EVERY_RULE,
  type FirstRead,
  type PolicyCompiler,
  type PolicyFault,
  READ_RULES,
  type RuleNames,
} from './compiler.js';
import { parameterFault } from './parameters.js';
import { tierContradicted } from './policy-header.js';
import type { TemplateCatalogue } from './templates.js';

const MOUNT = /^[a-z][a-z0-9_]*$/;
/** Levels of a document. Some thousand more than this can be stored, and neither be compared nor handed to a thread. */
const DEEPEST = 100;
const HALF = 'it holds half of a surrogate pair, which no rule can read';
/** Packages below `data.gate`. */
const SHIPPED_RULES: ReadonlySet<string> = new Set(['authz', 'egress', 'entrypoint', 'forensic', 'lib']);

/**
 * What speaks against one policy by itself; null where nothing does. `floorData` is what documents may not hide; a document with the name of a
 * template holds its parameters.
 */
export async function faultIn(
  { name, content_type: type, body }: ValidatePolicy,
  compiler: Pick<PolicyCompiler, 'check'>,
  floorData: object,
  templates: Pick<TemplateCatalogue, 'parametersOf'>,
): Promise<
  {
    readonly fault: PolicyFault | null;
    readonly formatted?: string;
    readonly reads?: readonly FirstRead[];
    readonly inputs?: readonly FirstRead[];
  } & Partial<RuleNames>
> {
  const [refused] = [
    ...(policyName.safeParse(name).error?.issues ?? []).map(({ message }) => `the name ${name}: ${message}`),
    ...(policyBody.safeParse(body).error?.issues ?? []).map(({ message }) => `the text: ${message}`),
  ];
  if (refused !== undefined) return { fault: fault(refused) };
  if (!name.endsWith(`.${type}`)) return { fault: fault(`the name of a ${type} policy ends with .${type}`) };
  if (type === 'rego') return compiler.check({ name, body });
  const mount = name.slice(0, -'.json'.length);
  if (!MOUNT.test(mount))
    return { fault: fault(`${name} is mounted at data.gate.${mount}: use lower-case letters, digits and _`) };
  if (Object.hasOwn(floorData, mount) || SHIPPED_RULES.has(mount))
    return { fault: fault(`data.gate.${mount} belongs to the rules that ship`) };
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (error) {
    return { fault: jsonFault(error, body) };
  }
  if (typeof value !== 'object' || value === null) return { fault: fault('a document is an object or a list') };
  const unread = unreadableIn(value);
  if (unread !== null) return { fault: fault(unread) };
  try {
    parseStrictJson(body, DEEPEST);
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error;
    return { fault: fault(`people may read it otherwise than rules: ${error.message}`) };
  }
  const schema = await templates.parametersOf(mount);
  return { fault: schema && parameterFault(schema, value) };
}

/** Why no call can be judged with a document, whichever rules read it; null where it can. A stack of its own: it may be nested deeper than calls. */
export function unreadableIn(document: unknown): string | null {
  let level: readonly unknown[] = [document];
  for (let depth = 0; level.length > 0; depth += 1) {
    const below: unknown[] = [];
    for (const value of level) {
      if (typeof value === 'string' && !value.isWellFormed()) return HALF;
      // JSON writes it as null, which is what rules would read.
      if (typeof value === 'number' && !Number.isFinite(value)) return 'a number is beyond what numbers hold';
      if (typeof value !== 'object' || value === null) continue;
      if (depth === DEEPEST) return `a document has ${DEEPEST} levels at most`;
      for (const [name, inside] of Object.entries(value)) {
        if (!name.isWellFormed()) return HALF;
        below.push(inside);
      }
    }
    level = below;
  }
  return null;
}

/** Whether something has the name `data.gate.<name>`: the data that ship, a template with its defaults, or one of these documents. */
export const givenBy =
  (floorData: object, templates: Pick<TemplateCatalogue, 'parametersOf'>, documents: ReadonlySet<string>) =>
  async (name: string): Promise<boolean> =>
    Object.hasOwn(floorData, name) ||
    SHIPPED_RULES.has(name) ||
    documents.has(`${name}.json`) ||
    (await templates.parametersOf(name)) !== null;

/** What a rule reads and nobody gives: what needs it never holds, which no check of the rule by itself can tell. */
export async function readingNothing(
  reads: readonly FirstRead[],
  isGiven: (name: string) => Promise<boolean>,
): Promise<readonly string[]> {
  const unknown: string[] = [];
  for (const { name, line } of reads)
    if (!(await isGiven(name)))
      unknown.push(
        `line ${line} reads data.gate.${name}, and there is no document ${name}.json: what needs it never holds`,
      );
  return unknown;
}

const USUAL_NAME = /^[a-z0-9_]+\.(?:rego|json)$/;
/**
 * What is no fault of a policy by itself and hardly what its author meant; `unread` is what it reads of documents and nobody gives. Without `together`,
 * the names that stand in the policies beside it, one of its rules may be there for those, unless its name looks like a slip.
 */
export function warningsOf(
  { name, content_type: type, body }: ValidatePolicy,
  { inputs = [], rules = [], names = [] }: { readonly inputs?: readonly FirstRead[] | undefined } & Partial<RuleNames>,
  unread: readonly string[],
  together: ReadonlySet<string> | null = null,
): readonly string[] {
  const contradicted = type === 'rego' ? tierContradicted(body) : null;
  return [
    ...(USUAL_NAME.test(name) ? [] : [`${name} is an unusual name: use lower-case letters, digits and _`]),
    ...(contradicted === null ? [] : [contradicted]),
    ...unread,
    ...readingNoFact(inputs),
    ...readByNobody(rules, together ?? new Set(names), together === null),
  ];
}

/** Rules that Gate does not read and no policy uses: a slip in the name of one is no fault of Rego, and nothing is denied by it. */
function readByNobody(rules: readonly FirstRead[], used: ReadonlySet<string>, alone: boolean): readonly string[] {
  if (used.has(EVERY_RULE)) return [];
  const told = new Map<string, string>();
  for (const { name: whole, line } of rules) {
    const name = whole.split('.')[0] ?? '';
    if (READ_RULES.has(name) || used.has(name) || told.has(name)) continue;
    const [meant] = [...READ_RULES].filter((known) => lettersApart(name.slice(0, LONGEST_SLIP), known) <= MOST_SLIPS);
    if (alone && meant === undefined) continue;
    const hint = meant === undefined ? '' : ` (${meant}?)`;
    told.set(
      name,
      `line ${line} defines ${name}, which Gate does not read and no rule uses${hint}: it decides nothing`,
    );
  }
  return [...told.values()];
}
const MOST_SLIPS = 2;
const LONGEST_SLIP = 16;

/** What a rule reads of a call and no call has: a misspelt name is no fault of Rego, and what needs it never holds. */
export const readingNoFact = (inputs: readonly FirstRead[]): readonly string[] =>
  inputs
    .filter(({ name }) => !RULE_INPUT.includes(name))
    .map(({ name, line }) => {
      const meant = RULE_INPUT.filter((known) => known.includes(name) || name.includes(known)).slice(0, MOST_MEANT);
      const hint = meant.length > 0 ? ` (${meant.map((known) => `input.${known}`).join(', ')}?)` : '';
      return `line ${line} reads input.${name}, which no call has${hint}: what needs it never holds`;
    });
const MOST_MEANT = 3;

const fault = (message: string): PolicyFault => ({ message, file: null, line: null, column: null });

/** Where JSON ends to be JSON, as far as the parser says it. */
function jsonFault(error: unknown, body: string): PolicyFault {
  const message = error instanceof Error ? error.message : String(error);
  const at = Number(/position (\d+)/.exec(message)?.[1] ?? Number.NaN);
  if (Number.isNaN(at)) return fault(message);
  const before = body.slice(0, at).split('\n');
  return { message, file: null, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
