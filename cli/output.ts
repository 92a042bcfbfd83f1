import { writeFileSync } from 'node:fs';
import { relative, resolve, isAbsolute } from 'node:path';
import { Option } from 'commander';
import { PROJECT_ROOT } from '../config/project-root.js';
import { CliError } from './errors.js';

/** Where the settings of processes stand, for the help of what starts them; `named` is what `gate config` takes. */
export const settingsHelp = (heading: string, named: string): string => `
Settings are variables of the environment. docs/reference/settings.md has each, with its meaning and default, under
"${heading}"; gate config${named} prints the same.`;

export const json = () => new Option('--json', 'print JSON instead of a table');
export const print = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);

/** Writes what a command was asked to put into a file. Says in one line why it cannot be written. */
export function writeOut(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw new CliError(`${file} cannot be written (${(error as NodeJS.ErrnoException).code ?? 'error'})`);
  }
}

/**
 * How `gate` is typed in this folder, for commands that are printed. `npx` finds Gate in Gate's own folder alone; elsewhere it asks the package
 * registry for a package of this name, which is somebody else's program.
 */
export function gateCommand(cwd = process.cwd(), program = process.argv[1] ?? ''): string {
  const within = relative(PROJECT_ROOT, cwd);
  if (!within.startsWith('..') && !isAbsolute(within)) return 'npx gate';
  const path = resolve(program);
  return /^[\w./+@-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}

/** Wraps text into lines of at most `width` characters, between words where possible. Drops nothing. */
export function wrapped(text: string, width: number): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
    for (; line.length > width; line = line.slice(width)) lines.push(line.slice(0, width));
  }
  return [...lines, line].join('\n');
}

/** Printed below the first line of a start in observe mode. */
export const observed = (variable: 'GATE_MODE' | 'GATE_LITE_MODE') => `

  OBSERVE MODE: every call runs, also what would be denied or wait for a person; it is only recorded. \`${gateCommand()} report\` counts it,
  \`${gateCommand()} tools suggest\` proposes classes from it; without ${variable}=observe${variable === 'GATE_LITE_MODE' ? ' (or --mode observe)' : ''} verdicts are honoured`;
