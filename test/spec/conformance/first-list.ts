import { expect, it } from '@jest/globals';
import { listingTools } from '../../support/listing-tools.js';
import { section } from './section.js';

const list = { status: 200, body: { result: { tools: [{ name: 'read_file' }] } } };

/** Of an agent that nobody has seen before, where lists that differ are kept back. */
export const firstList = section('a first list of tools', 'first-bot', listingTools, {
  blocking(at) {
    it('is pinned and handed on, and handed on again while it stays', async () => {
      at.tools.pages = [[{ name: 'read_file', description: 'reads', inputSchema: { type: 'object' } }]];
      for (let round = 0; round < 2; round += 1) expect(await at.bot.control('tools/list')).toMatchObject(list);
    });
  },
});
