import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type BrainModels, readModels } from '../config/brain-models.js';
import { PROJECT_ROOT } from '../config/project-root.js';
import { type QualificationReport, QUALIFIED_LANES, type QualifiedLane } from '../contracts/brain-qualification.js';
import { errorText } from '../domain/errors.js';
import type { HeuristicLevel } from '../domain/inspection/texts.js';
import type { Progress } from '../domain/models/qualification/run.js';
import { CliError } from './errors.js';
import { unreadable } from './named-file.js';
import { json, print, writeOut } from './output.js';
import { leave, STOPPED_AT_ONCE, stopSignals } from './stop-signals.js';

interface Asked {
  readonly models?: string;
  readonly runs: number;
  readonly report?: string;
  readonly only?: QualifiedLane;
  readonly level: HeuristicLevel;
  readonly json?: boolean;
}

const MOST_RUNS = 20;
const runsOf = (text: string): number => {
  const runs = Number(text);
  if (!Number.isInteger(runs) || runs < 1 || runs > MOST_RUNS)
    throw new InvalidArgumentError(`must be a number from 1 to ${MOST_RUNS}`);
  return runs;
};
const tell = (line: string): void => void process.stderr.write(`${line}\n`);

/** `gate brain qualify`: whether the models of a file judge well enough to be relied on. */
export function registerBrain(program: Command): void {
  program
    .command('brain')
    .description('measure the models that judge beside the rules')
    .command('qualify')
    .description(
      'run the corpus that ships with Gate through the models of a file and hold the result against floors; asks models, which costs money, and changes nothing',
    )
    .option('--models <file>', 'the file of models; GATE_BRAIN_MODELS_FILE if absent')
    .option('--runs <n>', 'how often each case is judged; less than 3 does not qualify', runsOf, 3)
    .option('--report <file>', 'write the report there, for GATE_BRAIN_REQUIRE_QUALIFIED')
    .addOption(new Option('--only <lane>', 'cases of this lane alone; does not qualify').choices([...QUALIFIED_LANES]))
    .addOption(
      new Option('--level <level>', 'how the rules look for instructions, as Brain does')
        .choices(['standard', 'strict'])
        .env('GATE_INJECTION_HEURISTIC_LEVEL')
        .default('standard'),
    )
    .addOption(json())
    .action(
      async ({ models = process.env['GATE_BRAIN_MODELS_FILE'], runs, report, only, level, json: asJson }: Asked) => {
        if (!models) throw new CliError('which models? --models FILE, or set GATE_BRAIN_MODELS_FILE', 2);
        const file = modelsIn(models);
        if (report !== undefined) beWritable(report);
        const made = await stoppable(file, { runs, only, level });
        if (asJson) print(made);
        else process.stdout.write(`${summary(made)}\n`);
        if (made.result === 'fail') process.exitCode = 1;
        if (report !== undefined) keep(made, report, asJson === true);
      },
    );
}

/** Ends at the first Ctrl-C: what is under way is not waited for, and nothing is written. */
async function stoppable(
  file: BrainModels,
  asked: Pick<Asked, 'runs' | 'level'> & { readonly only?: QualifiedLane | undefined },
): Promise<QualificationReport> {
  const { qualifyModels } = await import('../api/brain/qualification.js');
  const { version } = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8')) as { version: string };
  const signals = stopSignals();
  let last: Progress | undefined;
  const work = qualifyModels(file, {
    ...asked,
    env: process.env,
    gateVersion: version,
    onProgress(progress) {
      if (isWorthALine(progress)) tell(progressLine(progress));
      last = progress;
    },
  });
  const stopped = signals.asked.then((signal): never => {
    void signals.again.then(() => {
      tell(STOPPED_AT_ONCE);
      process.exit(signal === 'SIGINT' ? 130 : 143);
    });
    throw new CliError(
      `stopped after ${last?.judged ?? 0} judgements, which cost ${dollars(last?.costMicros ?? 0)}; there is no report`,
    );
  });
  try {
    return await Promise.race([work, stopped]);
  } finally {
    leave();
  }
}

function modelsIn(name: string): BrainModels {
  try {
    return readModels(name);
  } catch (error) {
    throw new CliError(`${name}: ${errorText(error)}`, 2);
  }
}

/** Before a model is asked: what was paid for must not be lost. */
function beWritable(report: string): void {
  try {
    const isThere = existsSync(report);
    if (isThere && statSync(report).isDirectory()) throw Object.assign(new Error('a folder'), { code: 'EISDIR' });
    accessSync(isThere ? report : dirname(resolve(report)), constants.W_OK);
  } catch (error) {
    throw new CliError(`--report ${report}: ${unreadable(error)}`, 2);
  }
}

/** Writes the report. Where that fails after all, it is printed: it was paid for. */
function keep(made: QualificationReport, report: string, isPrinted: boolean): void {
  try {
    writeOut(report, `${JSON.stringify(made, null, 2)}\n`);
  } catch (error) {
    if (!isPrinted) print(made);
    throw error;
  }
}

const dollars = (micros: number): string => `$${(micros / 1_000_000).toFixed(4)}`;
const TENTHS = 10;
/** The first one, and each that completes another tenth. */
const isWorthALine = ({ judged, of }: Progress): boolean =>
  judged === 1 || Math.floor((judged * TENTHS) / of) > Math.floor(((judged - 1) * TENTHS) / of);
const progressLine = ({ round, rounds, judged, of, costMicros }: Progress): string =>
  `round ${round} of ${rounds}: ${judged} of ${of} judged, ${dollars(costMicros)}`;

const percent = (part: number, whole: number): string => (whole === 0 ? '-' : `${((part / whole) * 100).toFixed(1)} %`);

function summary({ rounds, violations, result, runs, report_sha256: digest }: QualificationReport): string {
  const lines: string[] = [];
  for (const [at, round] of rounds.entries()) {
    lines.push(`round ${at + 1}: ${[...new Set(Object.values(round.models))].join(', ')}; ${runs} runs`);
    const rows = [['', 'judged', 'found', 'false', 'failed', 'as rules', 'p95 ms', 'cost']];
    for (const [name, of] of [
      ['overall', round.overall] as const,
      ...Object.entries(round.lanes),
      ...Object.entries(round.categories),
      ...Object.entries(round.languages),
    ])
      rows.push([
        name,
        String(of.judged),
        percent(of.found, of.attacks),
        `${of.false_positives}/${of.ordinary}`,
        String(of.failures),
        percent(of.agrees_with_rules, of.judged),
        String(of.p95_ms),
        dollars(of.cost_micros),
      ]);
    lines.push(
      ...rows.map(([name = '', ...cells]) => `  ${name.padEnd(26)}${cells.map((cell) => cell.padStart(10)).join('')}`),
    );
    for (const { lane, model, reason, times } of round.failures)
      lines.push(`  no answer in ${lane} from ${model}: ${reason}, ${times} times`);
    if (round.missed.length > 0) lines.push(`  otherwise than expected: ${round.missed.join(', ')}`);
    if (round.ended_early !== null)
      lines.push(
        `  ended early: ${round.ended_early === 'cost' ? 'it cost too much' : 'too many questions had no answer'}`,
      );
  }
  for (const violation of violations) lines.push(`does not hold: ${violation}`);
  lines.push(`${result} (report ${digest.slice(0, 12)})`);
  return lines.join('\n');
}
