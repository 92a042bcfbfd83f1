import type { Json } from '../../../contracts/json.js';
import type { ApprovedPart, ArgumentBound } from '../../../contracts/policy-mining.js';
import { canonicalJson, sha256Hex } from '../../crypto/digest.js';
import { words } from '../../text.js';
import { namesOf } from './layout.js';

/** A policy that has every call of a tool wait, except those that are as people approved them. */
export interface Fence {
  readonly name: string;
  readonly body: string;
}

const MOST_OF_A_NAME = 40;
/** Rules with such names alone are written: nothing of it ends a comment, or looks like another name. */
const PLAIN_NAME = /^[!-~]{1,128}$/;
export const canBeFenced = (tool: string): boolean => PLAIN_NAME.test(tool);

export const MINED_DOMAIN = 'mined';

/** As a shell reads it. */
export const shellWord = (name: string): string =>
  /^[\w./:-]+$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`;

/** What follows where a mined rule that is in force is switched off or deleted; `null` of another policy. */
export const withoutFence = ({
  domain,
  active,
  tool_surface: tools,
}: {
  readonly domain: string | null;
  readonly active: boolean;
  readonly tool_surface: readonly string[];
}): string | null =>
  active && domain === MINED_DOMAIN && tools.length > 0
    ? `Without this rule the class of ${tools.join(', ')} alone counts: classed "change", every call of it runs. Take back the class: npx gate tools set ${shellWord(tools[0] ?? '')} review --reason "its rule is over"`
    : null;

/** The same tool and parts of a tenant have the same name and text. It only ever asks: what it does not name waits as it would without it. */
export function fenceOf(tenant: string, tool: string, parts: readonly ApprovedPart[]): Fence {
  const bare = tool
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '_')
    .slice(0, MOST_OF_A_NAME);
  const digest = sha256Hex(canonicalJson([tenant, tool, ...parts.map(ruleFacts)]));
  const rule = `mined_${bare}_${digest.slice(0, 8)}`;
  const approvals = parts.reduce((sum, part) => sum + part.approvals, 0);
  const lines = [
    `# Summary: ${tool} as people approved it; every other call of it waits.`,
    '# Tier: review',
    `# Domain: ${MINED_DOMAIN}`,
    '# Severity: medium',
    '# Tags: mined',
    `# Tool surface: ${tool}`,
    `# Purpose: Mined from ${approvals} approvals. With it in force the tool can be classed "change", and only calls like these run.`,
    '# Edit: narrow it as you like. Without it the class alone lets every call of the tool run: take back the class first.',
    '',
    'package gate.authz',
    '',
    'import rego.v1',
    '',
    '# METADATA',
    '# title: Other than people approved',
    `review contains "Review: ${rule}: people approved calls of this tool that look otherwise; this one waits." if {`,
    `\tinput.tool_type == ${text(tool)}`,
    `\tnot ${rule}_approved`,
    '}',
    ...parts.flatMap((part) => ['', `${rule}_approved if {`, ...conditionsOf(part).map((line) => `\t${line}`), '}']),
    '',
  ];
  return { name: `${rule}.rego`, body: lines.join('\n') };
}

const ruleFacts = ({ upstream, agents, objects, arguments: bounds }: ApprovedPart) => ({
  upstream,
  agents,
  objects,
  bounds,
});
const text = (value: string): string => JSON.stringify(value);
/** A value as OPA writes it: with a blank behind each comma and colon. */
function termOf(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(termOf).join(', ')}]`;
  if (value === null || typeof value !== 'object') return canonicalJson(value);
  const members = Object.entries(value).map(([name, item]) => `${text(name)}: ${termOf(item)}`);
  return `{${members.join(', ')}}`;
}
const setOf = (values: readonly string[]): string =>
  values.length === 0 ? 'set()' : `{${values.map(text).join(', ')}}`;
const refOf = (pointer: string): string =>
  [
    'input.arguments',
    ...namesOf(pointer).map((name) => (WORD.test(name) && !KEYWORDS.has(name) ? `.${name}` : `[${text(name)}]`)),
  ].join('');
const WORD = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Of Rego. */
const KEYWORDS = words('as contains default else every false if import in not null package some true with');

function conditionsOf({ upstream, agents, objects, arguments: bounds }: ApprovedPart): readonly string[] {
  return [
    upstream === null ? 'not input.upstream' : `input.upstream == ${text(upstream)}`,
    `input.agent_id in ${setOf(agents)}`,
    ...objects.map(({ pointer, names }) => `object.keys(${refOf(pointer)}) == ${setOf(names)}`),
    ...bounds.flatMap(({ pointer, is }) => boundOf(refOf(pointer), is)),
  ];
}

/** What is undefined, or of another type, is outside (`isWithin` says the same). */
function boundOf(ref: string, is: ArgumentBound['is']): readonly string[] {
  if ('equals' in is) return [`${ref} == ${termOf(is.equals)}`];
  if ('one_of' in is) return [`${ref} in ${termOf(is.one_of)}`];
  if ('like' in is) return [`regex.match(\`^${is.like}$\`, ${ref})`];
  const number = is.text ? `to_number(${ref})` : ref;
  const form = is.decimals === 0 ? '(0|[1-9][0-9]{0,14})' : `(0|[1-9][0-9]{0,11})\\.[0-9]{${is.decimals}}`;
  return [
    is.text ? `regex.match(\`^${form}$\`, ${ref})` : `is_number(${ref})`,
    `${number} >= ${canonicalJson(is.from)}`,
    `${number} <= ${canonicalJson(is.to)}`,
    ...(is.whole ? [`floor(${number}) == ${number}`] : []),
  ];
}
