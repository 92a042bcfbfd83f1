import Table from 'cli-table3';
import type { Command } from 'commander';
import { toolClass } from '../contracts/policy.js';
import { toolName } from '../contracts/storable.js';
import type { ClassedTool, ListedTool, SetClass, ToolList } from '../contracts/tools.js';
import { oneLine } from '../domain/printable.js';
import { clipped } from '../domain/text.js';
import { suggestClasses } from '../domain/tool-classes/suggest.js';
import { CliError } from './errors.js';
import { type Asked, askProxy, withTarget } from './operators-command.js';
import { gateCommand, print } from './output.js';
import type { LiteFlags } from './lite-target.js';

interface SetOptions {
  readonly reason?: string;
  readonly definition?: string;
  readonly unlisted?: boolean;
}

/** What a hint repeats of the command that was typed. */
const asGiven = ({ endpoint: url, tenant }: LiteFlags): string =>
  `${url === undefined || url === process.env['GATE_LITE_URL'] ? '' : ` --endpoint ${url}`}${tenant === undefined ? '' : ` --tenant ${tenant}`}`;

const hoursOf = (days: number): number => {
  if (!(days >= 1 && days <= 30)) throw new CliError('--days is a number from 1 to 30', 2);
  return days * 24;
};

/** `gate tools`: lists what each tool may do, and who said so. */
export function registerTools(program: Command): void {
  const tools = program
    .command('tools')
    .description('list the tools with their classes and what they did lately; set, forget or suggest classes');
  withTarget(tools.command('list', { isDefault: true }), 'tools')
    .description('every tool that agents were shown, that was called or that is classed')
    .option('--days <n>', 'how far back calls are counted', Number, 1)
    .option('--unclassed', 'only tools that wait because nobody classed them')
    .action(async ({ json: asJson, days, unclassed, ...given }: Asked & { days: number; unclassed?: boolean }) => {
      const list = await askProxy<ToolList>(given, 'GET', `/tools?hours=${hoursOf(days)}`);
      const shown = list.tools.filter((tool) => !unclassed || (tool.class === null && tool.rule?.effect !== 'denies'));
      if (asJson) return print({ ...list, tools: shown });
      if (shown.length === 0)
        return void process.stdout.write(`(no tools of ${oneLine(list.upstream)} are known yet)\n`);
      process.stdout.write(`upstream: ${oneLine(list.upstream)}\n`);
      const table = new Table({
        head: ['tool', 'class', 'said by', 'ran', 'asked', 'denied', 'failed'],
        colAligns: ['left', 'left', 'left', 'right', 'right', 'right', 'right'],
        style: { head: [], border: [] },
        wordWrap: true,
      });
      for (const tool of shown) {
        const { ran, asked, denied, failed } = tool.lately;
        table.push(
          [narrow(tool.tool), classOf(tool), sayer(tool), ran, asked, denied, failed].map((cell) =>
            oneLine(String(cell)),
          ),
        );
      }
      process.stdout.write(`${table.toString()}\n`);
      if (shown.some((tool) => (tool.class === null && tool.rule?.effect !== 'denies') || tool.suspended))
        process.stdout.write(
          `\nclass one: ${gateCommand()} tools set <tool> read|change|review|strict|deny --reason "…"${asGiven(given)}\n`,
        );
    });

  withTarget(tools.command('set'), 'tools')
    .description('say what a tool does: read and change run, review and strict wait, deny is denied')
    .argument('<tool>', 'the name as agents are shown it')
    .argument('<class>', toolClass.options.join(', '))
    .option('--reason <text>', 'recorded with it')
    .option('--definition <sha256>', 'refused where agents are shown another definition by now')
    .option('--unlisted', 'also a name that no list of the upstream has shown')
    .action(
      async (
        tool: string,
        said: string,
        { reason, definition, unlisted, json: asJson, ...given }: Asked & SetOptions,
      ) => {
        const wanted = toolClass.safeParse(said);
        if (!wanted.success) throw new CliError(`a class is one of ${toolClass.options.join(', ')}, not ${said}`, 2);
        const set = await askProxy<SetClass>(given, 'POST', '/tools/class', {
          tool,
          class: wanted.data,
          ...(reason && { reason }),
          ...(definition && { definition_sha256: definition }),
          ...(unlisted && { unlisted }),
        });
        if (asJson) return print(set);
        const bound = set.definition_sha256 ? `, for the definition ${set.definition_sha256.slice(0, 12)}` : '';
        const unknown = set.definition_sha256
          ? ''
          : '\nno list has shown an agent a tool of that name, so the class is bound to no definition: set it again after a tools/list';
        process.stdout.write(
          `${oneLine(tool)} is ${set.class}, by ${oneLine(set.set_by)}${bound}; ${effectOf(set)}${unknown}\n`,
        );
      },
    );

  withTarget(tools.command('forget'), 'tools')
    .description('take a class back: the shipped data and the name count again')
    .argument('[tool]')
    .option('--all', 'every class of the upstream, also where they cannot be read any more')
    .action(async (tool: string | undefined, { all, json: asJson, ...given }: Asked & { all?: boolean }) => {
      if ((tool === undefined) === !all) throw new CliError('name a tool, or --all', 2);
      const { forgotten } = await askProxy<{ forgotten: number }>(
        given,
        'POST',
        '/tools/forget',
        all ? { all } : { tool },
      );
      if (asJson) return print({ forgotten });
      if (!all && forgotten === 0) throw new CliError(`${oneLine(tool ?? '')} is not classed by an operator`, 4);
      process.stdout.write(all ? `forgot ${forgotten} classes\n` : `forgot the class of ${oneLine(tool ?? '')}\n`);
    });

  withTarget(tools.command('suggest'), 'tools')
    .description('propose classes from what was called, as it was in a week of observe mode; --apply sets them')
    .option('--days <n>', 'how far back calls are counted', Number, 7)
    .option('--apply', 'set what is shown')
    .action(async ({ days, apply, json: asJson, ...given }: Asked & { days: number; apply?: boolean }) => {
      const { tools: known, upstream } = await askProxy<ToolList>(given, 'GET', `/tools?hours=${hoursOf(days)}`);
      const proposed = suggestClasses(known);
      if (asJson) print({ upstream, applied: apply === true, suggestions: proposed });
      else if (proposed.length === 0)
        process.stdout.write('(nothing to propose: every tool that was called is classed, or plainly reads)\n');
      else {
        const table = new Table({ head: ['tool', 'class', 'why'], style: { head: [], border: [] }, wordWrap: true });
        for (const one of proposed) table.push([narrow(one.tool), one.class, one.why].map(oneLine));
        process.stdout.write(`${table.toString()}\n`);
      }
      if (!apply) {
        if (!asJson && proposed.length > 0)
          process.stdout.write(
            `\nlook at each; set them all: ${gateCommand()} tools suggest --apply${asGiven(given)}\n`,
          );
        return;
      }
      const shownAs = new Map(known.map((tool) => [tool.tool, tool.definition_sha256]));
      let count = 0;
      for (const one of proposed) {
        const fault = toolName.safeParse(one.tool).error?.issues[0]?.message;
        if (fault !== undefined) {
          process.stderr.write(`skipped ${oneLine(one.tool)}, which no class can be set for: ${fault}\n`);
          continue;
        }
        await askProxy<ClassedTool>(given, 'POST', '/tools/class', {
          tool: one.tool,
          class: one.class,
          reason: `suggested: ${one.why}`,
          // Tools that were called but that no list has shown are proposed too.
          ...(shownAs.get(one.tool) ? { definition_sha256: shownAs.get(one.tool) } : { unlisted: true }),
        });
        count += 1;
      }
      if (!asJson && proposed.length > 0) process.stdout.write(`set ${count} ${count === 1 ? 'class' : 'classes'}\n`);
    });
}

