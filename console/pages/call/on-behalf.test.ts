import { describe, expect, it } from '@jest/globals';
import type { Delegation } from '../../../contracts/call-grant.js';
import { consoleHere } from '../../../test/support/console-over-ledger.js';
import { wordsIn } from '../../../test/support/html.js';
import { testRow } from '../../../test/support/ledger.js';

const CALL = '55555555-5555-4555-8555-555555555555';
const GRANT: Delegation = {
  jti: '70000000-0000-7000-8000-000000000007',
  human_sub: 'user:ada',
  idp: 'corp',
  scope: ['tool:files.read'],
  yellow_scope: [],
  max_uses: null,
  not_before: null,
  not_after: '2026-11-02T10:00:00.000Z',
  recurrence_summary: null,
};

describe('the page of a call says on whose behalf it was made', () => {
  const here = consoleHere();
  const shown = async (said: object) => {
    await here.gate.ledger.append([testRow({ policy_decision: { tier: 'green', ...said } })]);
    return wordsIn((await here.page.get(`/audit/correlation/${CALL}`, { as: 'acme' })).text);
  };

  it('where its agent showed a grant', async () => {
    expect(await shown({ delegation: { ...GRANT } })).toContain('On behalf of user:ada (by corp), for tool:files.read');
  });

  it.each([
    ['showed none', {}],
    ['has a row that says it otherwise', { delegation: { human_sub: 'user:mallory' } }],
  ])('and nothing where it %s', async (_what, said) => {
    expect(await shown(said)).not.toContain('On behalf of');
  });
});
