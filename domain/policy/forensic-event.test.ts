import { describe, expect, it } from '@jest/globals';
import { canonicalJson, sha256Hex } from '../crypto/digest.js';
import { boundedEvent } from './forensic-event.js';

describe('the event of an evaluation in a ledger row', () => {
  it('is kept as the rules made it', () => {
    const event = { tool_type: 'list_files', reasons: [], sql: 'none' };
    expect(boundedEvent(event)).toBe(event);
  });

  it('is kept by its digest when a caller made it long', () => {
    const event = { tool_type: 'x'.repeat(5_000), reasons: [] };
    const text = canonicalJson(event);
    expect(boundedEvent(event)).toEqual({ too_long: text.length, sha256: sha256Hex(text) });
  });
});
