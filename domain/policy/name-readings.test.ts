import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { shippedPolicyDirectory } from '../../adapters/policy/policy-sources.js';
import { seededRandom } from '../../test/support/random.js';
import { plainReading } from '../plain-name.js';
import { createNameReadings } from './name-readings.js';
import { policyData } from './policy-data.js';

const readingsOf = createNameReadings(
  policyData.parse(JSON.parse(readFileSync(join(shippedPolicyDirectory(), 'data.json'), 'utf8'))).gate,
);

describe('what a name may mean', () => {
  it.each(['delete_file', 'deleteFile', 'mcp__fs__read_file', 'DBDelete', 'get_v2', 'x'.repeat(600)])(
    'is the name itself where it hides nothing: %s',
    (name) => {
      expect(readingsOf(name)).toEqual([name]);
    },
  );

  it.each([
    ['wiretransfer', 'wire_transfer'],
    ['WIRETRANSFERS', 'wire_transfers'],
    ['mybankwiretransfer', 'my_bank_wire_transfer'],
    ['dElEtE_fIlE', 'delete_file'],
    ['delete%5Ffile', 'delete_file'],
    ['%2564elete_file', 'delete_file'],
    ['delete\\u005ffile', 'delete_file'],
    ['delete&#95;file', 'delete_file'],
    ['%D0%B5xecute_sql', 'execute_sql'],
    ['dеlete_file', 'delete_file'],
    ['ｄｅｌｅｔｅ_file', 'delete_file'],
    ['de\u200blete_file', 'delete_file'],
    ['run＼u005fsql', 'run_sql'],
    ['run%EF%BC%BCu005fsql', 'run_sql'],
    ['run％255Fsql', 'run_sql'],
    ['d3lete_f1le', 'delete_file'],
    ['she1l_exec', 'shell_exec'],
    ['g3t_aNd_s3nD', 'get_and_send'],
  ])('is also what it hides: %j', (name, meant) => {
    expect(readingsOf(name)).toContain(meant);
    expect(readingsOf(name)[0]).toBe(name);
  });

  it('is found in any text, in few readings, and never throws', () => {
    const random = seededRandom('name readings');
    const piece = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('%', '%25', '\\u', '&#x', '1', 'delete', 'file', '_'),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const name = pieces.join('');
        const readings = readingsOf(name);
        expect(readings[0]).toBe(name);
        expect(readings.length).toBeLessThanOrEqual(4);
        expect(plainReading(plainReading(name)).length).toBeLessThanOrEqual(4 * name.length);
      }),
      { seed: random.seed, numRuns: 1_000 },
    );
  });
});
