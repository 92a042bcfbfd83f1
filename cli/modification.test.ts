import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { PendingRequest } from '../contracts/review.js';
import { assertSameTypes, diffOf } from './modification.js';
import { whatRuns } from './review-text.js';

describe('a change of arguments on the command line', () => {
  it('names a key of an object and a key with a dot in it differently, and is shown as it is written', async () => {
    const set = ['limits.max=1', '"limits.max"=2', 'to="paid"'];
    const { diff } = await diffOf({ set });
    expect(diff.replacements).toEqual([
      { path: ['limits', 'max'], value: 1 },
      { path: ['limits.max'], value: 2 },
      { path: ['to'], value: 'paid' },
    ]);
    const row = {
      id: 'id',
      correlation_id: 'id',
      agent_id: 'bot',
      method: 'tools/call',
      risk_summary: '',
      request_payload: { params: { arguments: {} } },
      modification_diff: diff,
      status: 'approved',
      review_reasons: [],
    } as unknown as PendingRequest;
    const shown = whatRuns(row).split('\n');
    expect(shown.filter((line) => line.startsWith('changed to'))).toEqual([
      'changed to     limits.max = 1',
      'changed to     "limits.max" = 2',
      'changed to     to = "paid"',
    ]);
  });

  describe('in a file', () => {
    let folder: string;
    beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'gate-modify-'))));

    it('that is not there, or is a folder, is named', async () => {
      const modify = join(folder, 'none.json');
      const missing = expect.objectContaining({ message: `--modify ${modify}: there is no such file`, exitCode: 2 });
      await expect(diffOf({ set: [], modify })).rejects.toEqual(missing);
      const isFolder = expect.objectContaining({ message: `--modify ${folder}: is a folder, not a file`, exitCode: 2 });
      await expect(diffOf({ set: [], modify: folder })).rejects.toEqual(isFolder);
    });
    afterEach(() => rm(folder, { recursive: true, force: true }));
    async function read(text: string) {
      const modify = join(folder, 'change.json');
      await writeFile(modify, text);
      return (await diffOf({ set: [], modify })).diff;
    }
    const contract = 'gate.hil.modification-diff/v1';
    const replacements = [
      { path: ['limits', 'max'], value: 1 },
      { path: ['a.b'], value: null },
    ];

    it.each([
      ['the arguments with their new values', { limits: { max: 1 }, 'a.b': null }],
      ['the replacements alone', replacements],
      ['the diff itself', { contract, replacements }],
    ])('is %s', async (_, written) => {
      expect(await read(JSON.stringify(written))).toEqual({ contract, replacements });
    });

    it('takes an argument that is called like a member of the diff', async () => {
      expect((await read('{"contract": "c-2"}')).replacements).toEqual([{ path: ['contract'], value: 'c-2' }]);
    });

    it.each([
      ['{"a": {"to": ["b"]}}', 'change.json: a.to is a list; only a text'],
      ['{"a": {}}', 'change.json: a names no value'],
      ['{}', 'change.json: names no argument'],
      ['"amount"', 'change.json: not an object of arguments'],
      ['null', 'change.json: not an object of arguments'],
      ['{amount: 1}', 'change.json: '],
      ['{"amount": 5, "amount": 20}', 'change.json: '],
      [JSON.stringify({ contract: 'v0', replacements }), 'change.json: contract: '],
      [JSON.stringify({ 'a/b': 1 }), 'change.json: replacements.0.path.0: has a character that no path may have'],
    ])('is refused in words where it is anything else: %s', async (text, words) => {
      await expect(read(text)).rejects.toThrow(words);
    });
  });

  it.each(['=1', 'a', 'a..b=1', '"a.b=1'])('is refused where it names no place: %s', async (text) => {
    await expect(diffOf({ set: [text] })).rejects.toThrow(`--set ${text}: write path=value`);
  });

  it('keeps the type of the value that it replaces, unless a file gives the whole diff', async () => {
    const row = { request_payload: { params: { arguments: { amount: 25, to: 'a', note: null } } } } as never;
    for (const set of ['amount=10x', 'amount="10"', 'to=5', 'amount=true']) {
      const { diff, whole } = await diffOf({ set: [set] });
      expect(whole).toBe(false);
      expect(() => assertSameTypes(diff, row)).toThrow(/is .*, a (number|string), and .*; nothing was decided/);
    }
    for (const set of ['amount=10', 'amount=null', 'to=b', 'note=5', 'other.place=5'])
      assertSameTypes((await diffOf({ set: [set] })).diff, row);
  });
});
