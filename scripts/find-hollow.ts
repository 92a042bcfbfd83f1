import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { LITE_SETTINGS } from '../config/lite.js';
import { PREPARE_SETTINGS } from '../config/prepare.js';
import { APART_SETTINGS, START_SETTINGS } from '../stack/process-settings.js';
import type { SettingGroups, Settings } from '../config/env.js';
import { ERROR_CODES } from '../contracts/error-codes.js';
import { EVENT_KINDS } from '../contracts/event-kinds.js';
import { literalRoutes } from './find-hollow-routes.js';
import {
  constantFields,
  readKinds,
  readSignals,
  unnamed,
  unwrittenFields,
  writtenKinds,
  writtenSignals,
} from './find-hollow-rows.js';
import { newLedgerRow } from '../contracts/ledger.js';
import { lanesForPolicy } from '../domain/inspection/lane-table.js';
import { KNOWN_SIGNALS } from '../domain/evidence/reports/hunt.js';
import { found, nameOf, nodeAt, type Source, treeOf } from './syntax.js';
import { PROJECT_ROOT } from '../config/project-root.js';
import { DETAIL_KEYS } from '../domain/ledger/row-filter.js';

/** Something that is declared but not implemented. */
export interface Hollow {
  readonly kind: 'setting' | 'error code' | 'event kind' | 'signal' | 'field' | 'metric' | 'policy input' | 'route';
  readonly name: string;
  readonly why: string;
}

const each = (why: string, names: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [name, why]));

/**
 * What is declared and not kept today, and why that is so; docs/reference/not-yet.md is printed from it. A name that is kept by now must
 * leave the list.
 */
export const EXPLAINED: Readonly<Record<string, string>> = {
  agent_revoked: 'an agent is stopped as suspended or decommissioned; nothing revokes it as a whole yet',
  attestation_: 'identity refuses evidence that does not hold, and writes no row about the refusal',
  yellow_scope_: 'identity grants no such scope, and a request for a grant that it refuses has no row',
  ...each('the proxy for outgoing traffic is not built yet', ['egress_review_unreachable']),
  ...each('the second look at verdicts (deep review) is not built yet', [
    'deep_review_finding',
    'Agreed',
    'Escalated',
    'Downgraded',
  ]),
  ...each(
    'a finding of the second look at verdicts (deep review), which is not built yet; its filter of `GET /audit/{agent_id}` finds no row',
    ['original_method', 'brain_delta'],
  ),
  modified_payload:
    'rewriting a whole request is refused; null in every row, and `modification_diff` says what was changed',
  legacy_unverifiable: 'every row of this ledger has one form; the field is for ledgers that hold an older one',
  'hil.assigned':
    'an assignment is a note on the review; the workflow of its call, which writes such rows, is not told of it yet',
  velocity_degraded: 'the counter and the record are one store today, so the rate is known whenever a call is judged',
};

const PRODUCT = [
  'activities',
  'api',
  'cli',
  'config',
  'console',
  'contracts',
  'domain',
  'lite',
  'stack',
  'workers',
  'workflows',
  'scripts',
  'adapters',
  'demo',
];

function filesUnder(folder: string, ending: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesUnder(path, ending);
    return entry.name.endsWith(ending) && !entry.name.endsWith(`.test${ending}`) ? [path] : [];
  });
}

/** Good enough for a search by expressions; it also removes texts that look like comments. */
const withoutComments = ({ path, text }: Source): Source => ({
  path,
  text: text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, ''),
});

/** Everything that runs with the product. Use in a test does not count. */
export function productSources(root = PROJECT_ROOT): readonly Source[] {
  const present = readdirSync(root, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? [entry.name] : [],
  );
  return PRODUCT.filter((folder) => present.includes(folder))
    .flatMap((folder) => ['.ts', '.tsx'].flatMap((ending) => filesUnder(join(root, folder), ending)))
    .map((path) => ({ path: relative(root, path), text: readFileSync(path, 'utf8') }))
    .filter(({ path }) => !path.startsWith('scripts/find-hollow'));
}

const outside = (sources: readonly Source[], ...paths: readonly string[]): readonly Source[] =>
  sources.filter(({ path }) => !paths.some((prefix) => path.startsWith(prefix)));

