import { touchesUuid } from '../iban.js';
import { isIssued } from './sensitive-data.js';
import { BESIDE, JOINED, type Signs, signsOf } from '../signs.js';

const SHORTEST = 13;
const LONGEST = 19;
const MOST_GROUPS = 4;

interface Group {
  /** Of its first sign, and of the one behind its last. */
  readonly first: number;
  readonly behind: number;
}

/**
 * Card numbers, by their place: of one group, or in groups as on the card with the same between all of them, whatever that is. Whole words
 * of digits, and no digits behind the point of a fraction. In order, in time linear in the text.
 */
export function* writtenCardsIn(text: string): Generator<readonly [start: number, end: number]> {
  if (text.length < SHORTEST) return;
  const signs = signsOf(text);
  const { starts, ends } = signs;
  /** Groups that are joined to each other, the last ones. */
  let groups: Group[] = [];
  /** Up to where the text is read. */
  let from = 0;
  for (const group of groupsOf(signs)) {
    if (signs.gaps[group.first] !== JOINED || groups.at(-1)?.behind !== group.first) groups = [];
    groups = [...groups.slice(1 - MOST_GROUPS), group];
    for (let first = 0; first < groups.length; first += 1) {
      const card = groups.slice(first);
      const start = starts[(card[0] as Group).first] as number;
      const end = ends[group.behind - 1] as number;
      if (start < from || !isAsOnCard(signs, text, card) || isFraction(signs, text, card, from)) continue;
      if (!isIssued(card.map((one) => digitsOf(signs, one)).join('')) || touchesUuid(text, start, end)) continue;
      from = end;
      groups = [];
      yield [start, end];
      break;
    }
  }
}

/** Words of digits alone that may be a part of a card. */
function* groupsOf({ count, codes, gaps }: Signs): Generator<Group> {
  for (let at = 0; at < count; ) {
    const first = at;
    let isNumber = true;
    do {
      isNumber &&= (codes[at] as number) < 10;
      at += 1;
    } while (at < count && gaps[at] === BESIDE);
    if (isNumber && at - first <= LONGEST) yield { first, behind: at };
  }
}

const digitsOf = ({ codes }: Signs, { first, behind }: Group): string => codes.subarray(first, behind).join('');

function isAsOnCard({ starts, ends }: Signs, text: string, groups: readonly Group[]): boolean {
  const [first = 0, second = 0, third = 0, fourth = 0] = groups.map((group) => group.behind - group.first);
  const isShaped =
    groups.length === 1
      ? first >= SHORTEST
      : first === 4 &&
        ((second === 6 && groups.length === 3 && (third === 4 || third === 5)) ||
          (second === 4 && third === 4 && fourth >= 1 && fourth <= 7));
  if (!isShaped) return false;
  const between = groups.slice(1).map(({ first }) => text.slice(ends[first - 1] as number, starts[first] as number));
  return between.every((gap) => gap === between[0]);
}

function isFraction({ codes, starts, ends }: Signs, text: string, [group]: readonly Group[], from: number): boolean {
  const { first } = group as Group;
  if (first === 0 || (codes[first - 1] as number) > 9 || (ends[first - 1] as number) <= from) return false;
  return text.slice(ends[first - 1] as number, starts[first] as number) === '.';
}
