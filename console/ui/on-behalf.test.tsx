import { describe, expect, it } from '@jest/globals';
import { render } from 'preact-render-to-string';
import { partsIn, textOf } from '../../test/support/html.js';
import { OnBehalf } from './on-behalf.js';

const GRANT = {
  jti: '70000000-0000-7000-8000-000000000007',
  human_sub: 'user:ada',
  idp: 'corp',
  scope: ['tool:a'],
  yellow_scope: ['yellow:b'],
  max_uses: 1,
  not_before: null,
  not_after: '2026-11-02T10:00:00.000Z',
  recurrence_summary: 'Mon 09:00–10:00 (UTC+00:00)',
};

describe('on whose behalf a call is made, on its pages', () => {
  it('names the person, what was delegated, how often and until when, and the grant', () => {
    const html = render(<OnBehalf of={GRANT} />);
    expect(textOf(html)).toBe(
      'user:ada (by corp), for tool:a, yellow:b; 1 use, Mon 09:00–10:00 (UTC+00:00), until 2026-11-02T10:00:00.000Z; grant 70000000-0000-7000-8000-000000000007',
    );
    // What the issuer and people wrote is apart from Gate’s words.
    expect(partsIn(html, 'bdi', { class: 'foreign' }).map(textOf)).toEqual(['user:ada', 'corp', 'tool:a, yellow:b']);
    expect(textOf(render(<OnBehalf of={{ ...GRANT, max_uses: null, recurrence_summary: null }} />))).toContain(
      'yellow:b; until 2026',
    );
  });
});