/** Settings whose value no code outside the configuration reads. */
export function hollowSettings(sources: readonly Source[]): readonly Hollow[] {
  const users = outside(sources, 'contracts/').map(withoutComments);
  const all = [START_SETTINGS, PREPARE_SETTINGS, ...Object.values(APART_SETTINGS)] as readonly SettingGroups[];
  // An address is made for each declared neighbour, and read by its name (stack/neighbours.ts).
  const named = all.flatMap(({ addresses: _read, ...found }) => Object.values<Settings>(found));
  const groups: readonly Settings[] = [LITE_SETTINGS, ...named];
  const hollow = new Map<string, Hollow>();
  for (const group of groups)
    for (const [key, { variable }] of Object.entries(group)) {
      // A member `.key`, a name taken out of the configuration (`{ key }`), or one put together (`[`${kind}Tenants`]`).
      const end = /[A-Z][a-z]+(?:[A-Z][a-z]+)*$/.exec(key)?.[0] ?? key;
      const asked = new RegExp(`\\.${key}\\b|\\['${key}'\\]|[{,]\\s*${key}\\s*[,:}]|\\$\\{\\w+\\}\\w*${end}\\\``);
      const declared = new RegExp(`\\b${key}: setting\\(`);
      // Few files hold the name at all.
      const asker = users.some(
        ({ text }) => (text.includes(key) || text.includes(end)) && asked.test(text.replace(declared, '')),
      );
      if (!asker) hollow.set(variable, { kind: 'setting', name: variable, why: `nothing reads \`${key}\`` });
    }
  return [...hollow.values()];
}

/** Error codes that no code answers with. */
export const hollowErrorCodes = (sources: readonly Source[]): readonly Hollow[] => {
  const said = new Set<string | null>();
  for (const tree of outside(sources, 'contracts/error-codes').map(treeOf)) {
    for (const { node } of found(tree, 'StringLiteral')) said.add(nameOf(node));
    for (const { node } of found(tree, 'KeyValueProperty')) said.add(nameOf(nodeAt(node, 'key')));
  }
  return Object.keys(ERROR_CODES)
    .filter((code) => !said.has(code))
    .map((name) => ({ kind: 'error code', name, why: 'nothing answers with it' }) as const);
};

/** Event kinds of which no row is ever written: those that are declared, and those that only readers know. */
export const hollowEventKinds = (sources: readonly Source[]): readonly Hollow[] => {
  const product = outside(sources, 'contracts/', 'scripts/');
  const written = writtenKinds(product);
  const read = readKinds(product);
  const declared = EVENT_KINDS.map((name) => [name, 'no row of it is ever written'] as const);
  const looked = [...read].map(
    ([name, path]) => [name, `${path} looks for it, and no row of it is ever written`] as const,
  );
  return [...new Map([...declared, ...looked])]
    .filter(([name]) => !written.has(name))
    .map(([name, why]) => ({ kind: 'event kind', name, why }) as const);
};

/** Signals that a report knows and that no row carries. A name that ends with `_` stands for all that begin so. */
export const hollowSignals = (sources: readonly Source[]): readonly Hollow[] => {
  const product = outside(sources, 'contracts/', 'scripts/');
  const written = [...writtenSignals(product)];
  return [...new Set([...KNOWN_SIGNALS, ...readSignals(product).keys()])]
    .filter((name) => !written.some((signal) => signal === name || (name.endsWith('_') && signal.startsWith(name))))
    .map((name) => ({ kind: 'signal', name, why: 'reports know it, and no row carries it' }) as const);
};

/** Fields of the contracts that are always the same, whatever happened. */
export const hollowFields = (sources: readonly Source[]): readonly Hollow[] =>
  [...constantFields(outside(sources, 'scripts/'))].map(
    ([name, value]) => ({ kind: 'field', name, why: `is ${value} wherever it is filled in` }) as const,
  );

