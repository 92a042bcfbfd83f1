import { describe, expect, it } from '@jest/globals';
import type { IdentityKeyRecord } from '../contracts/identity.js';
import { told } from './keys.js';

const AT = '2026-01-02T03:04:05.000Z';
const key = (over: Partial<IdentityKeyRecord>): IdentityKeyRecord => ({
  id: 'a'.repeat(64),
  use: 'certificates',
  state: 'signing',
  public_pem: 'PEM',
  configured: false,
  request_id: '70000000-0000-4000-8000-000000000007',
  announced_at: AT,
  signs_from: AT,
  retired_at: null,
  withdrawn_from: null,
  by: 'admin-token:01234567',
  ...over,
});

describe('what `gate keys` says of a key', () => {
  it.each<[Partial<IdentityKeyRecord>, string]>([
    [{ state: 'announced' }, `signs from ${AT}`],
    [{ state: 'signing' }, `since ${AT}`],
    [{ state: 'retiring', withdrawn_from: '2026-01-03T03:04:05.000Z' }, 'withdrawn from 2026-01-03T03:04:05.000Z'],
    [{ state: 'withdrawn', withdrawn_from: AT }, `since ${AT}`],
    [{ configured: true }, 'the settings'],
    [{ configured: true }, 'from the start'],
  ])('has its stage, and when it came or what comes next: %j', (over, says) => {
    const line = told([key(over)]);
    expect(line).toContain(says);
    expect(line).toContain(over.state ?? 'signing');
    expect(line).not.toContain('PEM');
  });

  it('says a name from elsewhere in one line', () => {
    const line = told([key({ by: 'x\ny\u001b[2J' })]);
    for (const part of ['x\ny', '\u001b[2J']) expect(line).not.toContain(part);
  });
});
