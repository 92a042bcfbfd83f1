/** Columns of a character, at most: some from U+1100 on take two. */
export const columnsOf = (character: string): number => ((character.codePointAt(0) ?? 0) < 0x11_00 ? 1 : 2);

/** The line in pieces of at most so many columns, `later` behind the first; none of them is empty but that of an empty line. */
export function wrapped(line: string, columns: number, later = columns): string[] {
  const pieces: string[] = [];
  let piece = '';
  let taken = 0;
  for (const character of line) {
    const wide = columnsOf(character);
    if (piece !== '' && taken + wide > (pieces.length === 0 ? columns : later)) {
      pieces.push(piece);
      [piece, taken] = ['', 0];
    }
    piece += character;
    taken += wide;
  }
  return [...pieces, piece];
}

/** Where the values of a call stand, behind their labels. */
const VALUES = 15;
const MARK = '↳';

/** What stands before a piece of a line that began above: as far in as the values, where there is room for as much again. */
const before = (columns: number): string =>
  columns >= 2 * VALUES + 2 ? MARK.padEnd(VALUES) : columns >= 6 ? `${MARK} ` : ' ';

/**
 * The lines of a text about one call, those that are too long wrapped, so that none is cut. The pieces behind the first are marked: whoever
 * chose the text must not make a line that looks like one of Gate's own.
 */
export function linesOf(told: string, columns: number): string[] {
  const mark = before(columns);
  const room = columns - Array.from(mark, columnsOf).reduce((sum, wide) => sum + wide, 0);
  return told
    .trimEnd()
    .split('\n')
    .flatMap((line) => wrapped(line, columns, room).map((piece, at) => (at === 0 ? piece : `${mark}${piece}`)));
}

/** A text about one call for a terminal, which would otherwise break its lines itself; a file gets them as they are. */
export const toldOn = ({ isTTY, columns }: { isTTY?: boolean; columns?: number }, told: string): string =>
  isTTY === true && columns !== undefined && columns > 0 ? `${linesOf(told, columns).join('\n')}\n` : told;
