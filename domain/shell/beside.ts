import { NAMES_ARGUMENTS, NAMES_PROGRAM, plain } from '../argument-names.js';
import { type Member, scalarsIn } from '../argument-texts.js';
import type { MembersLine } from './joined.js';
import { commandLine } from './named-program.js';
import type { Paths } from './paths.js';

/** Vital folders of one object that are followed; with more of them all but these few are other things than a place to run in. */
const MOST = 8;
const BEGINS_LIKE_PATH = /^(?:[/\\~]|\.{2}(?:[/\\]|$)|[a-z]:[/\\]|file:|\$)/i;

const isProgram = (name: string): boolean => {
  const short = plain(name);
  return NAMES_PROGRAM.has(short) || short === 'script' || short === 'argv';
};

/**
 * The folders in which a tool may run the command that stands beside them, whatever the argument is called: `{"cwd": "/etc", "command": "rm
 * x"}`. Only those where names alone are vital or hold secrets. None without a command.
 */
export function foldersBeside(members: readonly Member[], paths: Paths): readonly string[] {
  if (!members.some(([name]) => isProgram(name))) return [];
  const found = new Set<string>();
  for (const [name, value] of members) {
    if (isProgram(name) || NAMES_ARGUMENTS.has(plain(name))) continue;
    const texts = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.values(value) : [value];
    for (const text of texts)
      if (typeof text === 'string' && BEGINS_LIKE_PATH.test(text) && !text.includes('\n') && paths.isVitalFolder(text))
        found.add(text);
  }
  return [...found].slice(0, MOST);
}

/** The commands as they are written: one text, or a list of words. */
export const linesWritten = (members: readonly Member[]): readonly MembersLine[] =>
  members.flatMap(([name, value]) => {
    if (!isProgram(name)) return [];
    if (typeof value === 'string') return [{ name, line: value }];
    return Array.isArray(value) ? [{ name, line: commandLine(scalarsIn(value)) }] : [];
  });
