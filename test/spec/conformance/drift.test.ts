import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../contracts/json.js';
import { type Edition, EDITIONS } from '../../support/editions.js';
import { type ListingTools, listingTools } from '../../support/listing-tools.js';
import { liteFolder } from '../../support/lite.js';
import { eventually } from '../../support/waiting.js';

const TOOL = 'get_status';
const KNOWN = { host: 'reports.acme.example' };
/** Its first letter e is one of another alphabet. */
const ALIKE = { host: 'r\u0435ports.acme.example' };
const WHY =
  'Review: drift: unlike what this agent did before: a destination that looks like one of before, and is another.';

describe.each(EDITIONS)('drift from an agent’s own history in %s', (_name, open, startLimitMs) => {
  let folder: string;
  let tools: ListingTools;
  let gate: Edition;
  beforeAll(async () => {
    folder = await liteFolder();
    tools = await listingTools();
    tools.pages = [[{ name: TOOL, description: 'Status of a host.', inputSchema: { type: 'object' } }]];
    gate = await open({ url: tools.url, folder, agent: 'status-bot' });
  }, startLimitMs);
  afterAll(async () => {
    await gate?.stop();
    await tools?.close();
    await rm(folder, { recursive: true, force: true });
  });
  /** Asked again where Gate had no time to judge it, as its agent would. */
  const ask = (given: JsonObject) =>
    eventually('a verdict', async () => {
      const answer = await gate.bot.call(TOOL, given);
      return answer.status !== 503 && answer;
    });
  const waits = async () => {
    const asked = await ask(ALIKE);
    expect(asked.status).toBe(202);
    const id = asked.body['correlation_id'] as string;
    expect(await gate.reasons(id)).toContain(WHY);
    return id;
  };

  it('lets an agent without a history pass, and asks a person once there is one', async () => {
    expect((await ask(KNOWN)).status).toBe(200);
    await waits();
  });

  it(
    'learns nothing from a call that waits, and remembers what ran after a restart',
    async () => {
      await waits();
      gate = await gate.restart();
      await waits();
      expect((await gate.bot.call(TOOL, KNOWN)).status).toBe(200);
    },
    startLimitMs,
  );

  it('has learned the destination once a person approved the call and it ran', async () => {
    const id = await waits();
    expect(await gate.approve(id)).toBe(200);
    await eventually('a call that is known now', async () => (await gate.bot.call(TOOL, ALIKE)).status === 200);
  });
});
