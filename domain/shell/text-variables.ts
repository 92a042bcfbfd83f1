import type { Assignment, Word } from './command.js';
import { BEFORE_GROUP, FUNCTIONS, hasFunction, RESETTERS, SETTERS, TAKES_COMMAND } from './names-given.js';

/** Of what a text gives a variable, that much is kept; the rest only a shell knows. */
const LONGEST_KEPT = 256;
const ASSIGNS = /^([A-Za-z_]\w{0,63})(\+|\[[^\]]{0,64}\])?=$/;
/** Words behind a command that sets variables which are looked at. */
const NAMED = 8;

/** Whether an assignment may stand behind this word: at the beginning, and behind what begins a command of its own. */
const mayAssign = (before: { readonly text: string; readonly quoted: boolean } | undefined): boolean =>
  before === undefined || (!before.quoted && (BEFORE_GROUP.has(before.text) || /[){]$/.test(before.text.slice(-1))));

/** The variables that a text sets, as far as it was read, and what of their values only a shell knows. */
export class TextVariables {
  /** The names, to whatever value; `@` stands for all that a shell is given, and `FUNCTIONS` for functions. */
  readonly set: Set<string>;
  readonly #values = new Map<string, string>();
  /** Those of them whose value is not known. */
  readonly #vague = new Set<string>();
  /** A command may have changed variables without naming them. */
  #resets = false;

  constructor(text: string) {
    this.set = new Set<string>(hasFunction(text) ? [FUNCTIONS] : []);
  }

  valueOf(called: string): string | undefined {
    return this.#values.get(called);
  }

  /** Whether the value may be another one where the text stands. With separators of its own, a shell makes other words of it. */
  isUnsure(called: string, inQuotes: boolean): boolean {
    return this.#resets || this.#vague.has(called) || (this.set.has('IFS') && !inQuotes);
  }

  makeVague(called: string): void {
    this.#vague.add(called);
  }

  /** `${x:=value}`; `null` for a value that only a shell knows. */
  default(called: string, value: string | null): void {
    this.set.add(called);
    if (value === null) this.#vague.add(called);
    else if (!this.#values.get(called)) this.#values.set(called, value.replaceAll(/["'\\]/g, ''));
  }

  /** The assignment that a word is behind this other one; `null` where it is none. */
  assigned(word: Word, before: Word | undefined): Assignment | null {
    const equals = word.text.indexOf('=');
    const [, called, how] = equals > 0 && mayAssign(before) ? (ASSIGNS.exec(word.text.slice(0, equals + 1)) ?? []) : [];
    if (called === undefined) return null;
    const known = this.#values.get(called);
    const given = word.text.slice(equals + 1);
    const whole = `${how === '+' ? (known ?? '') : ''}${given}`;
    const value = whole.slice(0, LONGEST_KEPT);
    this.#values.set(called, value);
    if (value !== whole) this.#vague.add(called);
    this.set.add(called);
    // Only a shell knows which assignment reaches a command: one may be in a group, behind `false &&` or before another program.
    if (known !== undefined && known !== value) this.#vague.add(called);
    if (word.unknown !== '' || word.runs.length > 0 || how?.startsWith('[') || given.startsWith('('))
      this.#vague.add(called);
    return { name: called, value: given, isQuoted: /^["']/.test(word.raw) };
  }

  /** Notes the variables that a command sets: `read a`, `for a in x`, `set -- x`. */
  command(all: readonly Word[]): void {
    const first = all.findIndex(({ text: word }) => !BEFORE_GROUP.has(word) && !TAKES_COMMAND.has(word));
    const setter = all[first]?.text ?? '';
    this.#resets ||= RESETTERS.has(setter) && all.length > first + 1 && this.#values.size > 0;
    if (!SETTERS.has(setter)) return;
    this.#resets ||= /^-\w{0,8}n/.test(all[first + 1]?.text ?? '') && this.#values.size > 0;
    if (setter === 'set' || setter === 'shift') this.set.add('@');
    else
      for (const { text: given } of all.slice(first + 1, first + 1 + NAMED)) {
        const called = /^[A-Za-z_]\w{0,63}/.exec(given)?.[0];
        if (called === undefined) continue;
        this.set.add(called);
        this.#vague.add(called);
      }
  }
}
