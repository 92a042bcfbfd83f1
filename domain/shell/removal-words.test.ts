import { describe, expect, it } from '@jest/globals';
import { isToldToRemove } from './removal-words.js';

const told = (line: string, checkpoint?: () => void): boolean => {
  const [program = '', ...args] = line.trim().split(' ');
  return isToldToRemove(program, args, checkpoint);
};
/** How many programs of a line are looked at. */
const lookedAt = (line: string): { readonly isTold: boolean; readonly programs: number } => {
  let programs = 0;
  const isTold = told(line, () => {
    programs += 1;
  });
  return { isTold, programs };
};
const LONGEST = 60_000;

describe('programs that are handed to each other', () => {
  it.each([
    ['ssh a ssh b systemctl stop nginx'],
    ['nomad alloc exec id npx exec x remove-y'],
    ['ssh a python -m x delete'],
    ['lxc exec a -- ssh b delete'],
    ['docker exec x x delete'],
    ['docker exec web gh repo delete -- x'],
    ['docker exec c kubectl exec p -- delete'],
    ['kubectl exec -n a -c web pod -- delete-all'],
    ['kubectl -n a exec -it deploy/x -c web -- rake db:drop'],
    ['nomad alloc exec id -- delete x -- y'],
    ['docker compose exec web rake make:config db:drop'],
  ])('%s: the last removes', (line) => {
    expect(told(line)).toBe(true);
  });

  it.each([
    ['ssh host uptime'],
    ['ssh a ssh b ls delete'],
    ['nomad alloc exec id ls delete'],
    ['kubectl exec pod -- cat delete'],
    ['docker compose exec web npm test -- delete'],
    ['docker exec web grep -r -- delete src'],
    ['kubectl exec delete-pod -c web -- ls delete'],
    ['docker compose exec app php artisan make:migration drop_x'],
    ['docker exec -u test db env A=1 sh run one two three four five'],
    ['docker exec c kubectl exec p a b c d e f'],
    ['docker exec c a b c d e f g kubectl exec p h i j k l m n npx exec o p q r s t'],
  ])('%s: none removes', (line) => {
    expect(told(line)).toBe(false);
  });

  it.each([
    [
      'zz exec x0 … x0, a hundred times',
      `zz ${Array.from({ length: 100 }, (_, at) => `exec${` x${at}`.repeat(7)}`).join(' ')}`,
    ],
    ...['ssh a ', 'exec b ', 'python -m ', 'a exec -- ', 'a exec '].map((piece): [string, string] => [
      piece,
      piece.repeat(LONGEST / piece.length),
    ]),
  ])('%s: more than a few count as a removal, and no more are looked at', (_what, line) => {
    const { isTold, programs } = lookedAt(line);
    expect(isTold).toBe(true);
    expect(programs).toBeLessThanOrEqual(32);
  });

  it('are looked at once each, by however many roads they are reached', () => {
    const line = Array.from({ length: 4 }, (_, at) => `exec${` x${at}`.repeat(7)}`).join(' ');
    expect(lookedAt(`zz ${line}`)).toEqual({ isTold: false, programs: 31 });
  });
});

describe('a file that a shell is given', () => {
  it.each([
    ['bash delete_all.sh'],
    ['bash -c ./delete_all.sh'],
    ['bash -euo pipefail delete_all.sh'],
    ['bash --rcfile x +x delete_all.sh'],
    ['bash delete_all.sh -n'],
    ['bash --rcfile -n delete_all.sh'],
    ['bash -n +n delete_all.sh'],
    ['fish -Cn delete_all.sh'],
  ])('%s: counts by its name', (line) => {
    expect(told(line)).toBe(true);
  });

  it.each([
    ['sh ./lint src/remove-item.ts'],
    ['bash -n scripts/delete_all.sh'],
    ['bash -xn scripts/delete_all.sh'],
    ['bash --rcfile delete_all.sh build.sh'],
  ])('%s: is another one, or is not run', (line) => {
    expect(told(line)).toBe(false);
  });

  it('is none where it is a line', () => {
    expect(isToldToRemove('bash', ['-lc', 'cat src/delete-user.ts'])).toBe(false);
    expect(isToldToRemove('bash', ['my scripts/delete_all.sh'])).toBe(true);
  });
});

it('a program may be called as what every object has', () => {
  for (const name of Object.getOwnPropertyNames(Object.prototype))
    expect([name, told(`${name} x`)]).toEqual([name, false]);
});
