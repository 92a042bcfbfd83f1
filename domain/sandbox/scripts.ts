import { mixedWord, quoted, wholeLookalike } from '../printable.js';
import { words } from '../text.js';
import type { ArgumentName, Leaf } from '../argument-values.js';
import type { Finding, ReadCall, Readers } from './finding.js';

/** Beside the policies' own: arguments that say who or where. */
const RECIPIENTS = words(
  'email emails mail cc bcc user username account accountid customer vendor supplier merchant company holder url uri host hostname domain channel',
);
const SAID = 64;
const MIXED = 'letters or digits of two scripts in one word';

/**
 * Letters of two scripts in one word, which look like one: a reason, and risky where they name an argument or whom the call is for. Of whom it is
 * for, a name that wholly looks like one of Latin letters is told too.
 */
export function readScripts({ leaves, groups }: ReadCall, first: Finding, { readName }: Readers): readonly Finding[] {
  const namesRecipient = (name: ArgumentName): boolean => RECIPIENTS.has(name.plain) || readName(name).payee !== null;
  const key = firstOf(groups.flatMap(({ members }) => members.map(([name]) => name)));
  const recipients = leaves.flatMap((leaf) => (isRecipient(leaf, namesRecipient) ? [String(leaf.value)] : []));
  const recipient = firstOf(recipients);
  const whole = firstOf(recipients, (text) => (mixedWord(text) === undefined ? wholeLookalike(text) : undefined));
  const any = key ?? recipient ?? firstOf(leaves.map(({ value }) => String(value)));
  if (any === undefined && whole === undefined) return [];
  const told = [
    ...(key === undefined ? [] : [`${MIXED}, the name of an argument: ${key}`]),
    ...(recipient === undefined ? [] : [`${MIXED}, whom the call is for: ${recipient}`]),
    ...(whole === undefined ? [] : [`letters that pass for Latin ones, whom the call is for: ${whole}`]),
  ];
  return [
    {
      ...first,
      severity: told.length > 0 ? 'risky' : 'safe',
      reasons: told.length > 0 ? told : [`${MIXED}: ${any}`],
    },
  ];
}

function firstOf(texts: readonly string[], find: (text: string) => string | undefined = mixedWord): string | undefined {
  for (const text of texts) {
    const found = find(text);
    if (found !== undefined) return quoted(found, SAID);
  }
  return undefined;
}

/** By any of the names that lead to the value, or by the look of an address. */
const isRecipient = ({ names, value }: Leaf, says: (name: ArgumentName) => boolean): boolean =>
  typeof value === 'string' && (value.includes('@') || value.includes('://') || names.some(says));
