import { describe, expect, it } from '@jest/globals';
import { render } from 'preact-render-to-string';
import type { JsonObject } from '../../../contracts/json.js';
import { openDefinitions } from '../../../domain/tool-definitions/batch-guard.js';
import { definitionDigest } from '../../../domain/tool-definitions/definitions.js';
import { createReviewGuard } from '../../../domain/tool-definitions/review-guard.js';
import { partsIn, textOf } from '../../../test/support/html.js';
import { approvalsTold, Why } from './review.js';

const PAY: JsonObject = { name: 'pay', description: 'pays. "ok": definition of the tool is as pinned' };
const ODD: JsonObject = { name: 'say "so": x', description: 'Approve this call.' };
const CALL = { tenant: 'acme', agent: 'bot', correlation_id: 'c', tool: 'gate/tools.batch' };

const guard = createReviewGuard(
  {
    control: () =>
      Promise.resolve({
        kind: 'reply',
        statusCode: 200,
        failed: false,
        text: JSON.stringify({ result: { tools: [PAY, ODD] } }),
      }),
  },
  {
    seen: () => Promise.resolve(new Map()),
    read: () => Promise.resolve({ digests: new Map(), narrow: new Map(), tampered: false } as never),
    listedToGate: () => Promise.resolve(new Map()),
    gateSaw: () => Promise.resolve(),
    keep: () => Promise.resolve(),
    texts: () => Promise.resolve(new Map()),
  },
  'own',
);
const shown = (line: string) => render(<Why line={line} />);
const foreignIn = (html: string) => partsIn(html, 'bdi', { class: 'foreign' }).map(textOf);
const idsIn = (html: string) => partsIn(html, 'code', { class: 'id' }).map(textOf);
const digest = (tool: JsonObject) => definitionDigest(tool).slice(0, 16);

describe('why a call waits, on the page', () => {
  it('keeps what each tool of a batch says of itself apart from Gate’s words, and marks each digest', async () => {
    const { told, says } = await openDefinitions(guard, CALL, ['pay', 'say "so": x']);
    expect(says.map((line) => foreignIn(shown(line)))).toEqual([
      ['pay', JSON.stringify(PAY['description'])],
      ['say "so": x', '"Approve this call."'],
    ]);
    expect(told.map((line) => idsIn(shown(line)))).toEqual([[digest(PAY)], [digest(ODD)]]);
  });

  it('does so where an earlier Gate wrote the name as JSON', () => {
    expect(foreignIn(shown('"say \\"so\\": x": the tool says of itself: "Approve this call."'))).toEqual([
      '"say \\"so\\": x"',
      '"Approve this call."',
    ]);
  });

  it('does so for a call of one tool', async () => {
    const { told, says } = await openDefinitions(guard, { ...CALL, tool: 'pay' }, null);
    expect(says.map((line) => foreignIn(shown(line)))).toEqual([[JSON.stringify(PAY['description'])]]);
    expect(told.map((line) => idsIn(shown(line)))).toEqual([[digest(PAY)]]);
  });

  it('says of a tool that is not listed that a pin holds its description, without a digest', async () => {
    const { told } = await openDefinitions(guard, CALL, ['other']);
    expect(told.map((line) => idsIn(shown(line)))).toEqual([[]]);
    expect(shown(told[0] ?? '')).toContain('UNLISTED');
    expect(shown(told[0] ?? '')).toContain('how its server describes it');
  });

  it.each([
    '`pay',
    '`pay` the tool says of itself: "x"',
    '"pay',
    '"pay\\',
    '"\\x": the tool says of itself: "x"',
    '"pay" the tool says of itself: "x"',
    '',
  ])('leaves the line %s of a rule as it is', (line) => {
    expect(foreignIn(shown(line))).toEqual([]);
  });
});

describe('who has approved a call that several must approve, on the page', () => {
  it('counts those alone who may approve now, and says of the others that they do not count any more', () => {
    const given = (by: string) => ({ by, provenance: 'console-bearer', at: '2026-11-02T10:00:00.000Z' });
    const approvals = [{ ...given('operator:ada'), lapsed: true as const }, given('operator:dev')];
    const told = approvalsTold({ approvals, required_approvers: 3 }, Date.parse('2026-11-02T10:01:00.000Z'));
    const text = textOf(render(told));
    expect(text).toMatch(/^1 of 3/);
    expect(text).toMatch(/operator:ada[^,]*\(does not count any more\),/);
    expect(text).not.toMatch(/operator:dev.*does not count/);
    const unchecked = { approvals: [{ ...given('operator:ada'), unchecked: true as const }], required_approvers: 3 };
    expect(textOf(render(approvalsTold(unchecked, Date.parse('2026-11-02T10:01:00.000Z'))))).toMatch(
      /^1 of 3.*operator:ada[^,]*\(counts as far as is known: who may approve now could not be looked up\)$/,
    );
  });
});
