import { describe, expect, it } from '@jest/globals';
import { isPersonsName, readVouching, type Vouched, vouchingText } from './vouching.js';

const ada: Vouched = {
  subject: 'oidc:ada',
  tenant: 'acme',
  method: 'oidc',
  role: 'approver',
  since_ms: 1_000,
  until_ms: 9_000,
};
const hex = (text: string): string => Buffer.from(text).toString('hex');
const of = (over: Record<string, unknown>): string => hex(JSON.stringify({ ...ada, ...over }));

describe('whom the console vouches for', () => {
  it('is read as it was written', () => {
    expect(readVouching(vouchingText(ada))).toEqual(ada);
  });

  it('may be of teams, sixteen at most', () => {
    const inTeams = { ...ada, teams: ['payments', 'Claims & Fraud'] };
    expect(readVouching(vouchingText(inTeams))).toEqual(inTeams);
    const longest = Array.from({ length: 16 }, (_none, index) => `${index}`.padStart(2, '0').padEnd(64, 'x'));
    expect(readVouching(vouchingText({ ...ada, subject: `oidc:${'a'.repeat(255)}`, teams: longest }))).not.toBeNull();
    for (const teams of [[], [...longest, 'one'], ['a,b'], [' a'], [''], 'payments'])
      expect(readVouching(of({ teams }))).toBeNull();
  });

  it('decides where no role is named, because the header is there for deciding', () => {
    expect(readVouching(of({ role: undefined }))).toEqual(ada);
  });

  it('is older than everybody else where no time is named', () => {
    expect(readVouching(of({ since_ms: undefined }))).toEqual({ ...ada, since_ms: 0 });
  });

  it('may go on where no end is named', () => {
    expect(readVouching(of({ until_ms: undefined }))).toEqual({ ...ada, until_ms: null });
  });

  it.each([
    ['oidc', 'oidc:00u1|abc@example'],
    ['saml', 'saml:ada@acme.example'],
    ['basic-admin', 'basic:root'],
    ['operator-mtls', 'mtls:spiffe://gate.local/operator/ada'],
  ])('is named by %s as %s', (method, subject) => {
    expect(readVouching(of({ method, subject }))).toMatchObject({ method, subject });
  });

  it.each([
    ['an operator by token', of({ subject: 'operator:dev' })],
    ['an operator by token, as one by certificate', of({ method: 'operator-mtls', subject: 'operator:dev' })],
    ['Gate itself', of({ subject: 'system:policy-tier' })],
    ['somebody of another method', of({ subject: 'saml:ada' })],
    ['nobody', of({ subject: 'oidc:' })],
    ['somebody with a space', of({ subject: 'oidc:a b' })],
    ['somebody with a line break', of({ subject: 'oidc:ada\n' })],
    ['somebody with a letter that looks like another', of({ subject: 'oidc:аda' })],
    ['a name of 256 characters', of({ subject: `oidc:${'a'.repeat(256)}` })],
    ['an unknown method', of({ method: 'webauthn', subject: 'webauthn:ada' })],
    ['a method that is a member of every object', of({ method: 'toString' })],
    ['an unknown role', of({ role: 'owner' })],
    ['an invalid time', of({ since_ms: -1 })],
    ['a time in words', of({ since_ms: '1000' })],
    ['an end in words', of({ until_ms: 'never' })],
    ['a tenant with a slash', of({ tenant: 'acme/x' })],
    ['no tenant', of({ tenant: undefined })],
    ['a further member', of({ groups: ['all'] })],
    ['two subjects', hex('{"subject":"oidc:ada","subject":"oidc:bob","tenant":"acme","method":"oidc"}')],
    ['a list', hex('[]')],
    ['nothing', ''],
    ['capitals', vouchingText(ada).toUpperCase()],
    ['half a byte', vouchingText(ada).slice(1)],
    ['no hex', JSON.stringify(ada)],
    ['more than 4608 characters', hex(`${JSON.stringify(ada)}${' '.repeat(2_300)}`)],
  ])('is nobody: %s', (_what, text) => {
    expect(readVouching(text)).toBeNull();
  });
});

describe('a name under which a person decides', () => {
  it.each([
    'operator:dev',
    'webauthn:ada',
    'oidc:00u1|abc@example',
    'saml:ada@acme.example',
    'basic:root',
    'mtls:spiffe://gate.local/operator/ada',
  ])('is %s', (name) => {
    expect(isPersonsName(name)).toBe(true);
  });

  it.each([
    '',
    'ada',
    'oidc:',
    'oidc:ada smith',
    'saml:\u202eada',
    'operator:ada smith',
    'webauthn:\u0430da',
    'mtls:ada',
    'basic:ada/root',
    'system:gate',
  ])('is not %j', (name) => {
    expect(isPersonsName(name)).toBe(false);
  });
});
