import type { z } from 'zod';
import type { Json, JsonObject } from '../contracts/json.js';
import type { PolicyFileShown, PolicyList } from '../contracts/policy.js';
import type { ReplayCorpus } from '../contracts/ledger-reports.js';
import {
  type MutatedPolicy,
  type policyBatchAnswer,
  type PolicyReason,
  type ShownTemplate,
  type TemplateFile,
} from '../contracts/policy-library.js';
import { oneLine } from '../domain/printable.js';
import { CliError } from './errors.js';
import { warningLines } from './lab-report.js';
import type { AskPolicies } from './policy-plan.js';
import { table } from './table.js';

const DAY_MS = 86_400_000;
/** What one question of the lab takes: calls, and characters of them. */
const MOST_CALLS = 5_000;
const MOST_CHARACTERS = 15_000_000;
/** Changed calls that are shown; the rest is counted. */
const SHOWN = 20;

interface Meant {
  readonly name: string;
  readonly parameters: JsonObject | null;
  readonly tenant: string | undefined;
}
type Batch = z.infer<typeof policyBatchAnswer>;
export interface Trial {
  readonly since: string;
  readonly until: string;
  /** How many calls of the day are recorded; `judged` of them, spread over it. */
  readonly recorded: number;
  readonly judged: number;
  /** How many calls each difference has; what is not named stays as it is. */
  readonly changes: Readonly<Record<string, number>>;
  readonly examples: readonly {
    readonly correlation_id: string | null;
    readonly tool_type: string;
    readonly diff: string;
    readonly reasons: readonly string[];
  }[];
}

const fileOf = (name: string): string => (name.endsWith('.rego') ? name : `${name}.rego`);
const pathOf = ({ name, tenant }: Pick<Meant, 'name' | 'tenant'>, what = ''): string =>
  `/policies/templates/${encodeURIComponent(fileOf(name))}${what}${query(tenant)}`;
const query = (tenant: string | undefined): string =>
  tenant === undefined ? '' : `?tenant=${encodeURIComponent(tenant)}`;

export async function listed(
  ask: AskPolicies,
  domain: string | undefined,
  tenant: string | undefined,
): Promise<readonly ShownTemplate[]> {
  const all = await ask<readonly ShownTemplate[]>('GET', `/policies/templates${query(tenant)}`);
  const wanted = domain === undefined ? all : all.filter((template) => template.domain === domain);
  if (wanted.length > 0) return wanted;
  throw new CliError(
    `no template has the domain ${domain ?? ''}; there are ${[...new Set(all.map((one) => one.domain))].join(', ')}`,
    2,
  );
}

/** Refuses what is in force before anything is tried. */
export async function installable(ask: AskPolicies, { name, tenant }: Meant): Promise<void> {
  const { installed, name: file } = await templateOf(ask, name, tenant);
  if (installed)
    throw new CliError(`${oneLine(file)} is in force already; \`gate policy set\` changes what it is set to`, 4);
}

export const templateOf = (ask: AskPolicies, name: string, tenant: string | undefined): Promise<TemplateFile> =>
  ask('GET', pathOf({ name, tenant }));

export const templateTable = (templates: readonly ShownTemplate[]): string =>
  table(
    ['In force', 'Template', 'Domain', 'Severity', 'Tier', 'What it does'].map((head, at) => ({
      head,
      whole: at === 1,
    })),
    templates.map(({ name, domain, severity, tier, installed, summary }) => [
      installed ? 'yes' : '',
      name.replace(/\.rego$/, ''),
      domain,
      severity,
      tier,
      summary,
    ]),
  );

/** The whole text, line by line: nothing of it reaches the terminal as a control character. */
export function templateLines({ body, installed, parameters }: TemplateFile): readonly string[] {
  const properties = (parameters?.['properties'] ?? {}) as Record<string, JsonObject>;
  const settings = Object.entries(properties).flatMap(([name, { description, default: value }]) => [
    `${name}: ${typeof description === 'string' ? description : ''}`,
    `    ${JSON.stringify(value)}`,
  ]);
  const lines = [
    ...body.trimEnd().split('\n'),
    '',
    installed ? 'in force' : 'not in force',
    ...(settings.length > 0 ? ['', 'Parameters', ...settings] : []),
  ];
  return lines.map((line) => oneLine(line.replaceAll('\t', '    ')));
}

/** `most=5` is a number, `most="5"` and `name=acme` are texts. Null where nothing is set. */
export function parametersIn(set: readonly string[]): JsonObject | null {
  if (set.length === 0) return null;
  const parameters: Record<string, Json> = {};
  for (const one of set) {
    const at = one.indexOf('=');
    const [name, text] = [one.slice(0, at), one.slice(at + 1)];
    if (at < 1 || Object.hasOwn(parameters, name))
      throw new CliError(`--set ${oneLine(one)}: write each parameter once, as name=value`, 2);
    parameters[name] = asJson(text);
  }
  return parameters;
}
function asJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

