import { describe, expect, it } from '@jest/globals';
import { summaryShown } from '../../domain/review/masked-review.js';
import { says } from './summaries.js';

describe('whether a text is in what is shown of a field', () => {
  let maskedFields: string[] = [];
  const shown = (field: string) => {
    maskedFields.push(field);
    return summaryShown(field);
  };
  const looked = (field: string, text: string) => {
    maskedFields = [];
    return [says(field, text, shown), maskedFields.length];
  };

  it('masks nothing of a field in which it is not: a page looks at thousands', () => {
    expect(looked('pays ann@acme.example', 'globex')).toEqual([false, 0]);
    expect(looked('pays Ann', 'ann')).toEqual([true, 1]);
  });
  it('is no for what is masked, and for what stands there by masking alone', () => {
    expect(looked('pays ann@acme.example', 'ann@')).toEqual([false, 1]);
    expect(looked('pays ann@acme.example', '[email]')).toEqual([false, 0]);
  });
  it('is by every word for who sees them all', () => {
    expect([says('pays Ann', 'ann'), says('pays Ann', 'bob')]).toEqual([true, false]);
  });
});
