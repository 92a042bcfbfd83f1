import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { verifyApproval } from './approval.js';
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
    const text = await said({ kind: 'stack', ask: () => Promise.resolve(ROWS) });
    expect(text).toContain('seq 7 hil.approved by ana: NOT PROVED: nobody signed it with a passkey\n');
    expect(text).toContain('to check offline, name a copy of it, which gate backup makes: --ledger <file>');
  });

  it('says nothing of that where it is offline', async () => {
    const opened = { byCorrelation: () => Promise.resolve(ROWS) };
    const text = await said({ kind: 'file', read: (use: (of: object) => unknown) => Promise.resolve(use(opened)) });
    expect(text).toBe('seq 7 hil.approved by ana: NOT PROVED: nobody signed it with a passkey\n');
  });
});
