/** The longest name of a variable that is read. */
export const LONGEST_VARIABLE = 64;
/** Commands that set variables by their names, or what the shell is given. */
export const SETTERS = new Set(
  'for select read mapfile readarray getopts declare local typeset export readonly printf set shift'.split(' '),
);
/** Commands that may change any variable. */
export const RESETTERS = new Set(['eval', 'unset', 'source', '.', 'trap']);
/** Words of the grammar behind which a bracket opens a group: `if(rm x)`. */
export const BEFORE_GROUP = new Set(['if', 'then', 'else', 'elif', 'while', 'until', 'do', '!', 'time', 'coproc', '{']);

/** Stands among the variables that a text sets, where it has functions: what those are given is `$1` and `$@` in them. */
export const FUNCTIONS = '()';
const HAS_FUNCTION = /\(\s{0,64}\)\s{0,64}(?:[{([]|if\s|for\s|while\s|until\s|case\s|select\s)/;
/** A comment may stand between the brackets of a function and its body. */
export const hasFunction = (text: string): boolean =>
  HAS_FUNCTION.test(text) ||
  (text.includes('()') &&
    text.includes('#') &&
    HAS_FUNCTION.test(
      text
        .split('\n')
        .map((line) => line.split('#', 1)[0])
        .join('\n'),
    ));
/** `a=x`, `a+=x`, `a[0]=x`, `a"="x`, and not `a=$a` or `a="$a"`. */
function isGiven(text: string, end: number, name: string): boolean {
  const sign = /^["'\\]{0,2}(?:\+?=|\[)["'\\]{0,2}/.exec(text.slice(end, end + 8))?.[0];
  if (sign === undefined) return false;
  const value = text.slice(end + sign.length, end + sign.length + name.length + 3);
  return !value.startsWith(`$${name}`) && !value.startsWith(`\${${name}`);
}
const GIVEN_BY_SHELLS: readonly string[] = ['_', 'REPLY', 'MAPFILE', 'BASH_REMATCH', 'OPTARG', 'COPROC'];
export const TAKES_COMMAND = new Set(['command', 'builtin']);
const BEFORE_SETTER = new Set([...TAKES_COMMAND, 'eval']);

/**
 * Names that a text may give a value, wherever in it and however deep in quotes and words before them: a name right before `=`, `+=` or `[`,
 * but not one that is given itself (`id=$id`, a template), and each behind a command that sets variables. A name behind `$` is none; one too
 * long counts by its beginning. A shell gives some names values by itself. Takes linear time.
 */
export function namesGiven(text: string): ReadonlySet<string> {
  const given = new Set(GIVEN_BY_SHELLS);
  let sets = false;
  let begins = true;
  let end = 0;
  for (const { 0: found, index } of text.matchAll(/[A-Za-z_]\w{0,63}|[;&|\n({]/g)) {
    // A setter sets where a command may begin, and not as a word of a sentence.
    begins &&= !/[^\s\\]/.test(text.slice(Math.max(end, index - LONGEST_VARIABLE), index));
    end = index + found.length;
    if (/[;&|\n({]/.test(found)) {
      begins = true;
      if (found !== '(' && found !== '{') sets = false;
      continue;
    }
    const isRead = text[index - 1] === '$' || (text[index - 1] === '{' && text[index - 2] === '$');
    const option = sets && text[index - 1] === '-' && found.startsWith('v') ? found.slice(1) : '';
    if (!isRead && (sets || found.length === LONGEST_VARIABLE || isGiven(text, end, found)))
      given.add(found).add(option);
    if (begins && SETTERS.has(found)) sets = true;
    begins &&= BEFORE_GROUP.has(found) || BEFORE_SETTER.has(found);
  }
  return given;
}
