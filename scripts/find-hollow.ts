import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { LITE_SETTINGS } from '../config/lite.js';
import { PREPARE_SETTINGS } from '../config/prepare.js';
import { APART_SETTINGS, START_SETTINGS } from '../config/processes.js';
import type { SettingGroups, Settings } from '../config/env.js';
import { ERROR_CODES } from '../contracts/error-codes.js';
import { EVENT_KINDS } from '../contracts/event-kinds.js';
import { literalRoutes, type Source } from './find-hollow-routes.js';
import { PROJECT_ROOT } from '../config/project-root.js';

/** Something that is declared and that nothing stands behind: a promise which nobody keeps. */
export interface Hollow {
  readonly kind: 'setting' | 'error code' | 'event kind' | 'metric' | 'policy input' | 'route';
  readonly name: string;
  readonly why: string;
}

/** What is declared and not kept today, and why that is so. A name that is kept by now must leave the list. */
export const EXPLAINED: Readonly<Record<string, string>> = {
  'hil.modified': 'a person who changes what he approves, and the rest of human review, is not built yet',
  'hil.vote': 'several approvers are not built yet',
  'hil.escalated': 'escalation is not built yet',
  'hil.assigned': 'assignment is not built yet',
  'identity.svid_issued': 'written by the identity service, which is not built yet',
  'identity.grant_issued': 'written by the identity service, which is not built yet',
  budget_micros: 'a budget belongs to a grant, which identity will issue',
  cumulative_spend_micros: 'a budget belongs to a grant, which identity will issue',
  force_hil: 'containment is set on an agent in the registry, which identity will keep',
  velocity_degraded: 'the counter and the record are one store today, so the rate is known whenever a call is judged',
};

const PRODUCT = [
  'activities',
  'api',
  'cli',
  'config',
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

const withoutComments = (text: string): string =>
  text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '');

/** Everything that runs with the product; tests are no users of anything. */
export function productSources(root = PROJECT_ROOT): readonly Source[] {
  const present = readdirSync(root, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? [entry.name] : [],
  );
  return PRODUCT.filter((folder) => present.includes(folder))
    .flatMap((folder) => filesUnder(join(root, folder), '.ts'))
    .map((path) => ({ path: relative(root, path), text: withoutComments(readFileSync(path, 'utf8')) }))
    .filter(({ path }) => !path.startsWith('scripts/find-hollow'));
}

const outside = (sources: readonly Source[], ...paths: readonly string[]): readonly Source[] =>
  sources.filter(({ path }) => !paths.some((prefix) => path.startsWith(prefix)));

/** Settings whose value no code outside the configuration asks for. */
export function hollowSettings(sources: readonly Source[]): readonly Hollow[] {
  const users = outside(sources, 'contracts/');
  const all = [START_SETTINGS, PREPARE_SETTINGS, ...Object.values(APART_SETTINGS)] as readonly SettingGroups[];
  const groups: readonly Settings[] = [LITE_SETTINGS, ...all.flatMap((found) => Object.values<Settings>(found))];
  const hollow = new Map<string, Hollow>();
  for (const group of groups)
    for (const [key, { variable }] of Object.entries(group)) {
      // A member `.key`, a name taken out of the configuration (`{ key }`), or one put together (`[`${kind}Tenants`]`).
      const end = /[A-Z][a-z]+(?:[A-Z][a-z]+)*$/.exec(key)?.[0] ?? key;
      const asked = new RegExp(`\\.${key}\\b|\\['${key}'\\]|[{,]\\s*${key}\\s*[,:}]|\\$\\{\\w+\\}\\w*${end}\\\``);
      const declared = new RegExp(`\\b${key}: setting\\(`);
      const asker = users.some(({ text }) => asked.test(text.replace(declared, '')));
      if (!asker) hollow.set(variable, { kind: 'setting', name: variable, why: `nothing reads \`${key}\`` });
    }
  return [...hollow.values()];
}

/** Error codes that nothing answers with. */
export const hollowErrorCodes = (sources: readonly Source[]): readonly Hollow[] => {
  const users = outside(sources, 'contracts/error-codes');
  return Object.keys(ERROR_CODES)
    .filter((code) => !users.some(({ text }) => text.includes(`'${code}'`) || text.includes(`${code}:`)))
    .map((name) => ({ kind: 'error code', name, why: 'nothing answers with it' }) as const);
};