/** Fields of a row that no author fills in, and what reads look for in `policy_decision` and no row has there. */
export const hollowRowFields = (sources: readonly Source[]): readonly Hollow[] => {
  // What a query asks for is no row, nor is what a report answers.
  const authors = outside(sources, 'contracts/', 'scripts/', 'api/ledger/', 'cli/');
  // The time is the ledger's, but for rows that were signed elsewhere.
  const { shape } = newLedgerRow.omit({ timestamp: true });
  return [
    ...unwrittenFields(authors, Object.keys(shape)).map(
      (name) => ({ kind: 'field', name, why: 'a row has it, and nothing fills it in' }) as const,
    ),
    ...unnamed(outside(authors, 'adapters/evidence/', 'domain/evidence/'), DETAIL_KEYS).map(
      (name) => ({ kind: 'field', name, why: 'reads look for it, and no row has it' }) as const,
    ),
  ];
};

/** Metrics that are declared and that nothing ever sets. */
export function hollowMetrics(sources: readonly Source[]): readonly Hollow[] {
  const hollow: Hollow[] = [];
  const all = sources.map(withoutComments);
  for (const { path, text } of all)
    for (const [, holder, name] of text.matchAll(
      /(\w+)\s*(?:=|:)\s*new (?:Counter|Gauge|Histogram|Summary)\(\{[^}]*?name: '(gate_\w+)'/g,
    )) {
      const rest = text.replace(`name: '${name}'`, '').replace(new RegExp(`\\b${holder}\\b`), '');
      const collects = new RegExp(`name: '${name}'[\\s\\S]{0,600}?collect`).test(text);
      const used = new RegExp(`\\b${holder}\\b`);
      if (!collects && !used.test(rest) && !all.some((other) => other.path !== path && used.test(other.text)))
        hollow.push({ kind: 'metric', name: String(name), why: `nothing sets it (${path})` });
    }
  return hollow;
}

/** Fields of the policy input that rules read and that nothing fills in: rules that can never speak. */
export function hollowPolicyInput(sources: readonly Source[], root = PROJECT_ROOT): readonly Hollow[] {
  const builders = sources
    .map(withoutComments)
    // Explaining tries facts that no call has.
    .filter(({ path }) =>
      /^(activities\/policy|domain\/(policy\/(?!explain\/)|mcp\/|inspection\/(?:lane-table|response-|scan-response|judged-talk)))/.test(
        path,
      ),
    );
  const read = new Map<string, string>();
  for (const file of filesUnder(join(root, 'policies', 'gate'), '.rego')) {
    if (file.endsWith('_test.rego')) continue;
    const rules = readFileSync(file, 'utf8').replaceAll(/^\s*#.*$/gm, '');
    for (const [, field = ''] of rules.matchAll(/\binput\.(\w+)|object\.get\(input, "(\w+)"/g))
      if (field) read.set(field, relative(root, file));
    for (const [, field = ''] of rules.matchAll(/object\.get\(input, "(\w+)"/g)) read.set(field, relative(root, file));
  }
  const ofLanes = new Set(Object.keys(lanesForPolicy(null)));
  return [...read]
    .filter(
      ([field]) =>
        !ofLanes.has(field) && !builders.some(({ text }) => new RegExp(`\\b${field}\\b\\s*[:,}]`).test(text)),
    )
    .map(([name, file]) => ({ kind: 'policy input', name, why: `${file} reads it, and nothing fills it in` }) as const);
}

/** Routes whose handler computes nothing: every answer is a constant in the source. */
export const hollowRoutes = (sources: readonly Source[]): readonly Hollow[] =>
  literalRoutes(sources).map(
    ({ name, path }) => ({ kind: 'route', name, why: `answers a literal (${path})` }) as const,
  );

/** All such declarations of the product. */
export function findHollow(): readonly Hollow[] {
  const sources = productSources();
  return [
    ...hollowSettings(sources),
    ...hollowErrorCodes(sources),
    ...hollowEventKinds(sources),
    ...hollowSignals(sources),
    ...hollowFields(sources),
    ...hollowRowFields(sources),
    ...hollowMetrics(sources),
    ...hollowPolicyInput(sources),
    ...hollowRoutes(sources),
  ];
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const all = findHollow();
  const unexplained = all.filter(({ name }) => !Object.hasOwn(EXPLAINED, name));
  for (const { kind, name, why } of all)
    process.stdout.write(`${kind.padEnd(13)} ${name}: ${why}; ${EXPLAINED[name] ?? 'NOT EXPLAINED'}\n`);
  process.stdout.write(`${all.length} declared and not kept, ${unexplained.length} of them unexplained\n`);
  if (unexplained.length > 0) process.exitCode = 1;
}
