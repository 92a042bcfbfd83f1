const ENDS_COMMAND = /[\s;{}!]/;
/** Commands whose rest of the line is a file, a text or a label. */
const TAKES_LINE = 'aicrRbtT:#v';

/** Where text behind a delimiter ends: behind the next one that nothing escapes. A line's end ends it too. */
function behind(script: string, from: number, delimiter: string): number {
  let at = from;
  while (at < script.length && script[at] !== delimiter) at += script[at] === '\\' ? 2 : 1;
  return at + 1;
}

/** What a script of sed does besides: the files that it writes, and whether it runs a command. */
interface SedDeeds {
  readonly files: readonly string[];
  readonly runs: boolean;
}

/** Reads `w FILE`, `W FILE`, `s/a/b/w FILE`, `e COMMAND`, `s/a/b/e`. Takes linear time; of what is no script, nothing of use. */
function deedsOf(script: string): SedDeeds {
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
    else if (sign === '/') at = behind(script, at + 1, '/');
    else if (sign === '\\') at = behind(script, at + 2, script[at + 1] ?? '');
    else if (sign === 's' || sign === 'y') {
      const delimiter = script[at + 1] ?? '';
      at = behind(script, behind(script, at + 2, delimiter), delimiter);
      for (; sign === 's' && /[gpiIeEmM\d]/.test(script[at] ?? ''); at += 1) runs ||= script[at] === 'e';
      if (sign === 's' && script[at] === 'w') at = write(at + 1);
    } else if (sign === 'e') {
      runs = true;
      at = lineFrom(at);
    } else if (TAKES_LINE.includes(sign)) at = lineFrom(at);
    else at += 1;
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
    const option = /^(?:-[nrEszub]{0,8}([ef])|--(expr|file)[a-z]{0,16}(?:=|$))/.exec(arg);
    if (option === null) {
      if (!/^-./.test(arg)) first ??= arg;
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
