import { describe, expect, it } from '@jest/globals';
import { render } from 'preact-render-to-string';
import { Chain } from './chain.js';
import { ForeignBlock, Table } from './parts.js';
import { Diff, Source } from './source.js';

describe('the name of a part of a page', () => {
  const HOSTILE = 'agent\n\u202e\u0007x';
  it.each([
    ['a text', <ForeignBlock text="" label={HOSTILE} />],
    [
      'a table',
      <Table label={HOSTILE} heads={['a']}>
        {[]}
      </Table>,
    ],
    ['a text of rules', <Source text="" label={HOSTILE} />],
    ['a change', <Diff of="-a" label={HOSTILE} />],
  ])('is one line, with what nobody sees written out: of %s', (_, part) => {
    expect(/aria-label="([^"]*)"/.exec(render(part))?.[1]).toBe('agent\\n\\u{202e}\\u{7}x');
  });
});

describe('what is said of the chain', () => {
  const told = (length: number) =>
    render(
      <Chain
        of={{
          ok: true,
          value: {
            valid: true,
            entries_checked: length,
            length,
            head_hash: null,
            checked_at: '2026-11-02T10:00:00.000Z',
            checkpoint: null,
          },
        }}
        nowMs={Date.parse('2026-11-02T10:00:00.000Z')}
      />,
    );

  it('is that it holds where rows were walked, and not where there was none yet', () => {
    expect(told(3)).toContain('The chain holds: 3 rows');
    expect(told(0)).not.toContain('holds');
    expect(told(0)).toContain('What came since is walked');
  });
});
