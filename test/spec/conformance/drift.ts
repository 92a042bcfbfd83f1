import { beforeAll, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../contracts/json.js';
import { type ListingTools, listingTools } from '../../support/listing-tools.js';
import { eventually } from '../../support/waiting.js';
import { section, type Subject } from './section.js';

const TOOL = 'get_status';
const KNOWN = { host: 'reports.acme.example' };
/** Its first letter e is one of another alphabet. */
const ALIKE = { host: 'r\u0435ports.acme.example' };
const WHY =
  'Review: drift: unlike what this agent did before: a destination that looks like one of before, and is another.';

/** Asked again where Gate had no time to judge it, as its agent would. */
const ask = (at: Subject<ListingTools>, given: JsonObject) =>
  eventually('a verdict', async () => {
    const answer = await at.bot.call(TOOL, given);
    return answer.status !== 503 && answer;
  });
async function waits(at: Subject<ListingTools>): Promise<string> {
  const asked = await ask(at, ALIKE);
  expect(asked.status).toBe(202);
  const id = asked.body['correlation_id'] as string;
  expect(await at.gate.reasons(id)).toContain(WHY);
  return id;
}

export const drift = section('drift from an agent’s own history', 'status-bot', listingTools, {
  plain(at) {
    beforeAll(async () => {
      at.tools.pages = [[{ name: TOOL, description: 'Status of a host.', inputSchema: { type: 'object' } }]];
      expect((await at.bot.control('tools/list')).status).toBe(200);
    });

    it('lets an agent without a history pass, and asks a person once there is one', async () => {
      expect((await ask(at, KNOWN)).status).toBe(200);
      await waits(at);
      await waits(at);
    });
  },

  blocking(at) {
    it('learns nothing from a call that waits, and remembers what ran after a restart', async () => {
      await waits(at);
      expect((await at.bot.call(TOOL, KNOWN)).status).toBe(200);
    });

    it('has learned the destination once a person approved the call and it ran', async () => {
      const id = await waits(at);
      expect(await at.gate.approve(id)).toBe(200);
      await eventually('a call that is known now', async () => (await at.bot.call(TOOL, ALIKE)).status === 200);
    });
  },
});
