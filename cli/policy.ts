import { writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import type { Command } from 'commander';
import type { PolicyCompiler, PolicyTester } from '../domain/policy/compiler.js';
import { oneLine } from '../domain/printable.js';
import { CliError } from './errors.js';
import { behindTold, diffLine, warningLines } from './lab-report.js';
import { textOf } from './named-file.js';
import { json, print } from './output.js';
import { registerPolicyMining } from './policy-mine.js';
import type { AskPolicies, PolicyPlan } from './policy-plan.js';
import { registerPolicyState } from './policy-state.js';
import { registerPolicyStudies } from './policy-studies.js';

interface Asked {
  readonly json?: boolean;
  readonly tenant?: string;
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const warned = (warnings: readonly { readonly path: string; readonly message: string }[]): readonly string[] =>
  warnings.map(({ path, message }) => `${oneLine(path)}: warning: ${oneLine(message)}`);
const MOST_NAMED = 10;
/** Said once: a file that looks like a policy and is none would be missed by nobody else. */
function notRead(others: readonly string[]): readonly string[] {
  if (others.length === 0) return [];
  const named = others.slice(0, MOST_NAMED).map((path) => oneLine(path));
  const more = others.length > MOST_NAMED ? [`and ${others.length - MOST_NAMED} more`] : [];
  return [`not read: ${[...named, ...more].join(', ')}; policies end with .rego or .json, cases with .yaml`];
}

/** `gate policy`: policies in a folder, as a repository keeps them, and templates. `check`, `fmt` and `test` need no server. */
export function registerPolicy(program: Command): void {
  const policy = program
    .command('policy')
    .description(
      'check, format, test, compare and apply a folder of policies; install templates; switch policies off and on',
    );

  registerTemplates(policy);
  policy
    .command('check')
    .description('compile every policy, and all together; each fault with its place')
    .argument('<folder>')
    .addOption(json())
    .action(async (folder: string, { json: asJson }: Asked) => {
      const { checkedFolder, readPolicyFolder, shippedFloor } = await import('./policy-folder.js');
      const [read, compiler, floor] = [await readPolicyFolder(folder), await localCompiler(), await shippedFloor()];
      const { faults, warnings, unchecked } = await checkedFolder(read, compiler, floor);
      if (asJson) print({ policies: read.policies.length, faults, warnings, unchecked, not_read: read.others });
      else {
        for (const line of [...warned(warnings), ...notRead(read.others)]) say(line);
        for (const { path, line, column, message } of faults)
          say(`${[path, line, column].filter((part) => part !== null).join(':')}: ${oneLine(message)}`);
        for (const what of unchecked) say(`not checked: ${oneLine(what)}`);
      }
      if (faults.length > 0) throw new CliError(`${faults.length} of ${read.policies.length} policies have faults`);
      if (unchecked.length > 0) throw new CliError('not everything was checked');
      if (!asJson) say(`${read.policies.length} policies, no fault`);
    });

  policy
    .command('fmt')
    .description('write the policies in the usual form')
    .argument('<folder>')
    .option('--check', 'only say which are not')
    .action(async (folder: string, { check }: { check?: boolean }) => {
      const { readPolicyFolder } = await import('./policy-folder.js');
      const { policies } = await readPolicyFolder(folder);
      const compiler = await localCompiler();
      let other = 0;
      for (const { name, path, body } of policies.filter(({ content_type: type }) => type === 'rego')) {
        const checked = await compiler.check({ name, body });
        if (checked.fault) throw new CliError(`${path}: ${oneLine(checked.fault.message)}`);
        if (checked.formatted === body) continue;
        other += 1;
        say(path);
        if (!check) writeFileSync(path, checked.formatted);
      }
      if (check && other > 0) throw new CliError(`${other} policies are not in the usual form`);
    });

  policy
    .command('test')
    .description(
      'judge the cases of the folder (*.yaml) by its policies and the rules that ship, and run its tests in Rego',
    )
    .argument('<folder>')
    .addOption(json())
    .action(async (folder: string, { json: asJson }: Asked) => {
      const { casesOf, faultsOf, readPolicyFolder, rulesOf, shippedFloor, testsOf } = await import(
        './policy-folder.js'
      );
      const [read, compiler, floor] = [await readPolicyFolder(folder), await localCompiler(), await shippedFloor()];
      const [fault] = await faultsOf(read, compiler, floor);
      if (fault) throw new CliError(`${fault.path}: ${oneLine(fault.message)}; \`gate policy check\` says more`);
      const cases = await casesOf(read, floor, await rulesOf(read, compiler, floor));
      const { tests, warnings } = await testsOf(read, compiler, floor);
      const failing = <One extends { readonly fault: string | null }>(results: readonly One[]) =>
        results.filter(({ fault: found }) => found !== null);
      const [failed, failedTests] = [failing(cases), failing(tests)];
      const skipped = tests.filter((one) => one.skipped);
      if (asJson)
        print({
          cases: cases.length,
          failed,
          tests: tests.length,
          failed_tests: failedTests,
          skipped_tests: skipped,
          warnings,
          not_read: read.others,
        });
      else {
        for (const line of [...warned(warnings), ...notRead(read.others)]) say(line);
        for (const one of [...failed, ...failedTests])
          say(`${one.file}: ${oneLine(one.description)} ${oneLine(one.fault ?? '')}`);
        for (const one of skipped) say(`${one.file}: ${oneLine(one.description)} is skipped`);
      }
      const counts = [
        [failed.length, cases.length, 'cases'],
        [failedTests.length, tests.length - skipped.length, 'tests'],
      ] as const;
      const missed = counts
        .filter(([missing]) => missing > 0)
        .map(([missing, all, what]) => `${missing} of ${all} ${what}`);
      if (missed.length > 0) throw new CliError(`${missed.join(' and ')} do not hold`);
      const held = counts.filter(([, all]) => all > 0).map(([, all, what]) => `${all} ${what}`);
      if (!asJson)
        say(held.length > 0 ? `${held.join(' and ')} hold` : 'there are no cases (*.yaml) and no tests (*_test.rego)');
    });

  policy
    .command('diff')
    .description('what applying the folder would change in the running stack of this folder')
    .argument('<folder>')
    .option('--prune', 'as apply with --prune would')
    .option('--exit-code', 'end with 1 where there is a difference')
    .option('--tenant <name>', 'the copies of this tenant')
    .addOption(json())
    .action(
      async (folder: string, { json: asJson, exitCode, ...given }: Asked & { exitCode?: boolean; prune?: boolean }) => {
        const plan = await planned(folder, given);
        if (asJson) print(plan);
        else show(plan);
        if (exitCode && plan.changes.length > 0) throw new CliError(`${plan.changes.length} differences`);
      },
    );

  registerPolicyStudies(policy, { engine, planned, show });
  registerPolicyMining(policy, { engine });
  registerPolicyState(policy, { engine });

  policy
    .command('apply')
    .description('make Gate have what the folder has; does nothing where it has')
    .argument('<folder>')
    .requiredOption('--reason <text>', 'recorded with each version')
    .option('--prune', 'delete policies that the folder does not have; not installed templates and mined rules')
    .option(
      '--plan <file>',
      'do only what `gate policy plan --out` wrote; ends with 3 where it would be something else by now',
    )
    .option('--tenant <name>', 'the copies of this tenant')
    .addOption(json())
    .action(async (folder: string, { json: asJson, reason, plan: file, ...given }: AskedApply) => {
      const { applied } = await import('./policy-plan.js');
      const plan = await planned(folder, given);
      if (file !== undefined) await assertAsPlanned(file, plan, given.tenant);
      if (!asJson) show(plan);
      const by = { reason, actor_sub: userInfo().username, actor_idp: 'command line' };
      const made = await applied(plan, await asking('policy-engine', APPLY_MS), by, given.tenant);
      if (asJson) return print({ ...plan, ...made });
      if (plan.changes.length > 0)
        say(`applied ${plan.changes.length === 1 ? 'one change' : `${plan.changes.length} changes`}`);
      for (const line of warningLines(made)) say(line);
    });
}

interface AskedApply extends Asked {
  readonly reason: string;
  readonly prune?: boolean;
  readonly plan?: string;
}

/** Ends with 3 where what would be done is not what the kept plan says. */
async function assertAsPlanned(file: string, plan: PolicyPlan, tenant: string | undefined): Promise<void> {
  const { keptPlan, movedSince, planKept } = await import('./policy-plan.js');
  const kept = keptPlan.safeParse(parsed(textOf('--plan', file)));
  if (!kept.success) throw new CliError(`--plan ${file}: not a plan that \`gate policy plan --out\` wrote`, 2);
  const moved = movedSince(kept.data, planKept(plan, tenant));
  if (moved.length > 0)
    throw new CliError(`nothing is applied, as it is not what was planned: ${moved.map(oneLine).join('; ')}`, 3);
}

/** `undefined` where it is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface Installing extends Asked {
  readonly reason: string;
  readonly set: readonly string[];
  readonly dryRun?: boolean;
}

/** What the running stack has of templates. */
function registerTemplates(policy: Command): void {
  const tenant = ['--tenant <name>', 'the copies of this tenant'] as const;
  policy
    .command('templates')
    .description('the templates that ship with Gate, of one domain or all')
    .argument('[domain]')
    .option(...tenant)
    .addOption(json())
    .action(async (domain: string | undefined, { json: asJson, tenant: of }: Asked) => {
      const { listed, templateTable } = await import('./policy-templates.js');
      const templates = await listed(await engine(), domain, of);
      if (asJson) return print(templates);
      say(templateTable(templates));
    });
  policy
    .command('template')
    .description('what one template says, and what can be set')
    .argument('<name>')
    .option(...tenant)
    .addOption(json())
    .action(async (name: string, { json: asJson, tenant: of }: Asked) => {
      const { templateOf, templateLines } = await import('./policy-templates.js');
      const template = await templateOf(await engine(), name, of);
      if (asJson) return print(template);
      for (const line of templateLines(template)) say(line);
    });
  policy
    .command('install')
    .description('what a template would have decided of the calls of yesterday; then puts it in force')
    .argument('<template>')
    .requiredOption('--reason <text>', 'recorded with the policy')
    .option('--set <parameter=value>', 'a parameter, as JSON or as a text; may be repeated', collected, [])
    .option('--dry-run', 'put nothing in force')
    .option(...tenant)
    .addOption(json())
    .action(async (name: string, { json: asJson, tenant: of, set, dryRun = false, reason }: Installing) => {
      const { installable, parametersIn, install, trialLines, triedYesterday } = await import('./policy-templates.js');
      const parameters = parametersIn(set);
      await installable(await engine(), { name, parameters, tenant: of });
      const trial = await triedYesterday(await engine(), await ledger(), { name, parameters, tenant: of }, new Date());
      if (!asJson) for (const line of trialLines(trial)) say(line);
      const by = { reason, actor_sub: userInfo().username, actor_idp: 'command line' };
      const installed = dryRun ? null : await install(await engine(), { name, parameters, tenant: of }, by);
      if (asJson) print({ trial, installed });
      else if (installed)
        for (const line of [
          `${oneLine(installed.name)} is in force, version ${installed.version}`,
          ...warningLines(installed),
        ])
          say(line);
    });
  policy
    .command('set')
    .description(
      'sets parameters of an installed template, after what that would have decided of the calls of yesterday',
    )
    .argument('<template>')
    .requiredOption('--reason <text>', 'recorded with the new version')
    .requiredOption('--set <parameter=value>', 'a parameter, as JSON or as a text; may be repeated', collected, [])
    .option('--dry-run', 'change nothing')
    .option(...tenant)
    .addOption(json())
    .action(async (name: string, { json: asJson, tenant: of, set, dryRun = false, reason }: Installing) => {
      const { parametersIn, setLines, setParameters, settingsOf, trialLines, triedYesterday } = await import(
        './policy-templates.js'
      );
      const ask = await engine();
      const now = await settingsOf(ask, { name, parameters: null, tenant: of });
      const meant = { name, parameters: { ...now.parameters, ...parametersIn(set) }, tenant: of };
      const trial = await triedYesterday(ask, await ledger(), meant, new Date(), true);
      if (!asJson) for (const line of trialLines(trial)) say(line);
      const by = { reason, actor_sub: userInfo().username, actor_idp: 'command line' };
      const changed = dryRun ? null : await setParameters(ask, meant, now.version, by);
      if (asJson) print({ trial, parameters: meant.parameters, changed });
      else if (changed) for (const line of setLines(changed)) say(line);
    });
}
const collected = (value: string, before: readonly string[]): readonly string[] => [...before, value];

/** OPA on this machine, with the functions that the rules of Gate may use. */
async function localCompiler(): Promise<PolicyCompiler & PolicyTester> {
  const [{ opaCompiler }, { findOpa }, { shippedPolicyDirectory }] = await Promise.all([
    import('../adapters/policy/opa-compiler.js'),
    import('../stack/programs/find-program.js'),
    import('../adapters/policy/policy-sources.js'),
  ]);
  let program: Promise<string> | undefined;
  // Where there is none, the first question says so.
  const find = () => (program ??= findOpa({ onProgress: (line) => void process.stderr.write(`${line}\n`) }));
  return opaCompiler({ find, directory: shippedPolicyDirectory() });
}

/** Every text is compiled by itself, and then all of them together. */
const APPLY_MS = 600_000;
const engine = () => asking('policy-engine');
const ledger = () => asking('ledger');
async function asking(service: 'policy-engine' | 'ledger', timeoutMs?: number): Promise<AskPolicies> {
  const { stackTarget } = await import('./stack-target.js');
  const target = stackTarget(undefined, undefined, timeoutMs);
  return (method, path, body) => target.ask(service, method, path, body);
}

async function planned(
  folder: string,
  given: { readonly tenant?: string; readonly prune?: boolean },
): Promise<PolicyPlan> {
  const [{ readPolicyFolder }, { planOf }] = await Promise.all([
    import('./policy-folder.js'),
    import('./policy-plan.js'),
  ]);
  const { policies } = await readPolicyFolder(folder);
  return planOf(policies, await engine(), given);
}

function show({ changes, elsewhere, spared }: PolicyPlan): void {
  if (changes.length === 0) say('no difference');
  for (const change of changes) {
    say(`${change.what} ${oneLine(change.what === 'delete' ? change.name : change.policy.name)}${behindTold(change)}`);
    // Texts of policies, line by line: nothing of them reaches the terminal as a control character.
    for (const line of change.diff.split('\n').filter((text) => text !== '')) say(`  ${diffLine(line)}`);
  }
  const left = elsewhere.filter((name) => !changes.some((change) => change.what === 'delete' && change.name === name));
  if (left.length > 0) say(`not in the folder, left alone: ${left.map((name) => oneLine(name)).join(', ')}`);
  if (spared.length > 0) say('what was installed from a template or mined is deleted by `gate policy delete`');
}
