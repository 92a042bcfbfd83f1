import { describe, expect, it } from '@jest/globals';
import { SIGN_IN_SETTINGS, signInFaults } from './console-sign-in.js';
import { readConfig } from './env.js';

const own = { host: '127.0.0.1', url: 'https://gate.example', operators: [] };
const DECIDE = { GATE_HIL_DECIDE_TOKEN: 'Zk3l9PqRs7TuVwXyZ0123456789abcdEF' };
const basic = {
  ...DECIDE,
  GATE_CONSOLE_AUTH: 'basic-admin',
  GATE_CONSOLE_ADMIN_USER: 'root',
  GATE_CONSOLE_ADMIN_PASS_BCRYPT: '$2b$10$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234',
  GATE_CONSOLE_ADMIN_TENANT: 'acme',
};
const oidc = {
  ...DECIDE,
  GATE_CONSOLE_AUTH: 'oidc',
  GATE_CONSOLE_OIDC_ISSUER: 'https://login.example/acme',
  GATE_CONSOLE_OIDC_CLIENT_ID: 'gate',
  GATE_CONSOLE_OIDC_CLIENT_SECRET: 'Zk3l9PqRs7TuVwXyZ',
  GATE_CONSOLE_FEDERATED_APPROVER_GROUPS: 'approvers',
};
const saml = {
  ...DECIDE,
  GATE_CONSOLE_AUTH: 'saml',
  GATE_CONSOLE_SAML_ENTITY_ID: 'https://gate.example/saml',
  GATE_CONSOLE_SAML_ACS_URL: 'https://gate.example/auth/saml/acs',
  GATE_CONSOLE_SAML_IDP_METADATA_URL: 'https://login.example/metadata',
  GATE_CONSOLE_SAML_GROUP_ATTRIBUTES: 'groups,memberOf',
  GATE_CONSOLE_SAML_TENANT_ATTRIBUTE: 'tenant',
  GATE_CONSOLE_SAML_MFA_ATTRIBUTE: 'factors',
  GATE_CONSOLE_FEDERATED_APPROVER_GROUPS: 'approvers',
};
const mtls = {
  ...DECIDE,
  GATE_CONSOLE_AUTH: 'operator-mtls',
  GATE_CONSOLE_OPERATORS_FILE: 'operators.json',
  GATE_CONSOLE_OPERATOR_CA_FILE: 'operators.pem',
};
const webauthn = { GATE_CONSOLE_AUTH: 'webauthn', GATE_CONSOLE_PASSKEY_TENANT: 'acme' };
const faultsOf = (env: Record<string, string | undefined>, over: Partial<typeof own> = {}) =>
  signInFaults(readConfig('console', SIGN_IN_SETTINGS, env), { ...own, ...over }).filter((fault) => fault !== null);

