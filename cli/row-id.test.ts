import { describe, expect, it } from '@jest/globals';
import type { PendingRequest } from '../contracts/review.js';
import type { ReviewTarget } from './review-target.js';
import { CliError } from './errors.js';
import { gateCommand } from './output.js';
import { rowMeant, rowToDecide, wholeId } from './row-id.js';

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
    const said = wholeId(target, CALL.slice(0, 8));
    await expect(said).rejects.toMatchObject({ exitCode: 2 });
    await expect(said).rejects.toThrow(
      `55555555 begins the id of this call; its row is ${ONE}: ${gateCommand()} pending ${ONE}\n  ${ONE}  wire_transfer for support-bot, pending`,
    );
    await expect(said).rejects.not.toThrow('which is meant');
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

describe('a row that is not there', () => {
  it.each(['stack', 'lite'])('is said to be none, with where to look, by a %s', async (kind) => {
    const ask = () => (kind === 'lite' ? Promise.resolve([]) : Promise.reject(new CliError('not_found: no', 4)));
    const meant = rowMeant({ kind, ask } as unknown as ReviewTarget, ONE);
    await expect(meant).rejects.toMatchObject({ exitCode: 4 });
    await expect(meant).rejects.toThrow(
      `not_found: no review that you may see has the id ${ONE}, as its own or its call's; \`${gateCommand()} pending\` lists those that wait, and \`${gateCommand()} audit ${ONE}\` prints what is recorded of a call`,
    );
  });
});

describe('the row that is decided', () => {
  const OTHER = '97c45fb7-0000-4000-8000-000000000002';
  /** Rows as a stack gives them by their ids and by those of their calls. */
  const holding = (...rows: readonly PendingRequest[]) =>
    ({
      kind: 'stack',
      ask(_service: string, _method: string, path: string) {
        const [, call, id] = /^\/pending\/(by-correlation\/)?([0-9a-f-]{36})$/.exec(path) ?? [];
        const found = rows.find((one) => (call ? one.correlation_id : one.id) === id);
        if (path.startsWith('/pending?')) return Promise.resolve(rows);
        return found ? Promise.resolve(found) : Promise.reject(new CliError('not_found', 4));
      },
    }) as unknown as ReviewTarget;

  it.each(['97c45fb7', ONE.slice(0, -1)])(
    'is never known by the beginning of its id, also where one alone begins so: %s',
    async (beginning) => {
      // The call that was looked at is over, and another one waits whose id was made to begin as its.
      const made = holding(row(OTHER));
      await expect(rowToDecide(made, beginning)).rejects.toMatchObject({ exitCode: 2 });
      await expect(rowToDecide(made, beginning)).rejects.toThrow(
        `\`${gateCommand()} pending ${beginning}\` shows the call or names its row, and then the command to decide it`,
      );
    },
  );

  it('is that of a whole id, its own or that of its call', async () => {
    expect(await rowToDecide(holding(row(ONE)), ONE.toUpperCase())).toEqual(row(ONE));
    expect(await rowToDecide(holding(row(ONE)), CALL)).toEqual(row(ONE));
    const same = row(ONE, { correlation_id: ONE });
    expect(await rowToDecide(holding(same), ONE)).toEqual(same);
    await expect(rowToDecide(holding(), ONE)).rejects.toMatchObject({ exitCode: 4 });
    await expect(rowToDecide(holding(row(ONE)), 'seven')).rejects.toThrow('seven is not an id');
  });

  it('is not known by an id that is of two: who asks for a review without a call chooses its id', async () => {
    const chosen = row(OTHER, { correlation_id: ONE, agent_id: 'harmless' });
    const both = holding(row(ONE), chosen);
    await expect(rowToDecide(both, ONE)).rejects.toMatchObject({ exitCode: 2 });
    await expect(rowToDecide(both, ONE)).rejects.toThrow(
      `  ${CALL}  wire_transfer for support-bot, pending\n  ${OTHER}  wire_transfer for harmless, pending`,
    );
    expect(await rowToDecide(both, CALL)).toEqual(row(ONE));
    expect(await rowToDecide(both, OTHER)).toEqual(chosen);
  });
});
