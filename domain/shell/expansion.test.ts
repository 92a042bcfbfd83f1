import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { seededRandom } from '../../test/support/random.js';
import { TookTooLong } from '../in-place.js';
import { Allowance } from './allowance.js';
import { createShellReader } from './read-shell.js';

const read = createShellReader({ carriers: [] });
const FOLDERS = 'cd /etc; cd /root; cd /boot; cd /usr; cd /lib; cd /proc; cd /sys; cd /sbin; ';
const EIGHT = 'bcdefghi'.replaceAll(/./g, (name) => `-C /etc/${name} `);
const EXPANDING = `${FOLDERS}cat ${'{a,b}'.repeat(5)}'\\%41'${'/.*a*b*c*d'.repeat(40)}`;

/** Processor time, because other work on the machine takes none of it; the least of three, because the first is also compiled. */
const cpuOf = (text: string): number => {
  const one = () => {
    const before = process.cpuUsage();
    read({ path: text }, new Allowance({ path: text }));
    return process.cpuUsage(before).user;
  };
  return Math.min(one(), one(), one());
};
const PLAIN_MICROS = cpuOf('cat a/b/c d/e/f; '.repeat(2_000));
/** The dearest takes 4 times as long as plain text. Without a bound on what is expanded, 511 characters take 50 times as long, and 911 200 times. */
const MOST_MICROS = 12 * PLAIN_MICROS;

describe('what paths of a text stand for', () => {
  it.each([
    ['spellings, folders and patterns together', EXPANDING],
    ['longer patterns', `${FOLDERS}cat ${'{a,b}'.repeat(5)}'\\%41'${'/.*a*b*c*d'.repeat(80)}`],
    ['many words', `${FOLDERS}mv ${"{a,b}{a,b}{a,b}'\\%41'/*e* ".repeat(40)}`],
    ['searched folders', `CDPATH=/a:/b:/c:/d:/e:/f:/g:/h; ${FOLDERS}${'cd {a,b}{a,b}{a,b}{a,b}{a,b}; '.repeat(30)}`],
    [
      'folders of prefixes',
      `env ${Array.from({ length: 3_000 }, (_, n) => `-C /e${n}`).join(' ')} cp ${'x '.repeat(15_000)}`,
    ],
    ['a command in eight folders, again and again', `${FOLDERS}env ${EIGHT}cp ${'x'.repeat(60)} y; `.repeat(200)],
    ['prefixes in one another', `${'nice env -C /etc sudo -D /usr '.repeat(2_000)}cp x y`],
    ['homes', `${Array.from({ length: 8 }, (_, n) => `HOME=/etc/h${n}; cd; `).join('')}${'cp ~/a ~/b; '.repeat(800)}`],
    ['links', 'ln -s /etc e; cat e/*/{a,b}; '.repeat(40)],
  ])('costs no more than the allowance: %s', (_what, text) => {
    expect(cpuOf(text)).toBeLessThan(MOST_MICROS);
  });

  it('costs no more than the allowance in any text', () => {
    const random = seededRandom('expansion');
    const piece = fc.constantFrom(
      '{a,b}',
      '{a,{b,c}}',
      "'\\%41'",
      '/.*a*b',
      '/*',
      '/??',
      '[[a]',
      '/../',
      '%2561',
      'file:///',
      '~+/',
      '$x',
      '"',
      '; cat ',
      '; cd ',
      '; cp x ',
      '; ln -s /etc ',
      ' ',
      '/etc',
      '/dev/fd',
      '; CDPATH=/; cd ',
      '; echo x > ',
    );
    const text = fc.array(piece, { minLength: 20, maxLength: 150 }).map((parts) => FOLDERS + parts.join(''));
    fc.assert(
      fc.property(text, (one) => {
        const allowance = new Allowance({ path: one });
        read({ path: one }, allowance);
        expect(allowance.read).toBeLessThanOrEqual(1 << 18);
        expect(cpuOf(one)).toBeLessThan(MOST_MICROS);
      }),
      { seed: random.seed, numRuns: 60 },
    );
  });

  it('waits where it is more than the allowance has', () => {
    const allowance = new Allowance({ path: EXPANDING });
    expect(read({ path: EXPANDING }, allowance).worst).toBe('takes_over');
    // Spent, up to less than one more spelling of the path.
    expect(allowance.read).toBeGreaterThan((1 << 18) - 8 * EXPANDING.length);
  });

  it('ends where its time is over, within one command too', () => {
    const text = `cat ${'{a,b}'.repeat(5)}/x`;
    let left = 40;
    const checkpoint = () => {
      left -= 1;
      if (left === 0) throw new TookTooLong('over');
    };
    expect(() => read({ path: text }, new Allowance({ path: text }, checkpoint))).toThrow(TookTooLong);
  });

  it('is the worst where the path is longer than any is', () => {
    const { paths } = new Allowance();
    expect([paths.isVitalFile('a/'.repeat(2_048)), paths.isVitalFile('a/'.repeat(2_049))]).toEqual([false, true]);
  });

  it('is read once, however often a path is asked about', () => {
    const allowance = new Allowance();
    expect(allowance.paths.isVitalFile('/{etc,x}/passwd')).toBe(true);
    const once = allowance.read;
    expect([allowance.paths.isSecretFile('/{etc,x}/passwd'), allowance.paths.isDisk('/{etc,x}/passwd')]).toEqual([
      false,
      false,
    ]);
    expect(allowance.read).toBe(once);
  });
});
