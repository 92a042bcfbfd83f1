import { describe, expect, it } from '@jest/globals';
import { CONSOLE_SETTINGS } from '../../config/console.js';
import { READ_FOR, SIGN_IN_SETTINGS } from '../../config/console-sign-in.js';
import { readGroups } from '../../config/env.js';
import { aboutConsole } from './about.js';

const shown = (env: Readonly<Record<string, string>> = {}) => {
  const groups = { own: CONSOLE_SETTINGS, signIn: SIGN_IN_SETTINGS };
  const key = { GATE_CONSOLE_SESSION_KEY: '0123456789abcdef'.repeat(4) };
  const { settings } = aboutConsole(readGroups('console', groups, { ...key, ...env }));
  return (variable: string) => settings.find((setting) => setting.variable === variable);
};

describe('the settings that the console shows', () => {
  it('say how people sign in also where nobody set it', () => {
    expect(shown()('GATE_CONSOLE_AUTH')).toMatchObject({ told: 'operator-token', from: 'default', isRead: true });
    expect(shown({ GATE_CONSOLE_AUTH: 'saml' })('GATE_CONSOLE_AUTH')).toMatchObject({ told: 'saml', from: 'set' });
    const token = { GATE_CONSOLE_AUTH: 'operator-token' };
    expect(shown(token)('GATE_CONSOLE_AUTH')).toMatchObject({ told: 'operator-token', from: 'set' });
  });

  it('say of those of another way that they are not read', () => {
    const bySaml = shown({ GATE_CONSOLE_AUTH: 'saml' });
    expect(bySaml('GATE_CONSOLE_OIDC_TENANT_CLAIM')).toMatchObject({ told: 'org_id', isRead: false });
    expect(bySaml('GATE_CONSOLE_SAML_ENTITY_ID')).toMatchObject({ told: 'not set', isRead: true });
    expect(bySaml('GATE_CONSOLE_FEDERATED_MFA_VALUES')).toMatchObject({ isRead: true });
    expect(shown()('GATE_CONSOLE_FEDERATED_MFA_VALUES')).toMatchObject({ isRead: false });
    expect(shown()('GATE_HIL_OPERATORS')).toMatchObject({ isRead: true });
  });

  it('are of the way that their meaning names', () => {
    const named = Object.entries(SIGN_IN_SETTINGS).flatMap(([name, { meaning }]) => {
      const way = /^For ([a-z-]+):/.exec(meaning)?.[1];
      return way === undefined ? [] : [[name, [way]]];
    });
    expect(named.length).toBeGreaterThan(10);
    expect(READ_FOR).toMatchObject(Object.fromEntries(named));
  });
});
