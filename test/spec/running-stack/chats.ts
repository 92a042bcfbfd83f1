import { afterAll, describe, expect, it } from '@jest/globals';
import { commandLine } from '../../support/command.js';
import { gate } from '../../support/running-stack.js';

const command = commandLine(() => gate.stateDir);
afterAll(() => command.stop());
const cli = (...args: string[]) => command.done(['chats', ...args], { GATE_STATE_DIR: gate.stateDir });

describe('gate chats', () => {
  it('says from which accounts somebody decides, and takes one away', async () => {
    const accounts = { oidc_sub: 'dev', slack_user_id: 'U0123456', teams_user_id: 'T7' };
    expect((await gate.operator.request('POST', '/identities/upsert', accounts)).status).toBe(200);
    const shown = await cli('dev');
    expect(shown).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^Slack: U0123456, .*last click never\nTeams: T7/),
    });
    expect(await cli('unlink', 'operator:dev', 'slack')).toEqual({
      code: 0,
      out: 'no account of Slack decides as dev any more, by operator:dev\n',
    });
    const none = await cli('unlink', 'dev', 'slack');
    expect(none).toEqual({ code: 4, out: 'gate: not_found: no account of Slack decides as dev\n' });
    expect((await cli('show', 'nobody')).out).toContain('not_found: no account of a chat decides as nobody');
    expect((await cli('show', 'dev')).out).toMatch(/^Teams: T7/);
    expect(await cli('unlink', 'dev', 'irc')).toMatchObject({ code: 2, out: expect.stringContaining('slack, teams') });
    expect((await cli('unlink', 'dev', 'teams')).code).toBe(0);
  });
});
