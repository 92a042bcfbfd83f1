import { describe, expect, it } from '@jest/globals';
import { parseDatabaseRoles } from './prepare.js';

const PASSWORD = 'p4ssw0rd-of_24-characters';

describe('database roles', () => {
  it('are read with the databases they own', () => {
    expect(parseDatabaseRoles(`gate_hil:${PASSWORD}, temporal:${PASSWORD}:temporal+temporal_visibility`)).toEqual([
      { name: 'gate_hil', password: PASSWORD, owns: [] },
      { name: 'temporal', password: PASSWORD, owns: ['temporal', 'temporal_visibility'] },
    ]);
  });

  it.each([
    ['', 'entry 1'],
    [`gate_hil:${PASSWORD},`, 'entry 2'],
    [`Gate-Hil:${PASSWORD}`, 'entry 1'],
    [`gate_hil:${PASSWORD}:bad-name`, 'entry 1'],
    ['gate_hil', 'the password of gate_hil'],
    ['gate_hil:short', 'the password of gate_hil'],
    [`gate_hil:${"it's quoted".padEnd(30, 'x')}`, 'the password of gate_hil'],
  ])('refuse %j, naming the entry and no password', (text, words) => {
    expect(() => parseDatabaseRoles(text)).toThrow(words);
    expect(() => parseDatabaseRoles(text)).not.toThrow(PASSWORD);
  });
});
