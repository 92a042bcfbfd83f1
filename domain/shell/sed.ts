const ENDS_COMMAND = /[\s;{}!]/;
/** Commands whose rest of the line is a file or a text. */
const TAKES_LINE = 'aicrR#';
/** Commands whose next word is a label or a version. */
const TAKES_WORD = 'btT:v';
const ENDS_WORD = /[\s;}]/;

/** Where text behind a delimiter ends: behind the next one that nothing escapes and, if they are read, that stands in no brackets. */
function behind(script: string, from: number, delimiter: string, readsBrackets: boolean): number {
  let at = from;
  while (at < script.length && script[at] !== delimiter) {
    if (script[at] === '\\') at += 2;
    else at = readsBrackets && script[at] === '[' ? behindBracket(script, at) : at + 1;
  }
  return at + 1;
}
/** `[]/]`, `[^]/]`: a bracket that stands first in them does not end them. One that never ends is a character. */
function behindBracket(script: string, from: number): number {
  const length = /^\[\^?[^\n][^\]\n]{0,256}\]/.exec(script.slice(from, from + LONGEST_BRACKET))?.[0].length ?? 1;
  return from + length;
}
const LONGEST_BRACKET = 256;

/** What a script of sed does besides: the files that it writes, and whether it runs a command. */
interface SedDeeds {
  readonly files: readonly string[];
  readonly runs: boolean;
}

/** Whether brackets of an expression may hold its delimiter depends on the sed, so both readings count. */
const deedsOf = (script: string): SedDeeds => {
  const plain = readDeeds(script, false);
  if (!script.includes('[')) return plain;
  const other = readDeeds(script, true);
  return { files: [...plain.files, ...other.files], runs: plain.runs || other.runs };
};

/** Reads `w FILE`, `W FILE`, `s/a/b/w FILE`, `e COMMAND`, `s/a/b/e`. Takes linear time; of what is no script, nothing of use. */
function readDeeds(script: string, readsBrackets: boolean): SedDeeds {
  const found: string[] = [];
  let runs = false;
  const lineFrom = (at: number): number => {
    const end = script.indexOf('\n', at);
    return end < 0 ? script.length : end;
  };
  const write = (at: number): number => {
    const end = lineFrom(at);
    found.push(script.slice(at, end).trim());
    return end;
  };
  for (let at = 0; at < script.length; ) {
    const sign = script[at] as string;
    if (ENDS_COMMAND.test(sign)) at += 1;
    else if (sign === 'w' || sign === 'W') at = write(at + 1);
    else if (sign === '/') at = behind(script, at + 1, '/', readsBrackets);
    else if (sign === '\\') at = behind(script, at + 2, script[at + 1] ?? '', readsBrackets);
    else if (sign === 's' || sign === 'y') {
      const delimiter = script[at + 1] ?? '';
      at = behind(script, behind(script, at + 2, delimiter, readsBrackets), delimiter, false);
      for (; sign === 's' && /[gpiIeEmM\d]/.test(script[at] ?? ''); at += 1) runs ||= script[at] === 'e';
      if (sign === 's' && script[at] === 'w') at = write(at + 1);
    } else if (sign === 'e') {
      runs = true;
      at = lineFrom(at);
    } else if (TAKES_LINE.includes(sign)) at = lineFrom(at);
    else if (TAKES_WORD.includes(sign)) {
      at += 1;
      while (script[at] === ' ') at += 1;
      while (at < script.length && !ENDS_WORD.test(script[at] as string)) at += 1;
    } else at += 1;
  }
  return { files: found, runs };
}

export const filesWritten = (script: string): readonly string[] => deedsOf(script).files;

/** Whether sed runs a command, by any of the scripts among its arguments. */
export const runsBySed = (args: readonly string[]): boolean => scriptsOf(args).some((script) => deedsOf(script).runs);

/** The scripts among the arguments: behind `-e`, in the same word or the next, or the first word that is no option. */
function scriptsOf(args: readonly string[]): readonly string[] {
  const told: string[] = [];
  let first: string | undefined;
  let isTold = false;
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] as string;
    const option = /^(?:-[nrEszub]{0,8}([ef])|--(e|fi)[a-z]{0,16}(?:=|$))/.exec(arg);
    if (option === null) {
      // `-l 5`: no script.
      if (/^(?:-[nrEszub]{0,8}l|--line-length)$/.test(arg)) at += 1;
      else if (!/^-./.test(arg)) first ??= arg;
      continue;
    }
    isTold = true;
    const own = arg.slice(option[0].length);
    const isSame = own !== '' || arg.endsWith('=');
    if ((option[1] ?? option[2]?.[0]) === 'e') told.push(isSame ? own : (args[at + 1] ?? ''));
    if (!isSame) at += 1;
  }
  return isTold || first === undefined ? told : [first];
}