/** A longer name would make every row of a table as wide; `--json` has it whole. */
const WIDEST = 80;
const narrow = (name: string): string => (name.length <= WIDEST ? name : `${clipped(name, WIDEST - 1)}…`);

const RUNS: ReadonlySet<string | null> = new Set(['read', 'change']);

/** What a class that was set changes. A rule that stops the tool by its name does so under any class. */
function effectOf({ class: said, rule }: SetClass): string {
  if (rule === null || said === 'deny' || (rule.effect === 'asks' && !RUNS.has(said))) return 'it counts from now on';
  return `its calls ${rule.effect === 'denies' ? 'are denied' : 'wait'} all the same, because of its name: ${oneLine(rule.reason)} No class changes that`;
}

function classOf(tool: ListedTool): string {
  if (tool.suspended) return `${tool.class ?? ''} (suspended: its definition changed or is not listed)`;
  if (tool.rule?.effect === 'denies' && tool.class !== 'deny')
    return tool.class === null ? 'denied by a rule' : `${tool.class}, denied by a rule`;
  if (tool.rule?.effect === 'asks' && RUNS.has(tool.class)) return `${tool.class ?? ''}, waits by a rule`;
  return tool.class ?? 'not classed: waits';
}

const SAYERS: Readonly<Record<ListedTool['source'], string>> = {
  operator: 'operator',
  shipped: 'shipped data',
  name: 'its name reads',
  none: '',
};
const sayer = (tool: ListedTool): string => tool.set_by ?? SAYERS[tool.source];
