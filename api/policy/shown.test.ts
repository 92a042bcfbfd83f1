import { describe, expect, it } from '@jest/globals';
import { EVERYBODY, type StoredPolicy } from '../../domain/policy/library-ports.js';
import { headerOf } from '../../domain/policy/policy-header.js';
import { storedRow } from './shown.js';

const BODY = `package gate.operator.mine

# METADATA
# title: Much
deny contains "Violation: much" if input.arguments.amount > 7
`;
const policy = (content_type: 'rego' | 'json'): StoredPolicy => ({
  tenant: EVERYBODY,
  name: 'mine',
  content_type,
  active: true,
  current_version: 1,
  body_sha256: '',
  header: headerOf(''),
  deleted_at: null,
  created_at: '2026-03-10T12:00:00.000Z',
  updated_at: '2026-03-10T12:00:00.000Z',
});
const shown = (body: string, type: 'rego' | 'json' = 'rego') => storedRow(policy(type), { body, tampered: null });

describe('what a listed text says of itself', () => {
  it('is found out once for the same bytes', async () => {
    const first = await shown(BODY);
    expect(first.rules).toMatchObject([{ rule: 'deny', title: 'Much', reason: 'Violation: much' }]);
    expect((await shown(BODY)).rules).toBe(first.rules);
  });

  it('is that of each text, and of what kind of text it is', async () => {
    await shown(BODY);
    expect((await shown(BODY.replace('title: Much', 'title: More'))).rules[0]?.title).toBe('More');
    expect(await shown(BODY, 'json')).toMatchObject({ package: null, rules: [] });
  });
});
