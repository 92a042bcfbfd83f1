const ENDS_COMMAND = /[\s;{}!]/;
/** Commands whose rest of the line is a file, a text or a label. */
const TAKES_LINE = 'aicrRbtT:#v';

/** Where text behind a delimiter ends: behind the next one that nothing escapes. A line's end ends it too. */
function behind(script: string, from: number, delimiter: string): number {
  let at = from;
  while (at < script.length && script[at] !== delimiter) at += script[at] === '\\' ? 2 : 1;
  return at + 1;
}

/** The files that a script of sed writes: `w FILE`, `W FILE`, `s/a/b/w FILE`. Takes linear time; of what is no script, none. */
export function filesWritten(script: string): readonly string[] {
  const found: string[] = [];
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
      while (sign === 's' && /[gpiIeEmM\d]/.test(script[at] ?? '')) at += 1;
      if (sign === 's' && script[at] === 'w') at = write(at + 1);
    } else if (TAKES_LINE.includes(sign)) at = lineFrom(at);
    else at += 1;
  }
  return found;
}
