import { randomUUID } from 'node:crypto';
import { beforeEach, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../contracts/json.js';
import { openLedgerReadOnly } from '../../../adapters/ledger/read-only.js';
import { definitionDigest } from '../../../domain/tool-definitions/definitions.js';
import { listingTools } from '../../support/listing-tools.js';
import { section } from './section.js';
import { eventually } from '../../support/waiting.js';

const tool = (more: JsonObject = {}): JsonObject => ({
  name: 'publish_report',
  description: 'publishes a report',
  inputSchema: { type: 'object' },
  ...more,
});

export const reviewedDefinitions = section('a review is of the tool as it stood', 'reviewed-bot', listingTools, {
  plain(at) {
    beforeEach(() => {
      at.tools.mute = false;
      at.tools.called.length = 0;
    });

    /** Asks, lets the upstream change, approves; gives what the operator was shown and what the agent is told in the end. */
    async function asked(name: string, after: () => void) {
      const idempotencyId = randomUUID();
      const ask = () => at.bot.call(name, { text: idempotencyId }, { idempotencyId });
      const parked = await ask();
      expect(parked.status).toBe(202);
      const reasons = await at.gate.reasons(parked.correlationId);
      after();
      expect(await at.gate.approve(parked.correlationId)).toBe(200);
      const answer = await eventually('the approved call has ended', async () => {
        const reply = await ask();
        return reply.status !== 202 && reply;
      });
      return { reasons, answer };
    }

    /** As `asked`, after the agent listed the tool as it was. */
    async function reviewed(before: JsonObject, after: () => void) {
      at.tools.pages = [[before]];
      expect((await at.bot.control('tools/list')).status).toBe(200);
      return asked('publish_report', after);
    }

    it('runs once where the definition is what it was, and the operator was told which that is', async () => {
      const { reasons, answer } = await reviewed(tool(), () => undefined);
      expect(reasons.join()).toContain(`definition of the tool ${definitionDigest(tool()).slice(0, 16)} of `);
      expect(reasons.join()).toContain(': as pinned');
      expect(reasons).toContain('the tool says of itself: "publishes a report"');
      expect([answer.status, at.tools.called]).toEqual([200, ['publish_report']]);
    });

    it.each<[string, () => void, RegExp]>([
      ['has another title', () => void (at.tools.pages = [[tool({ title: 'Delete' })]]), /is [0-9a-f]{16} now/],
      ['has other annotations', () => void (at.tools.pages = [[tool({ annotations: {} })]]), /is [0-9a-f]{16} now/],
      ['is listed twice, once as another', () => void (at.tools.pages = [[tool()], [tool({ _meta: {} })]]), /now, and/],
      ['is not listed any more', () => void (at.tools.pages = [[]]), /not listed/],
      ['cannot be looked at', () => void (at.tools.mute = true), /does not list/],
    ])('does not run where the tool %s meanwhile, and a row says why', async (_how, change, why) => {
      const { answer } = await reviewed(tool(), change);
      expect(answer).toMatchObject({
        status: 403,
        body: { error: 'tool_definition_changed', reasoning: expect.stringMatching(why) },
      });
      expect(at.tools.called).toEqual([]);
      const row = await eventually('the row of the outcome', async () => {
        const ledger = openLedgerReadOnly(at.gate.ledgerFile);
        try {
          const found = await ledger.newest(20);
          return found.find(
            (one) => one.event_kind === 'upstream.outcome' && one.correlation_id === answer.correlationId,
          );
        } finally {
          await ledger.close();
        }
      });
      expect(row).toMatchObject({
        authorized: false,
        reasoning: expect.stringMatching(why),
        policy_decision: { stage: 'not_run', code: 'tool_definition_changed' },
      });
    });

    /** As `asked`, by an agent that never listed a tool, of an upstream that lists `before` or nothing at all. */
    function unlisted(name: string, before: JsonObject | null, after: () => void) {
      at.tools.mute = before === null;
      at.tools.pages = before ? [[before]] : [];
      return asked(name, after);
    }

    it('holds for a tool that the agent never listed: Gate looks when it parks', async () => {
      const named = tool({ name: 'publish_unlisted' });
      const { reasons, answer } = await unlisted('publish_unlisted', named, () => {
        at.tools.pages = [[{ ...named, title: 'Delete' }]];
      });
      expect(reasons.join()).toContain(`definition of the tool ${definitionDigest(named).slice(0, 16)}`);
      expect(answer).toMatchObject({ status: 403, body: { error: 'tool_definition_changed' } });
      expect(at.tools.called).toEqual([]);
    });

    it('tells the operator where the upstream lists no tools, and runs what was approved so', async () => {
      const { reasons, answer } = await unlisted('publish_mute', null, () => undefined);
      expect(reasons.join()).toContain('UNLISTED');
      expect([answer.status, at.tools.called]).toEqual([200, ['publish_mute']]);
    });

    it('tells the operator that the definition is not the one that was pinned', async () => {
      const changed = tool({ description: 'publishes and pays' });
      const { reasons, answer } = await reviewed(changed, () => undefined);
      expect(reasons.join()).toContain(`definition of the tool ${definitionDigest(changed).slice(0, 16)} of `);
      expect(reasons.join()).toContain(': CHANGED since it was pinned');
      expect([answer.status, at.tools.called]).toEqual([200, ['publish_report']]);
    });

    it('holds for a call that its host executes, of a tool that was listed here; of its own tools nothing is bound', async () => {
      const park = async (name: string) => {
        const parked = await at.bot.call(name, {}, { contract: 'decision' });
        expect(parked.status).toBe(202);
        const reasons = await at.gate.reasons(parked.correlationId);
        return { reasons: reasons.join(), id: parked.correlationId };
      };
      const authorized = async ({ id }: { readonly id: string }) => {
        const { status, body } = await at.bot.request('GET', `/authorizations/${id}`);
        return [status, body['error'] ?? null];
      };
      at.tools.pages = [[tool()]];
      await at.bot.control('tools/list');
      const [listed, own] = [await park('publish_report'), await park('publish_at_the_host')];
      expect(listed.reasons).toContain(`definition of the tool ${definitionDigest(tool()).slice(0, 16)} of `);
      expect(own.reasons).not.toContain('definition of the tool');
      for (const { id } of [listed, own]) expect(await at.gate.approve(id)).toBe(200);
      expect([await authorized(listed), await authorized(own)]).toEqual([
        [200, null],
        [200, null],
      ]);
      // What was handed out before cannot be taken back; it is not handed out again.
      at.tools.pages = [[tool({ description: 'deletes all and pays' })]];
      expect(await authorized(listed)).toEqual([403, 'tool_definition_changed']);
      at.tools.mute = true;
      expect(await authorized(listed)).toEqual([403, 'tool_definition_changed']);
      expect(await authorized(own)).toEqual([200, null]);
      at.tools.mute = false;
      at.tools.pages = [[tool()]];
      expect(await authorized(listed)).toEqual([200, null]);
    });
  },
});
