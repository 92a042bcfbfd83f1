import { describe, expect, it } from '@jest/globals';
import { everyOne, toldRelease, toldStop } from './agent-standing.js';

const AT = '2026-01-02T03:04:05.000Z';
const BOT = {
  name: 'acme/bot',
  typed: 'agent bot',
  at: AT,
  by: 'operator:dev',
  release: null,
  report: null,
  certificates: null,
};
const asked = { requested_by: 'operator:second', requested_at: AT, reason: null, until: '2026-01-03T03:04:05.000Z' };

describe('what came of a stop', () => {
  it('says by whom, and the command by which two people end it', () => {
    const told = toldStop(undefined, BOT);
    expect(told).toMatch(/^stopped: acme\/bot, by operator:dev; /);
    expect(told).toMatch(/release agent bot --reason "…"\n$/);
    expect(toldStop({ state: 'active', release: null }, BOT)).toBe(told);
  });

  it('says of what was stopped before that, and whose release counts no more', () => {
    expect(toldStop({ state: 'suspended', release: null }, BOT)).toMatch(
      `acme/bot was stopped before, at ${AT} by operator:dev\n`,
    );
    expect(toldStop({ state: 'suspended', release: asked }, BOT)).toMatch(
      'by operator:dev; what operator:second asked for, its release, counts no more\n',
    );
  });
});

describe('what came of a release', () => {
  const waits = { ...BOT, release: asked };

  it('says who asked and who confirmed', () => {
    expect(toldRelease(waits, BOT, undefined)).toBe(
      'let go: acme/bot; operator:second asked for it, and operator:dev confirmed it\n',
    );
  });

  it('says that somebody else confirms it, and by which command', () => {
    const told = toldRelease(BOT, waits, true);
    expect(told).toMatch(
      /^acme\/bot stays stopped: operator:second asked for its release\nsomebody else confirms it, /,
    );
    expect(told).toContain(`until ${asked.until}: `);
    expect(told).toContain('release agent bot (in the development stack');
  });

  it('says that one person counts once, and where nobody else is known', () => {
    expect(toldRelease(waits, waits, true)).toContain('you had asked for its release before');
    expect(toldRelease(BOT, waits, false)).toContain('nobody else is known here who could confirm it');
  });
});

it('a list of identity is asked for behind the last of each page that is full', async () => {
  const pages = [['a', 'b'], ['c', 'd'], ['e']].map((ids) => ids.map((id) => ({ id })));
  const paths: string[] = [];
  const target = {
    ask: async <Answer>(_service: string, _method: string, path: string) => {
      paths.push(path);
      return pages[paths.length - 1] as Answer;
    },
  };
  const placeOf = ({ id }: { id: string }) => id;
  expect(
    await everyOne<{ id: string }>({ tenant: 'acme', target }, '/stops', { state: 'suspended', most: 2, placeOf }),
  ).toEqual(pages.flat());
  expect(paths).toEqual(['', '&after=b', '&after=d'].map((after) => `/stops?tenant=acme&state=suspended${after}`));
});
