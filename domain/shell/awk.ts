/**
 * Whether a program of awk runs another one: it calls `system`, writes to a pipe or reads from one. What stands in its texts and expressions
 * counts for nothing. Takes linear time.
 */
export function runsAnother(program: string): boolean {
  let bare = '';
  for (let at = 0; at < program.length; at += 1) {
    const sign = program[at] as string;
    // Behind a value a slash divides; elsewhere it begins an expression.
    const opens = sign === '"' || (sign === '/' && !/[\w)\]$]$/.test(bare.slice(-1)));
    if (!opens) {
      if (!/\s/.test(sign)) bare += sign;
      continue;
    }
    at += 1;
    while (at < program.length && program[at] !== sign && program[at] !== '\n') at += program[at] === '\\' ? 2 : 1;
    bare += '_';
  }
  return /\||system\(|@load/.test(bare.replaceAll('||', ''));
}
