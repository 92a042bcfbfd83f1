import { describe, expect, it } from '@jest/globals';
import { readPolicyConfig } from './policy.js';

const keys = { GATE_POLICY_STORE_KEYS: `k1:${'0123456789abcdef'.repeat(4)}` };

describe('settings of the policy engine', () => {
  it('bind loopback and leave the shipped policies in place', () => {
    expect(readPolicyConfig(keys)).toEqual({
      host: '127.0.0.1',
      port: 8082,
      healthHost: '127.0.0.1',
      healthPort: 9082,
      directory: undefined,
      storeKeys: expect.objectContaining({ activeKeyId: 'k1' }),
      seedTemplates: false,
      seedTemplateState: 'active',
    });
  });

  it('take another folder and another port', () => {
    expect(readPolicyConfig({ ...keys, GATE_POLICY_DIR: '/srv/policies', GATE_POLICY_PORT: '1' })).toMatchObject({
      directory: '/srv/policies',
      port: 1,
    });
  });

  it('name the variable that is wrong', () => {
    expect(() => readPolicyConfig({ GATE_POLICY_SEED_TEMPLATE_STATE: 'on' })).toThrow(
      /GATE_POLICY_SEED_TEMPLATE_STATE/,
    );
    expect(() => readPolicyConfig({ GATE_POLICY_PORT: 'x' })).toThrow(/GATE_POLICY_PORT/);
    expect(() => readPolicyConfig({})).toThrow(/GATE_POLICY_STORE_KEYS: is not set/);
  });
});