/** The recorded calls of the last day by what is in force, and by that with the template beside it. Stores nothing. */
export async function triedYesterday(
  policies: AskPolicies,
  ledger: AskPolicies,
  { name, parameters, tenant }: Meant,
  now: Date,
  installed = false,
): Promise<Trial> {
  const [since, until] = [new Date(now.getTime() - DAY_MS).toISOString(), now.toISOString()];
  const window = new URLSearchParams({
    since,
    until,
    limit: String(MOST_CALLS),
    ...(tenant !== undefined && { tenant_prefix: tenant }),
  });
  const { corpus, total_in_window: recorded } = await ledger<ReplayCorpus>(
    'GET',
    `/audit/replay/corpus?${window.toString()}`,
  );
  const { results } = await policies<Batch>('POST', pathOf({ name, tenant }, '/lab'), {
    ...(parameters && { parameters }),
    ...(installed && { mode: 'replace', replace_rule_name: fileOf(name) }),
    inputs: fitting(corpus.map(({ input }) => input)),
  });
  const changed = results.filter(({ diff }) => diff !== 'unchanged');
  const changes: Record<string, number> = {};
  for (const { diff } of changed) changes[diff] = (changes[diff] ?? 0) + 1;
  return {
    since,
    until,
    recorded,
    judged: results.length,
    changes,
    examples: changed.slice(0, SHOWN).map(({ correlation_id, input, before, after, diff }) => ({
      correlation_id: correlation_id ?? null,
      tool_type: String(input['tool_type']),
      diff,
      reasons: [...after.reasons, ...after.review_reasons].filter(
        (reason) => !before.reasons.includes(reason) && !before.review_reasons.includes(reason),
      ),
    })),
  };
}

/** As many as one question takes, from the first on. */
function fitting(inputs: readonly object[]): readonly object[] {
  let characters = 0;
  const end = inputs.findIndex((input) => (characters += JSON.stringify(input).length) > MOST_CHARACTERS);
  return end < 0 ? inputs : inputs.slice(0, end);
}

/** What an installed template is set to now, and the version of it; no version where its defaults hold. */
export async function settingsOf(
  ask: AskPolicies,
  { name, tenant }: Meant,
): Promise<{ readonly parameters: JsonObject; readonly version: number | null }> {
  const { installed, name: file } = await templateOf(ask, name, tenant);
  if (!installed) throw new CliError(`${oneLine(file)} is not in force; \`gate policy install\` sets it too`, 4);
  const { policies } = await ask<PolicyList>('GET', `/policies${query(tenant)}`);
  if (!policies.some((policy) => policy.name === documentOf(name))) return { parameters: {}, version: null };
  const { current_body, current_version } = await ask<PolicyFileShown>('GET', documentPath({ name, tenant }));
  return { parameters: JSON.parse(current_body) as JsonObject, version: current_version };
}
const documentOf = (name: string): string => fileOf(name).replace(/\.rego$/, '.json');
const documentPath = ({ name, tenant }: Pick<Meant, 'name' | 'tenant'>): string =>
  `/policies/${encodeURIComponent(documentOf(name))}${query(tenant)}`;

/** A new version of the parameters. Refused where somebody changed them in between. */
export function setParameters(
  ask: AskPolicies,
  meant: Meant,
  version: number | null,
  by: PolicyReason,
): Promise<MutatedPolicy> {
  const body = `${JSON.stringify(meant.parameters, null, 2)}\n`;
  return version === null
    ? ask('POST', `/policies${query(meant.tenant)}`, {
        name: documentOf(meant.name),
        content_type: 'json',
        body,
        ...by,
      })
    : ask('PUT', documentPath(meant), { body, expected_current_version: version, ...by });
}

/** What a new version of the parameters came to. */
export const setLines = (changed: MutatedPolicy): readonly string[] => [
  `${oneLine(changed.name)} ${changed.active ? 'is in force' : 'is switched off'}, version ${changed.version}`,
  ...warningLines(changed),
];

const WORDS: Readonly<Record<string, string>> = {
  allow_to_deny: 'ran and would have been denied',
  allow_to_yellow: 'ran and would have waited for a person',
  yellow_to_deny: 'waited and would have been denied',
  yellow_to_allow: 'waited and would have run',
  deny_to_allow: 'denied that would have run',
  deny_to_yellow: 'denied that would have waited for a person',
};

export function trialLines({ since, until, recorded, judged, changes, examples }: Trial): readonly string[] {
  if (judged === 0) return [`no call is recorded from ${since} to ${until}: nothing says what it would have decided`];
  const of = judged < recorded ? `${judged} of ${recorded}` : String(judged);
  const changed = Object.values(changes).reduce((sum, count) => sum + count, 0);
  return [
    `${of} ${judged === 1 ? 'call' : 'calls'} from ${since} to ${until}: ${changed === 0 ? 'none would have been decided otherwise' : `${changed} would have been decided otherwise`}`,
    ...Object.entries(changes).map(([diff, count]) => `  ${count} ${WORDS[diff] ?? diff}`),
    ...examples.map(({ correlation_id: id, tool_type: tool, reasons }) =>
      oneLine(`  ${id ?? '-'} ${tool}: ${reasons.join(' ')}`),
    ),
    ...(changed > examples.length ? [`  and ${changed - examples.length} more`] : []),
  ];
}

export const install = (
  ask: AskPolicies,
  { name, parameters, tenant }: Meant,
  by: PolicyReason,
): Promise<MutatedPolicy> =>
  ask('POST', pathOf({ name, tenant }, '/install'), { ...by, ...(parameters && { parameters }) });
