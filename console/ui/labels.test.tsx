import { describe, expect, it } from '@jest/globals';
import { render } from 'preact-render-to-string';
import type { ChainHealth } from '../services.js';
import { Chain } from './chain.js';
import { ForeignBlock, Table } from './parts.js';
import { Diff, Source } from './source.js';
import { textOf, wordsIn } from '../../test/support/html.js';

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
    expect(textOf(html).trim()).toBe(
      lines
        .map((line) => line.replace('\u202e', '\\u{202e}'))
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
  const told = (length: number, checkpoint: ChainHealth['checkpoint'] = null, valid = true) =>
    render(
      <Chain
        of={{
          ok: true,
          value: {
            valid,
            entries_checked: length,
            length,
            head_hash: null,
            checked_at: '2026-11-02T10:00:00.000Z',
            checkpoint,
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

  describe('with a checkpoint', () => {
    const checkpoint = { origin: 'gate.test/ledger', size: 2, root: 'cm9vdCBoYXNo' };
    it('names it, and each witness with when it signed, whatever a witness is called', () => {
      const name = '<img src=x onerror=alert(1)>\u202e"';
      const html = told(3, {
        ...checkpoint,
        witnesses: [
          { name, signed_at: '2026-11-02T09:58:00.000Z' },
          { name: 'witness.test', signed_at: '2026-11-02T09:00:00.000Z' },
        ],
      });
      expect(html).not.toMatch(/<img|\u202e/);
      expect(wordsIn(html)).toContain(
        '; newest checkpoint of gate.test/ledger over 2 rows, root cm9vdCBo' +
          ', signed by the witness <img src=x onerror=alert(1)>\\u{202e}" 2 min ago (2026-11-02 09:58:00 UTC)' +
          ', signed by the witness witness.test 1 h ago (2026-11-02 09:00:00 UTC).',
      );
      expect(html).toContain('data-copy="cm9vdCBoYXNo"');
    });

    it('says where no witness signed it, and where the ledger signs none', () => {
      expect(wordsIn(told(3, { ...checkpoint, witnesses: [] }))).toContain(
        'root cm9vdCBo, which no witness has signed.',
      );
      expect(told(3)).toContain('; the ledger signs no checkpoints (GATE_LEDGER_CHECKPOINT_KEY_FILE).');
    });
  });

  it('is to decide nothing where it does not hold, with no word of a checkpoint', () => {
    const html = told(3, null, false);
    expect(html).toContain('The chain does not hold');
    expect(html).toContain('Decide nothing on what it says');
    expect(html).not.toContain('checkpoint');
  });
});
