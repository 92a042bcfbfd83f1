import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { verifyApproval } from './approval.js';
import { CliError } from './errors.js';
import { gateCommand } from './output.js';
import type { ledgerTarget } from './target.js';

type Target = ReturnType<typeof ledgerTarget>;
const CALL = '00000000-0000-4000-8000-000000000001';
const ROWS = [{ seq: 7, event_kind: 'hil.approved', method: 'hil.approved', policy_decision: { decided_by: 'ana' } }];

afterEach(() => {
  jest.restoreAllMocks();
  process.exitCode = undefined;
});

describe('gate verify --approval', () => {
  const said = async (target: object): Promise<string> => {
    const write = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    await verifyApproval(target as Target, CALL, {});
    const [[text] = []] = write.mock.calls;
    return String(text);
  };

  it('says of a running ledger how the same is checked offline', async () => {
    const ask = (service: string) =>
      service === 'ledger' ? Promise.resolve(ROWS) : Promise.reject(new CliError('not_found', 4));
    const text = await said({ kind: 'stack', ask });
    expect(text).toContain('seq 7 hil.approved by ana: NOT PROVED: nobody signed it with a passkey\n');
    expect(text).toContain('to check offline, name a copy of it, which gate backup makes: --ledger <file>');
  });

  it('says nothing of that where it is offline', async () => {
    const opened = { byCorrelation: () => Promise.resolve(ROWS) };
    const text = await said({ kind: 'file', read: (use: (of: object) => unknown) => Promise.resolve(use(opened)) });
    expect(text).toBe('seq 7 hil.approved by ana: NOT PROVED: nobody signed it with a passkey\n');
  });

  describe('given something else than the correlation id', () => {
    const REVIEW = '97c45fb7-0000-4000-8000-000000000001';
    const review = { id: REVIEW, correlation_id: CALL, agent_id: 'bot', method: 'tools/call', status: 'approved' };
    /** A stack with this one call, which the ledger knows by its correlation id alone. */
    const stack = {
      kind: 'stack',
      ask: (_service: string, _method: string, path: string) => {
        if (path === `/audit/correlation/${CALL}`) return Promise.resolve(ROWS);
        if (path.startsWith('/audit/')) return Promise.resolve([]);
        if (path === `/pending/${REVIEW}`) return Promise.resolve(review);
        return Promise.reject(new CliError('not_found', 4));
      },
    };
    const checked = async (id: string, target: object = stack): Promise<string> => {
      const write = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
      await verifyApproval(target as Target, id, {});
      return String(write.mock.calls[0]?.[0]);
    };
    const file = {
      kind: 'file',
      read: (use: (of: object) => unknown) => Promise.resolve(use({ byCorrelation: () => Promise.resolve([]) })),
    };

    it.each([REVIEW, REVIEW.toUpperCase()])(
      'finds the call of a review of a running stack by %s, and says which it is',
      async (id) => {
        expect(await checked(id)).toContain(`the call ${CALL}, whose review is ${id}\nseq 7 hil.approved by ana`);
      },
    );

    it('takes the correlation id in whatever case', async () => {
      expect(await checked(CALL.toUpperCase())).toMatch(/^seq 7 /);
    });

    it('checks neither of two calls that have the id, one as its own and one as that of its review', async () => {
      const chosen = { id: '22222222-0000-4000-8000-000000000001', correlation_id: REVIEW };
      const ask = (service: string, method: string, path: string) =>
        path === `/audit/correlation/${REVIEW}`
          ? Promise.resolve(ROWS)
          : path === `/pending/by-correlation/${REVIEW}`
            ? Promise.resolve(chosen)
            : stack.ask(service, method, path);
      const refused = checked(REVIEW, { kind: 'stack', ask });
      await expect(refused).rejects.toMatchObject({ exitCode: 2 });
      await expect(refused).rejects.toThrow(
        `${REVIEW} is the id of two calls, and neither was checked; give the other id of the one that is meant:\n  ${CALL}  the call whose review has this id\n  ${chosen.id}  the review of the call that has this id`,
      );
    });

    it('asks for no review of a call whose rows are there while the review service is away', async () => {
      const ask = (service: string, method: string, path: string) =>
        service === 'hil' ? Promise.reject(new CliError('away', 5)) : stack.ask(service, method, path);
      expect(await checked(CALL, { kind: 'stack', ask })).toMatch(/^seq 7 /);
      await expect(checked(REVIEW, { kind: 'stack', ask })).rejects.toMatchObject({ exitCode: 5 });
    });

    const UNKNOWN = '11111111-0000-4000-8000-000000000001';
    it.each([
      ['that nothing has', UNKNOWN, stack, `the ledger has no decision about ${UNKNOWN}; `, 4],
      // Others can make one that begins alike.
      ['that is a beginning', '97c45fb7', stack, '97c45fb7 is no whole id, which has 36 characters; ', 2],
      ['that is a word', 'wire_transfer', stack, 'wire_transfer is no whole id, which has 36 characters; ', 2],
      ['that is a beginning, of a file', '97c45fb7', file, '97c45fb7 is no whole id, which has 36 characters; ', 2],
      ['of a review, of a file', REVIEW, file, `the ledger has no decision about ${REVIEW}; `, 4],
    ])('says of an id %s what it wants and who lists it', async (_, id, target, words, exitCode) => {
      const refused = checked(id, target);
      await expect(refused).rejects.toMatchObject({ exitCode });
      await expect(refused).rejects.toThrow(
        `${words}--approval wants the whole correlation id of a call that a person decided: \`${gateCommand()} approvals\``,
      );
    });
  });
});
