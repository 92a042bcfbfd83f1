import { describe, expect, it } from '@jest/globals';
import type { PendingRequest } from '../contracts/review.js';
import type { ReviewTarget } from './review-target.js';
import { rowMeant, wholeId } from './row-id.js';

const ONE = '97c45fb7-0000-4000-8000-000000000001';
const CALL = '55555555-0000-4000-8000-000000000001';
const row = (id: string, over: Partial<PendingRequest> = {}) =>
  ({
    id,
    correlation_id: CALL,
    agent_id: 'support-bot',
    method: 'tools/call',
    request_payload: { params: { name: 'wire_transfer' } },
    status: 'pending',
    ...over,
  }) as PendingRequest;

/** Of rows that wait, and of all. */
const over = (waiting: readonly PendingRequest[], all = waiting) => {
  const asked: string[] = [];
  const ask = (_service: string, _method: string, path: string) => {
    asked.push(path);
    return Promise.resolve(path.includes('status=pending') ? waiting : all);
  };
  return { asked, target: { kind: 'stack', ask } as unknown as ReviewTarget };
};

describe('the id that is meant', () => {
  it('is a whole one as it is given, and nobody is asked', async () => {
    const { target, asked } = over([]);
    expect(await wholeId(target, ONE)).toBe(ONE);
    expect(await wholeId(target, ONE.toUpperCase())).toBe(ONE);
    expect(asked).toEqual([]);
  });

  it('is that of the row that begins so: one that waits, otherwise one of the latest', async () => {
    const decided = row(ONE, { status: 'approved' });
    expect(await wholeId(over([row(ONE), row('97c45fb8-0000-4000-8000-000000000001')]).target, '97c45fb7')).toBe(ONE);
    expect(await wholeId(over([row(ONE)]).target, '97C45FB7-0000')).toBe(ONE);
    expect(await wholeId(over([], [decided]).target, '97c45fb7')).toBe(ONE);
  });

  it('is not known where several begin so, which are named', async () => {
    const other = row('97c45fb7-0000-4000-8000-000000000002', { agent_id: 'a\u001b[2J' });
    const said = wholeId(over([row(ONE), other]).target, '97c45fb7');
    await expect(said).rejects.toMatchObject({ exitCode: 2 });
    await expect(said).rejects.toThrow(
      `97c45fb7 does not say which is meant; give one of these whole:\n  ${ONE}  wire_transfer for support-bot, pending\n  ${other.id}  wire_transfer for a\\u{1b}[2J, pending`,
    );
  });

  it("is not known by the beginning of a call's id, which its agent may have chosen to be another row's", async () => {
    const { target } = over([row(ONE)]);
    await expect(wholeId(target, CALL.slice(0, 8))).rejects.toThrow(ONE);
    const chosen = row('11111111-0000-4000-8000-000000000001', { correlation_id: ONE });
    await expect(wholeId(over([row(ONE), chosen]).target, '97c45fb7')).rejects.toThrow('which is meant');
  });

  it.each(['97c45fb', 'wire_transfer', '97c45fb7%', '97c45fb7-0000-4000-8000-0000000000011'])(
    'is none: %s',
    async (given) => {
      await expect(wholeId(over([row(ONE)]).target, given)).rejects.toMatchObject({ exitCode: 2 });
    },
  );

  it('is not known where none begins so', async () => {
    await expect(wholeId(over([row(ONE)]).target, '00000000')).rejects.toMatchObject({ exitCode: 4 });
  });
});

describe('the row that is meant', () => {
  it.each([
    ['stack', `/pending/${ONE}`, row(ONE)],
    ['lite', `/pending?id=${ONE}`, [row(ONE)]],
  ])('is asked for whole, as a %s has it', async (kind, path, answer) => {
    const ask = (_service: string, _method: string, asked: string) =>
      Promise.resolve(asked === path ? answer : [row(ONE, { agent_id: 'in short' })]);
    const target = { kind, ask } as unknown as ReviewTarget;
    expect(await rowMeant(target, '97c45fb7')).toEqual(row(ONE));
  });
});
