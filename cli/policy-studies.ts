import { statSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { isIntact, type KeptVersion, type MutatedPolicy } from '../contracts/policy-library.js';
import type { LabLine, LabResult, PolicyLab } from '../contracts/policy-studies.js';
import { oneLine } from '../domain/printable.js';
import { CliError } from './errors.js';
import { type LabWindow, warningLines } from './lab-report.js';
import { json, print } from './output.js';
import type { FolderPolicy } from './policy-folder.js';
import type { AskPolicies, PolicyPlan } from './policy-plan.js';

/** What the commands of `gate policy` share. */
export interface PolicyCommands {
  engine(): Promise<AskPolicies>;
  planned(folder: string, given: { readonly tenant?: string; readonly prune?: boolean }): Promise<PolicyPlan>;
  show(plan: PolicyPlan): void;
}

interface Asked {
  readonly since: string;
  readonly until?: string;
  readonly tenant?: string;
  readonly json?: boolean;
  readonly refuseWeaker?: boolean;
}
interface AskedLab extends Asked {
  readonly agent?: string;
  readonly tool?: string;
}
interface AskedPlan extends Asked {
  readonly prune?: boolean;
  readonly exitCode?: boolean;
  readonly markdown?: boolean;
  readonly out?: string;
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** `gate policy lab`, `plan` and `rollback`: what rules would have decided, before they do, and back where they decided wrongly. */
export function registerPolicyStudies(policy: Command, shared: PolicyCommands): void {
  policy
    .command('lab')
    .description('what policies would change of recorded calls, over what is in force; changes nothing')
    .argument('<folder|file>')
    .option('--since <time>', 'RFC 3339, or 30m, 24h, 7d', '24h')
    .option('--until <time>', 'the same')
    .option('--agent <name>', 'calls of this agent')
    .option('--tool <name>', 'calls of this tool')
    .option('--tenant <name>', 'calls of this tenant, by what holds for it')
    .option('--refuse-weaker', 'end with 1 where a call would be judged more mildly')
    .addOption(json())
    .action(async (place: string, asked: AskedLab) => {
      const { result, window } = await labOf({ files: await policiesAt(place), without: [] }, asked);
      const { labText } = await import('./lab-report.js');
      if (asked.json) print(result);
      else say(labText(result, window));
      await refuseWeaker(result, asked);
    });

  policy
    .command('plan')
    .description('what applying the folder would change, and what it would have decided otherwise of recorded calls')
    .argument('<folder>')
    .option('--since <time>', 'recorded calls from here on: RFC 3339, or 30m, 24h, 7d', '24h')
    .option('--until <time>', 'the same')
    .option('--prune', 'as apply with --prune would')
    .option('--tenant <name>', 'the copies of this tenant, and its calls')
    .option('--exit-code', 'end with 1 where applying would change something')
    .option('--refuse-weaker', 'end with 1 where a call would be judged more mildly')
    .option('--markdown', 'a report that a pull request can show')
    .option('--out <file>', 'keep the plan, for `gate policy apply --plan`')
    .addOption(json())
    .action(async (folder: string, asked: AskedPlan) => {
      const plan = await shared.planned(folder, asked);
      if (asked.out !== undefined) {
        const { planKept } = await import('./policy-plan.js');
        writeFileSync(asked.out, `${JSON.stringify(planKept(plan, asked.tenant), null, 2)}\n`);
      }
      // Where nothing would change, nothing would be decided otherwise.
      const lab = plan.changes.length === 0 ? null : await labOf(labOfPlan(plan), asked);
      const { labText, planMarkdown } = await import('./lab-report.js');
      if (asked.json) print({ ...plan, lab: lab?.result ?? null });
      else if (asked.markdown) process.stdout.write(planMarkdown(plan, lab));
      else {
        shared.show(plan);
        if (lab) say(labText(lab.result, lab.window));
      }
      if (lab) await refuseWeaker(lab.result, asked);
      if (asked.exitCode && plan.changes.length > 0) throw new CliError(`${plan.changes.length} differences`);
    });

  policy
    .command('rollback')
    .description('give a policy the text of an earlier version again, as a new version')
    .argument('<name>')
    .argument('[version]', 'without it the newest version with another text than now')
    .requiredOption('--reason <text>', 'recorded with the version')
    .option('--tenant <name>', 'the copy of this tenant')
    .addOption(json())
    .action(async (name: string, version: string | undefined, { reason, tenant, json: asJson }) => {
      const made = await rolledBack(await shared.engine(), { name, version, tenant, reason });
      if (asJson) print(made.answer);
      else
        for (const line of [
          `${oneLine(name)} has the text of version ${made.from} again, as version ${made.answer.version}`,
          ...warningLines(made.answer),
        ])
          say(line);
    });
}

/**
 * The files of a plan over what is in force. A policy that is switched on comes with its text, also where that is changed first; in the place of a
 * tenant's copy that is deleted comes what holds for everybody.
 */
export const labOfPlan = ({ changes }: PolicyPlan): Pick<PolicyLab, 'files' | 'without'> => ({
  files: [
    ...new Map(
      changes.flatMap((change) => {
        const policy = change.what === 'delete' ? change.back : change.policy;
        return policy === null ? [] : [[policy.name, fileOf(policy)]];
      }),
    ).values(),
  ],
  without: changes.flatMap((change) => (change.what === 'delete' && change.back === null ? [change.name] : [])),
});

const fileOf = ({ name, content_type, body }: Pick<FolderPolicy, 'name' | 'content_type' | 'body'>) => ({
  name,
  content_type,
  body,
});

async function policiesAt(place: string): Promise<PolicyLab['files']> {
  const { readPolicyFile, readPolicyFolder } = await import('./policy-folder.js');
  if (statSync(place, { throwIfNoEntry: false })?.isFile()) return [fileOf(await readPolicyFile(place))];
  return (await readPolicyFolder(place)).policies.map(fileOf);
}

async function labOf(
  { files, without }: Pick<PolicyLab, 'files' | 'without'>,
  { since, until, tenant, agent, tool }: AskedLab,
): Promise<{ readonly result: LabResult; readonly window: LabWindow }> {
  const [{ sinceOf }, { stackTarget }] = await Promise.all([
    import('../lite/graduation.js'),
    import('./stack-target.js'),
  ]);
  const timeOf = (text: string): string => {
    const time = sinceOf(text);
    if (time === null) throw new CliError(`${text} is no time: RFC 3339, or 30m, 24h, 7d`, 2);
    return time;
  };
  const window = { since: timeOf(since), until: until === undefined ? null : timeOf(until), tenant: tenant ?? null };
  const body = {
    files: [...files],
    without: [...without],
    since: window.since,
    ...(window.until !== null && { until: window.until }),
    ...(agent !== undefined && { agent_id: agent }),
    ...(tool !== undefined && { tool_type: tool }),
  };
  const query = tenant === undefined ? {} : { tenant };
  const result = await resultOf(stackTarget().lines('/policies/lab', { query, body }));
  return { result, window };
}

/** The last line of a lab. How far it is goes to whoever sits there. Throws where a line says why there is no result, or none came. */
export async function resultOf(lines: AsyncIterable<unknown>): Promise<LabResult> {
  const { labLine } = await import('../contracts/policy-studies.js');
  const isWatched = process.stderr.isTTY;
  for await (const line of lines) {
    const said: LabLine = labLine.parse(line);
    if ('progress' in said && isWatched)
      process.stderr.write(`\r${said.progress.judged} calls, to ${said.progress.at}`);
    if ('progress' in said) continue;
    if (isWatched) process.stderr.write('\r\u001B[K');
    if ('error' in said) throw new CliError(`${oneLine(said.error.code)}: ${oneLine(said.error.reason)}`, 5);
    return said.result;
  }
  throw new CliError('the policy engine ended before its result', 5);
}

async function refuseWeaker(result: LabResult, { refuseWeaker: refuses }: Asked): Promise<void> {
  const { weakerIn } = await import('./lab-report.js');
  const weaker = weakerIn(result);
  if (refuses && weaker > 0) throw new CliError(`${weaker} calls would be judged more mildly`);
}

/** Rolls back to the version, or to the newest one whose text is another than that of now. */
export async function rolledBack(
  ask: AskPolicies,
  asked: {
    readonly name: string;
    readonly version?: string | undefined;
    readonly tenant?: string | undefined;
    readonly reason: string;
  },
) {
  const scope = asked.tenant === undefined ? '' : `?tenant=${encodeURIComponent(asked.tenant)}`;
  const path = `/policies/${encodeURIComponent(asked.name)}`;
  const { versions } = await ask<{ versions: readonly KeptVersion[] }>('GET', `${path}/versions${scope}`);
  const now = versions[0];
  // Of one that was edited in the store there is no digest; what is not known to be another text still takes its place.
  const digest = now && isIntact(now) ? now.body_sha256 : undefined;
  const earlier = versions.filter(isIntact).find(({ body_sha256 }) => body_sha256 !== digest);
  const from = asked.version ?? String(earlier?.version ?? '');
  if (from === '') throw new CliError(`${oneLine(asked.name)} never had another text`, 4);
  if (!/^[1-9]\d{0,9}$/.test(from)) throw new CliError(`${oneLine(from)} is no version`, 2);
  const by = { reason: asked.reason, actor_sub: userInfo().username, actor_idp: 'command line' };
  const on = now && { expected_current_version: now.version, expected_body_sha256: digest };
  const answer = await ask<MutatedPolicy>('POST', `${path}/rollback/${from}${scope}`, { ...on, ...by });
  return { from, answer };
}