/** Event kinds of which no row is ever written. */
export const hollowEventKinds = (sources: readonly Source[]): readonly Hollow[] => {
  // Readers compare rows with a kind; writers build one. What only reports look for is written by nobody.
  const writers = outside(
    sources,
    'contracts/',
    'domain/evidence/reports/',
    'domain/evidence/compliance/',
    'domain/evidence/egress/',
    'cli/',
    'scripts/',
  );
  return EVENT_KINDS.filter((kind) => !writers.some(({ text }) => writes(text, kind))).map(
    (name) => ({ kind: 'event kind', name, why: 'no row of it is ever written' }) as const,
  );
};

/** A kind stands in its writer as a whole text, or is put together: `hil.${status}`. */
function writes(text: string, kind: string): boolean {
  if (text.includes(`'${kind}'`)) return true;
  const [family = '', rest = ''] = kind.split('.');
  return new RegExp(`\`${family}\\.\\$\\{`).test(text) && new RegExp(`'${rest}'`).test(text);
}

/** Metrics that are declared and that nothing ever sets. */
export function hollowMetrics(sources: readonly Source[]): readonly Hollow[] {
  const hollow: Hollow[] = [];
  for (const { path, text } of sources)
    for (const [, holder, name] of text.matchAll(
      /(\w+)\s*(?:=|:)\s*new (?:Counter|Gauge|Histogram|Summary)\(\{[^}]*?name: '(gate_\w+)'/g,
    )) {
      const rest = text.replace(`name: '${name}'`, '').replace(new RegExp(`\\b${holder}\\b`), '');
      const collects = new RegExp(`name: '${name}'[\\s\\S]{0,600}?collect`).test(text);
      const used = new RegExp(`\\b${holder}\\b`);
      if (!collects && !used.test(rest) && !sources.some((other) => other.path !== path && used.test(other.text)))
        hollow.push({ kind: 'metric', name: String(name), why: `nothing sets it (${path})` });
    }
  return hollow;
}

/** Fields of the policy input that rules read and that nothing fills in: rules that can never speak. */
export function hollowPolicyInput(sources: readonly Source[], root = PROJECT_ROOT): readonly Hollow[] {
  const builders = sources.filter(({ path }) => /^(activities\/policy|domain\/(policy|mcp)\/)/.test(path));
  const read = new Map<string, string>();
  for (const file of filesUnder(join(root, 'policies', 'gate'), '.rego')) {
    if (file.endsWith('_test.rego')) continue;
    const rules = readFileSync(file, 'utf8').replaceAll(/^\s*#.*$/gm, '');
    for (const [, field = ''] of rules.matchAll(/\binput\.(\w+)|object\.get\(input, "(\w+)"/g))
      if (field) read.set(field, relative(root, file));
    for (const [, field = ''] of rules.matchAll(/object\.get\(input, "(\w+)"/g)) read.set(field, relative(root, file));
  }
  return [...read]
    .filter(([field]) => !builders.some(({ text }) => new RegExp(`\\b${field}\\b\\s*[:,}]`).test(text)))
    .map(([name, file]) => ({ kind: 'policy input', name, why: `${file} reads it, and nothing fills it in` }) as const);
}

/** Routes whose handler asks nobody: all that they can answer is written in the source. */
export const hollowRoutes = (sources: readonly Source[]): readonly Hollow[] =>
  literalRoutes(sources).map(
    ({ name, path }) => ({ kind: 'route', name, why: `answers a literal (${path})` }) as const,
  );

/** Everything of the kind, over the product as it is. */
export function findHollow(): readonly Hollow[] {
  const sources = productSources();
  return [
    ...hollowSettings(sources),
    ...hollowErrorCodes(sources),
    ...hollowEventKinds(sources),
    ...hollowMetrics(sources),
    ...hollowPolicyInput(sources),
    ...hollowRoutes(sources),
  ];
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const found = findHollow();
  const unexplained = found.filter(({ name }) => !Object.hasOwn(EXPLAINED, name));
  for (const { kind, name, why } of found)
    process.stdout.write(`${kind.padEnd(13)} ${name}: ${why}; ${EXPLAINED[name] ?? 'NOT EXPLAINED'}\n`);
  process.stdout.write(`${found.length} declared and not kept, ${unexplained.length} of them unexplained\n`);
  if (unexplained.length > 0) process.exitCode = 1;
}
