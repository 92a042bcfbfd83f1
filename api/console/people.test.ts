import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ConsoleFixture, openConsole } from '../../test/support/console-over-hil.js';
import { ASK_LIMITS } from './ask-limits.js';
import { eventually } from '../../test/support/waiting.js';

let fixture: ConsoleFixture;
beforeEach(async () => {
  fixture = await openConsole(undefined, { limits: { ...ASK_LIMITS, readMs: 2_000 } });
});
afterEach(() => fixture.close());

describe('the places of one token', () => {
  it.each(['/command-line/hil/pending/summaries', '/%63ommand-line/hil/pending/summaries'])(
    'are eight at a time, however the path is written: %s',
    async (path) => {
      const authorization = `Bearer ${await fixture.token()}`;
      fixture.hanging.add('hil');
      fixture.reached.length = 0;
      const sent = Array.from({ length: 12 }, () => fixture.stranger().get(path, { authorization }));
      await eventually('the first have begun', () => fixture.reached.length >= 8);
      // Whoever has another token is answered meanwhile, and by then the others would have begun too.
      const other = `Bearer ${await fixture.token()}`;
      expect((await fixture.stranger().get('/command-line/me', { authorization: other })).status).toBe(200);
      expect(fixture.reached).toHaveLength(8);
      fixture.hangUp();
      await Promise.all(sent);
    },
    30_000,
  );
});
