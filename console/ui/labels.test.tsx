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

describe('a text of very many lines', () => {
  const lines = Array.from({ length: 20_000 }, (_, at) => `\t${at}\u202e<`);
  it.each([
    ['of rules', <Source text={lines.join('\n')} />],
    ['of a change', <Diff of={lines.join('\n')} label="Change" />],
  ])('is shown to its end, the same as its beginning, in few parts: %s', (_, part) => {
    const html = render(part);
    expect(html.replaceAll(/<[^>]*>/g, '').trim()).toBe(
      lines
        .map((line) => line.replace('\u202e', '\\u{202e}').replace('<', '&lt;'))
        .join('\n')
        .trim(),
    );
    expect(html.match(/<span/g)?.length).toBe(5_001);
  });
  it('is a part for each line where they are no more than that', () => {
    expect(render(<Source text={'x\n'.repeat(4_999)} />).match(/<span/g)?.length).toBe(5_000);
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
