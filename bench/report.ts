import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { isAbsolute, join, relative } from 'node:path';
import { PROJECT_ROOT } from '../config/project-root.js';
import type { Machine } from './machine.js';

type TableRow = Readonly<Record<string, string | number | null>>;

export interface Report {
  readonly title: string;
  readonly machine: Machine;
  readonly notes: readonly string[];
  readonly tables: Readonly<Record<string, readonly object[]>>;
}

/** Prints the tables and keeps them as `bench/results/<date>-<what>.json` and `.md`, with the machine, the commit that the run began at and the command. */
export function writeReport(what: string, report: Report): void {
  const made = { date: new Date().toISOString().slice(0, 10), commit: BEGUN_AT, command: command() };
  const folder = join(PROJECT_ROOT, 'bench', 'results');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${made.date}-${what}`);
  writeFileSync(`${file}.json`, `${JSON.stringify({ what, ...made, ...report }, null, 2)}\n`);
  writeFileSync(`${file}.md`, markdown(report, made));
  for (const [name, rows] of Object.entries(report.tables)) {
    process.stdout.write(`\n${name}\n`);
    console.table(rows);
  }
  process.stdout.write(`written to bench/results/${made.date}-${what}.{json,md}\n`);
}

function markdown(
  { title, machine, notes, tables }: Report,
  { date, commit, command }: { date: string; commit: string; command: string },
): string {
  const facts = `${machine.cores} cores (${machine.cpu}), ${machine.memory_gib} GiB, Node ${machine.node} ${machine.arch}, fdatasync of 4 KiB ${machine.fdatasync_ms} ms, load average before ${machine.load_before}`;
  const sections = Object.entries(tables).map(([name, rows]) => `## ${name}\n\n${table(rows as TableRow[])}\n`);
  return [
    `# ${title}\n`,
    `${date}, commit ${commit}, \`${command}\`\n`,
    `${facts}.\n`,
    `${notes.map((note) => `- ${note}`).join('\n')}\n`,
    ...sections,
  ].join('\n');
}

function table(rows: readonly TableRow[]): string {
  const columns = Object.keys(rows[0] ?? {});
  const line = (cells: readonly unknown[]) => `| ${cells.join(' | ')} |`;
  return [
    line(columns.map((column) => column.replaceAll('_', ' '))),
    line(columns.map((column) => (typeof rows[0]?.[column] === 'number' ? '--:' : '---'))),
    ...rows.map((row) => line(columns.map((column) => row[column] ?? ''))),
  ].join('\n');
}

/** As it was typed, but for the folders of whoever typed it. */
const command = (): string =>
  ['npm run bench --', ...process.argv.slice(2).map((word) => (isAbsolute(word) ? relative('.', word) : word))].join(
    ' ',
  );

/** What was measured, and what it was compared with. */
function commits(): string {
  const at = process.argv.indexOf('--other');
  const other = at === -1 ? undefined : process.argv[at + 1];
  return other === undefined ? commitIn(PROJECT_ROOT) : `${commitIn(PROJECT_ROOT)}, the other side ${commitIn(other)}`;
}

/** Somebody may commit while a long run measures. */
const BEGUN_AT = commits();

function commitIn(folder: string): string {
  try {
    const git = (...args: string[]) =>
      execFileSync('git', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    return git('rev-parse', '--short', 'HEAD');
  } catch {
    return 'unknown';
  }
}