describe('the settings of the sign-in', () => {
  it.each([
    ['basic-admin', basic],
    ['oidc', oidc],
    ['saml', saml],
    ['operator-mtls', mtls],
    ['webauthn', webauthn],
  ])('are whole: %s', (_mode, env) => {
    expect(faultsOf(env)).toEqual([]);
  });

  it('ask for operators where nobody else signs in', () => {
    expect(faultsOf({}, { url: 'http://localhost:8085' })).toEqual([
      expect.stringMatching(/^GATE_HIL_OPERATORS: is not set/),
    ]);
  });

  it.each([
    [
      'at a name of its own',
      { host: '127.0.0.1', url: 'https://gate.example' },
      'GATE_CONSOLE_URL=https://gate.example',
    ],
    ['on every address', { host: '0.0.0.0', url: 'https://localhost:8085' }, 'GATE_CONSOLE_HOST=0.0.0.0'],
  ])('do not have others sign in by an operator’s token because nothing was said: %s', (_, over, why) => {
    const opened = { ...over, operators: [{ name: 'kim', tenant: 'acme', token: 'x', reviewer: true }] as never };
    expect(faultsOf({}, opened)).toEqual([expect.stringMatching(/^GATE_CONSOLE_AUTH: is not set, and others open/)]);
    expect(faultsOf({}, opened)[0]).toContain(why);
    expect(faultsOf({ GATE_CONSOLE_AUTH: 'operator-token' }, opened)).toEqual([]);
    for (const url of [undefined, 'http://localhost:8085', 'https://127.0.0.1:8085'])
      expect(faultsOf({}, { ...opened, host: '127.0.0.1', url: url as string })).toEqual([]);
  });

  it.each(
    [
      ...Object.keys(basic).map((variable) => [variable, basic] as const),
      ...[oidc, saml, mtls, webauthn].flatMap((env) =>
        Object.keys(env)
          .filter((variable) => !variable.includes('FEDERATED'))
          .map((variable) => [variable, env] as const),
      ),
    ].filter(([variable]) => variable !== 'GATE_CONSOLE_AUTH'),
  )('name what is missing: %s', (variable, env) => {
    expect(faultsOf({ ...env, [variable]: undefined })).toEqual([expect.stringMatching(`^${variable}: is not set`)]);
  });

  it.each<[string, Record<string, string>, RegExp]>([
    ['an issuer over HTTP', { GATE_CONSOLE_OIDC_ISSUER: 'http://login.example' }, /OIDC_ISSUER: must be https/],
    [
      'an issuer with a query',
      { GATE_CONSOLE_OIDC_ISSUER: 'https://login.example/?x=1' },
      /OIDC_ISSUER: an issuer has/,
    ],
    ['no group', { GATE_CONSOLE_FEDERATED_APPROVER_GROUPS: '' }, /_ADMIN_GROUPS.*set one at least/],
    ['a group of two roles', { GATE_CONSOLE_FEDERATED_ADMIN_GROUPS: 'approvers' }, /approvers stands there twice/],
  ])('are refused: %s', (_what, over, fault) => {
    expect(faultsOf({ ...oidc, ...over })).toEqual([expect.stringMatching(fault)]);
  });

  it.each<[string, Record<string, string>, RegExp]>([
    [
      'metadata over HTTP',
      { GATE_CONSOLE_SAML_IDP_METADATA_URL: 'http://login.example/' },
      /METADATA_URL: must be https/,
    ],
    [
      'answers for another address',
      { GATE_CONSOLE_SAML_ACS_URL: 'https://others.example/auth/saml/acs' },
      /ACS_URL: must be https:\/\/gate.example\/auth\/saml\/acs/,
    ],
    ['answers for another path', { GATE_CONSOLE_SAML_ACS_URL: 'https://gate.example/acs' }, /ACS_URL: must be/],
    ['no group', { GATE_CONSOLE_FEDERATED_APPROVER_GROUPS: '' }, /_ADMIN_GROUPS.*set one at least/],
  ])('are refused for SAML: %s', (_what, over, fault) => {
    expect(faultsOf({ ...saml, ...over })).toEqual([expect.stringMatching(fault)]);
  });

  it('ask for HTTPS before answers of SAML go to other machines', () => {
    const at = (url: string) => faultsOf({ ...saml, GATE_CONSOLE_SAML_ACS_URL: `${url}/auth/saml/acs` }, { url });
    expect(at('http://gate.example')).toEqual([expect.stringMatching(/^GATE_CONSOLE_URL: must be https/)]);
    expect(at('http://localhost:8085')).toEqual([]);
  });

  it('ask for the address to which passkeys belong, over HTTPS', () => {
    const at = (url: string | undefined) => faultsOf(webauthn, { url } as typeof own);
    expect(at(undefined)).toEqual([expect.stringMatching(/^GATE_CONSOLE_URL: is not set/)]);
    expect(at('http://gate.example')).toEqual([expect.stringMatching(/^GATE_CONSOLE_URL: must be https/)]);
    expect(at('http://localhost:8085')).toEqual([]);
  });

  it('may be HTTP for a provider on this machine, whose own address is named', () => {
    expect(faultsOf({ ...oidc, GATE_CONSOLE_OIDC_ISSUER: 'http://127.0.0.1:9000' })).toEqual([]);
  });

  it('ask before a password can be tried from other machines', () => {
    expect(faultsOf(basic, { host: '0.0.0.0' })).toEqual([expect.stringMatching(/ALLOW_BASIC_ADMIN_NETWORK/)]);
    expect(faultsOf({ ...basic, GATE_CONSOLE_ALLOW_BASIC_ADMIN_NETWORK: 'true' }, { host: '0.0.0.0' })).toEqual([]);
  });

  it.each([
    ['GATE_CONSOLE_AUTH', 'none'],
    ['GATE_CONSOLE_ADMIN_PASS_BCRYPT', 'hunter2-hunter2'],
    ['GATE_CONSOLE_ADMIN_PASS_BCRYPT', '$2b$04$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234'],
    ['GATE_HIL_DECIDE_TOKEN', 'short'],
    ['GATE_HIL_DECIDE_TOKEN', 'abab'.repeat(10)],
    ['GATE_CONSOLE_FEDERATED_TENANT_MAP', 'a=acme,b=acme'],
    ['GATE_CONSOLE_FEDERATED_TENANT_MAP', 'a=acme,a=globex'],
    ['GATE_CONSOLE_FEDERATED_TENANT_MAP', 'a=acme, b=globex'],
    ['GATE_CONSOLE_FEDERATED_TENANT_MAP', 'acme'],
    ['GATE_CONSOLE_SAML_ENTITY_ID', 'gate'],
    ['GATE_CONSOLE_SAML_GROUP_ATTRIBUTES', 'the groups'],
  ])('refuse %s=%s', (variable, text) => {
    expect(() => readConfig('console', SIGN_IN_SETTINGS, { ...oidc, [variable]: text })).toThrow(variable);
  });
});
