import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../contracts/json.js';
import { openLedgerReadOnly } from '../../../adapters/ledger/read-only.js';
import type { Http } from '../../support/agent.js';
import { commandLine } from '../../support/command.js';
import { listingTools } from '../../support/listing-tools.js';
import type { TestStack } from '../../support/stack.js';
import { section } from './section.js';

const tool = (name: string, description: string): JsonObject => ({
  name,
  description,
  inputSchema: { type: 'object', properties: {} },
});

/** Of the full stack alone; lite's are tried as they are typed, in pins-lite.test.ts. */
export const pins = section('gate pins, over the running stack', 'pins-bot', listingTools, {
  blocking(at) {
    const stack = (): TestStack => {
      if (!at.gate.stack) throw new Error('this is no full stack');
      return at.gate.stack;
    };
    const command = commandLine(() => stack().stateDir);
    afterAll(() => command.stop());
    const cli = (...args: string[]) => command.done(['pins', ...args], { GATE_STATE_DIR: stack().stateDir });
    const list = async (...listed: JsonObject[]) => {
      at.tools.pages = [listed];
      return (await at.bot.control('tools/list')).status;
    };
    const acceptances = async (): Promise<JsonObject[]> => {
      const ledger = openLedgerReadOnly(join(stack().stateDir, 'data', 'ledger.db'));
      try {
        return (await ledger.newest(100))
          .filter((row) => row.event_kind === 'tool_definition.accepted')
          .map((row) => ({
            agent: row.agent_id,
            tenant: row['tenant'] as string,
            ...(row.policy_decision as JsonObject),
          }))
          .toReversed();
      } finally {
        await ledger.close();
      }
    };
    it('shows what differs, accepts one tool or all, lets go; each is a row, and holds from the next list on', async () => {
      expect(await list(tool('read', 'reads'), tool('write', 'writes'))).toBe(200);
      expect(await cli()).toMatchObject({ code: 0, out: expect.stringContaining('acme/pins-bot  2 tools since') });
      expect(await cli('diff', 'pins-bot')).toMatchObject({ code: 0, out: '(nothing differs)\n' });
      expect(await cli('accept', 'pins-bot')).toMatchObject({ code: 2 });

      const now = [tool('read', 'reads more'), tool('write', 'writes more'), tool('\u202enew', 'is new')];
      expect(await list(...now)).toBe(502);
      const differing = JSON.parse((await cli('diff', 'pins-bot', '--json')).out) as { tools: JsonObject[] };
      expect(differing.tools.map(({ tool: name, change }) => [name, change])).toEqual([
        ['read', 'changed'],
        ['write', 'changed'],
        ['\u202enew', 'added'],
      ]);
      expect((await cli('diff', 'pins-bot')).out).not.toContain('\u202e');

      const shown = async () =>
        / --shown ([0-9a-f]+)(?: --endpoint \S+)?\n$/.exec((await cli('diff', 'pins-bot')).out)?.[1] as string;
      const early = await shown();
      const flipped = [tool('read', 'reads something else'), ...now.slice(1)];
      expect(await list(...flipped)).toBe(502);
      expect(await cli('accept', 'pins-bot', 'read', '--shown', early)).toMatchObject({ code: 4 });
      const late = differing.tools.map(({ tool: name, seen_sha256: seen }) => [name, seen] as const);
      expect(
        await stack()
          .consoleAtProxy()
          .request('POST', '/pins/accept', {
            headers: { authorization: `Bearer ${stack().development.operator_token}` },
            body: { agent: 'pins-bot', seen: Object.fromEntries(late) as JsonObject },
          }),
      ).toMatchObject({ status: 409, body: { error: 'pins_changed_meanwhile' } });
      expect(await acceptances()).toEqual([]);
      expect(await list(...now)).toBe(502);

      expect(
        await cli('accept', 'pins-bot', 'read', '--reason', 'looked at it', '--shown', await shown()),
      ).toMatchObject({
        code: 0,
        out: 'accepted for pins-bot: read\n',
      });
      expect(await list(...now)).toBe(502);
      expect(await cli('accept', 'pins-bot', '--shown', await shown())).toMatchObject({ code: 0 });
      expect(await list(...now)).toBe(200);

      expect(await cli('forget', 'pins-bot')).toMatchObject({
        code: 0,
        out: expect.stringContaining('forgot 3 tools'),
      });
      expect(await cli('forget', 'pins-bot')).toMatchObject({ code: 1 });
      expect(await list(tool('other', 'is first again'))).toBe(200);

      expect(await acceptances()).toMatchObject([
        {
          agent: 'pins-bot',
          tenant: 'acme',
          action: 'accept',
          decided_by: 'operator:dev',
          reason: 'looked at it',
          tools: { read: { pinned_sha256: expect.any(String), seen_sha256: expect.any(String) } },
        },
        { action: 'accept', tools: { write: expect.anything(), '\u202enew': { pinned_sha256: null } } },
        { action: 'forget', tools: 3 },
      ]);
      expect(await stack().verify()).toMatchObject({ valid: true });
    }, 120_000);

    it.each([
      ['a tool', { agent: 'pins-bot', seen: { 'a\0b': null } }],
      ['half a character of a tool', { agent: 'pins-bot', seen: { 'a\ud800b': null } }],
      ['an agent', { agent: 'pins\0bot', seen: {} }],
      ['a reason', { agent: 'pins-bot', seen: {}, reason: 'half \ud800' }],
      ['__proto__', JSON.parse('{"agent":"pins-bot","seen":{"__proto__":null}}') as JsonObject],
    ])('refuses what no store or reader keeps as it is: %s', async (_what, body) => {
      const headers = { authorization: `Bearer ${stack().development.operator_token}` };
      const refused = await stack().consoleAtProxy().request('POST', '/pins/accept', { headers, body });
      expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    });

    it('is for the console with an operator of the tenant: no agent, no stranger, no workload without a token', async () => {
      const token = { authorization: `Bearer ${stack().development.operator_token}` };
      const before = await acceptances();
      for (const [method, path, body] of [
        ['POST', '/pins/accept', { agent: 'pins-bot', seen: {} }],
        ['POST', '/pins/forget', { agent: 'pins-bot' }],
        ['GET', '/pins', undefined],
        ['GET', '/pins/pins-bot', undefined],
      ] as const) {
        const ask = async (who: Http, headers: Record<string, string> = {}) =>
          (await who.request(method, path, { headers, ...(body && { body }) })).status;
        expect(await ask(at.bot, token)).toBe(403);
        expect(await ask(stack().stranger(), token)).toBe(401);
        expect(await ask(stack().consoleAtProxy(), { 'x-gate-tenant-scope': 'acme' })).toBe(401);
        expect(await ask(stack().consoleAtProxy(), { ...token, 'x-gate-tenant-scope': 'rival' })).toBe(401);
      }
      expect(await acceptances()).toEqual(before);
    });
  },
});
