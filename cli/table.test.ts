import { describe, expect, it } from '@jest/globals';
import { table } from './table.js';

const ID = '0190b8d0-0000-7000-8000-000000000000';
const COLUMNS = [{ head: 'id', whole: true }, { head: 'agent' }, { head: 'why' }];
const ROWS = [
  [ID, 'support-bot', 'money waits for a person, because it cannot be brought back'],
  [ID, 'b', 'short'],
];
const widest = (text: string) => Math.max(...text.split('\n').map((line) => line.length));

describe('a table on a terminal', () => {
  it('is as wide as its cells where there is room, or no terminal', () => {
    const natural = table(COLUMNS, ROWS, Infinity);
    expect(natural).toContain('│ money waits for a person, because it cannot be brought back │');
    expect(table(COLUMNS, ROWS, widest(natural))).toBe(natural);
  });

  it.each([110, 90, 80, 72])(
    'wraps text between words at %i columns; an id stays whole, and nothing is cut',
    (width) => {
      const wrapped = table(COLUMNS, ROWS, width);
      expect(widest(wrapped)).toBeLessThanOrEqual(width);
      expect(wrapped).toContain('┌');
      expect(wrapped).toContain(`│ ${ID} │ support-bot │`);
      const why = wrapped.split('\n').flatMap((line) => line.split('│')[3]?.trim() || []);
      expect(why.join(' ')).toContain('why money waits for a person, because it cannot be brought back short');
    },
  );

  it('is a block for each row where no table fits', () => {
    expect(table(COLUMNS, ROWS, 46)).toBe(
      [
        `id     ${ID}`,
        'agent  support-bot',
        'why    money waits for a person, because it',
        '       cannot be brought back',
        '',
        `id     ${ID}`,
        'agent  b',
        'why    short',
      ].join('\n'),
    );
  });

  it('shows what would move the cursor as what it is', () => {
    for (const width of [Infinity, 20])
      for (const hidden of ['\u001b', 'y\n'])
        expect(table([{ head: 'a' }], [['x\u001b[2Jy\nz']], width)).not.toContain(hidden);
  });
});
