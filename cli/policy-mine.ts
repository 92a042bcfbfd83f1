import { userInfo } from 'node:os';
import type { Command } from 'commander';
import type { MutatedPolicy } from '../contracts/policy-library.js';
import type { ArgumentBound, MinedResult, MinedSuggestion } from '../contracts/policy-mining.js';
import { oneLine } from '../domain/printable.js';
import { CliError } from './errors.js';
import { json, print } from './output.js';
import type { AskPolicies } from './policy-plan.js';
import type { PolicyCommands } from './policy-studies.js';

interface Asked {
  readonly tenant: string;
  readonly json?: boolean;
}
interface AskedMine extends Asked {
  readonly since: string;
  readonly until?: string;
  readonly tool?: string;
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** `gate policy mine`, `suggestions` and `accept`: rules that people's approvals suggest, and the one step that puts one in force. */
export function registerPolicyMining(policy: Command, { engine }: Pick<PolicyCommands, 'engine'>): void {
  policy
    .command('mine')
    .description('the tightest rules that past approvals of people support; puts nothing in force')
    .requiredOption('--tenant <name>', 'whose decisions')
    .option('--since <time>', 'decisions from here on: RFC 3339, or 30m, 24h, 30d', '30d')
    .option('--until <time>', 'the same')
    .option('--tool <name>', 'of this tool alone')
    .addOption(json())
    .action(async (asked: AskedMine) => {
      const result = await minedBy(asked);
      if (asked.json) print(result);
      else for (const line of minedLines(result)) say(line);
    });

  policy
    .command('suggestions')
    .description('rules that were mined, compared with what people decided since')
    .requiredOption('--tenant <name>', 'whose')
    .addOption(json())
    .action(async ({ tenant, json: asJson }: Asked) => {
      const found = await suggestionsOf(await engine(), tenant);
      if (asJson) print(found);
      else if (found.length === 0) say('no suggestion; `gate policy mine` looks for some');
      else for (const line of found.flatMap(suggestionLines)) say(line);
    });

  policy
    .command('accept')
    .description(
      'put the rule of a suggestion in force, which only has more calls wait; says what lets these calls run',
    )
    .argument('<id>')
    .requiredOption('--tenant <name>', 'whose')
    .requiredOption('--reason <text>', 'recorded with the version')
    .addOption(json())
    .action(async (id: string, { tenant, reason, json: asJson }: Asked & { readonly reason: string }) => {
      const { made, suggestion } = await accepted(await engine(), { id, tenant, reason });
      if (asJson) return print(made);
      say(`${oneLine(made.name)} is in force, version ${made.version}; calls that it does not name wait`);
      if (suggestion) say(`so that the others run: ${oneLine(suggestion.next_step)}`);
    });
}

const scoped = (path: string, tenant: string): string => `${path}?tenant=${encodeURIComponent(tenant)}`;

export async function suggestionsOf(ask: AskPolicies, tenant: string): Promise<readonly MinedSuggestion[]> {
  const { suggestions } = await ask<{ readonly suggestions: readonly MinedSuggestion[] }>(
    'GET',
    scoped('/policies/suggestions', tenant),
  );
  return suggestions;
}

export async function accepted(
  ask: AskPolicies,
  { id, tenant, reason }: { readonly id: string; readonly tenant: string; readonly reason: string },
): Promise<{ readonly made: MutatedPolicy; readonly suggestion: MinedSuggestion | undefined }> {
  const by = { reason, actor_sub: userInfo().username, actor_idp: 'command line' };
  const path = scoped(`/policies/suggestions/${encodeURIComponent(id)}/install`, tenant);
  const made = await ask<MutatedPolicy>('POST', path, by);
  return { made, suggestion: (await suggestionsOf(ask, tenant)).find((one) => one.id === id) };
}

async function minedBy({ since, until, tenant, tool }: AskedMine): Promise<MinedResult> {
  const [{ sinceOf }, { stackTarget }] = await Promise.all([
    import('../lite/graduation.js'),
    import('./stack-target.js'),
  ]);
  const timeOf = (text: string): string => {
    const time = sinceOf(text);
    if (time === null) throw new CliError(`${text} is no time: RFC 3339, or 30m, 24h, 30d`, 2);
    return time;
  };
  const body = {
    since: timeOf(since),
    ...(until !== undefined && { until: timeOf(until) }),
    ...(tool !== undefined && { tool_type: tool }),
  };
  return minedIn(stackTarget().lines('/policies/mine', { query: { tenant }, body }));
}

/** The last line of what was mined. How far it is goes to whoever sits there. Throws where a line says why there is no result, or none came. */
export async function minedIn(lines: AsyncIterable<unknown>): Promise<MinedResult> {
  const { mineLine } = await import('../contracts/policy-mining.js');
  const isWatched = process.stderr.isTTY;
  for await (const line of lines) {
    const said = mineLine.parse(line);
    if ('progress' in said) {
      if (isWatched) process.stderr.write(`\r${said.progress.decisions} decisions, to ${said.progress.at}`);
      continue;
    }
    if (isWatched) process.stderr.write('\r\u001B[K');
    if ('error' in said) throw new CliError(`${oneLine(said.error.code)}: ${oneLine(said.error.reason)}`, 5);
    return said.result;
  }
  throw new CliError('the policy engine ended before its result', 5);
}

/** For a terminal: what agents and people wrote stays on its line. */
export function minedLines(result: MinedResult): readonly string[] {
  const { approvals, denials, changed, since, until, candidates, candidates_dropped: dropped, left } = result;
  return [
    `${approvals} approvals, ${denials} denials and ${changed} approved with other arguments, from ${since} to ${until}`,
    ...(candidates.length === 0 ? ['nothing can be suggested'] : candidates.flatMap(suggestionLines)),
    ...(dropped > 0 ? [`${dropped} more are not shown`] : []),
    ...left.map((one) =>
      oneLine(`left: ${one.tool}, ${one.approvals} approvals, ${one.denials} denials: ${WHY[one.why]}; ${one.detail}`),
    ),
  ];
}

const WHY = {
  too_few: 'too few approvals that are alike',
  rules_ask: 'rules ask a person whatever its class',
  classed_for_people: 'people said that they look at it',
  differs_each_time: 'an argument is another one each time',
  denied_alike: 'such calls were denied too',
  too_large: 'no rule can say so much',
} as const;

export function suggestionLines(suggestion: MinedSuggestion): readonly string[] {
  const { id, tenant, state, state_why: why, one_liner: told, evidence, parts } = suggestion;
  const { rule_name: rule, next_step: next, in_force: isInForce } = suggestion;
  const { approvals, denials } = evidence.class_alone;
  return [
    `${id} ${state}: ${told}${why === null ? '' : ` (${why})`}`,
    `the class alone would have let ${approvals} approvals and ${denials} denials pass`,
    ...parts.map(
      ({ upstream, agents, approvals: count, arguments: bounds }) =>
        `${count} approvals ${upstream === null ? '' : `at ${upstream} `}for ${agents.join(', ')}: ${bounds.length === 0 ? 'no arguments' : bounds.map(boundTold).join('; ')}`,
    ),
    ...(state === 'withdrawn' && isInForce
      ? [`${rule} is still in force; before \`gate policy off ${rule} --tenant ${tenant}\`: ${next}`]
      : []),
    ...(state === 'proposed'
      ? [`to put it in force: npx gate policy accept ${id} --tenant ${tenant} --reason "…"`]
      : []),
    ...(state === 'installed' ? [`${rule} is in force; so that these calls run: ${next}`] : []),
  ].map((line, at) => `${at === 0 ? '' : '  '}${oneLine(line)}`);
}

function boundTold({ pointer, is }: ArgumentBound): string {
  if ('equals' in is) return `${pointer} is ${JSON.stringify(is.equals)}`;
  if ('one_of' in is) return `${pointer} is one of ${is.one_of.map((one) => JSON.stringify(one)).join(', ')}`;
  if ('like' in is) return `${pointer} is like ${is.like}`;
  return is.from === is.to ? `${pointer} is ${is.from}` : `${pointer} from ${is.from} to ${is.to}`;
}
