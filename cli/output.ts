import { writeFileSync } from 'node:fs';
import { Option } from 'commander';
import { CliError } from './errors.js';

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

  OBSERVE MODE: every call runs, also what would be denied or wait for a person; it is only recorded. \`npx gate report\` counts it,
  \`npx gate tools suggest\` proposes classes from it; without ${variable}=observe${variable === 'GATE_LITE_MODE' ? ' (or --mode observe)' : ''} verdicts are honoured`;
