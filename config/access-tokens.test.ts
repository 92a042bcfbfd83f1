import { describe, expect, it } from '@jest/globals';
import { accessTokenFaults, accessTokenRules, accessTokenSettings } from './access-tokens.js';
import { type Env, readConfig } from './env.js';
import { readLiteConfig } from './lite.js';

const SETTINGS = accessTokenSettings('GATE_PROXY');
const full = (over: Env = {}): Env =>
  Object.fromEntries(
    Object.entries({
      ISSUER: 'https://id.example',
      RESOURCE: 'https://gate.example/mcp',
      TENANT: 'acme',
      ...over,
    }).flatMap(([name, value]) => (value === undefined ? [] : [[`GATE_PROXY_OAUTH_${name}`, value]])),
  );
const faults = (over: Env, more?: { tenantsKnown: boolean }) =>
  accessTokenFaults('GATE_PROXY', readConfig('proxy', SETTINGS, full(over)), more).filter((fault) => fault !== null);

describe('the settings of access tokens', () => {
  it('take none where nothing is set', () => {
    const config = readConfig('proxy', SETTINGS, {});
    expect(accessTokenFaults('GATE_PROXY', config)).toEqual([null]);
    expect(accessTokenRules(config)).toBeNull();
  });

  it('are enough with issuer, resource and tenant', () => {
    expect(faults({})).toEqual([]);
    expect(accessTokenRules(readConfig('proxy', SETTINGS, full()))).toEqual({
      issuer: 'https://id.example',
      resource: 'https://gate.example/mcp',
      audience: 'https://gate.example/mcp',
      algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'],
      scopes: [],
      clockSkewSecs: 30,
      tenant: { always: 'acme' },
      agent: { claim: 'client_id', map: undefined },
      keys: { url: undefined },
    });
  });

  it.each<[string, Env, string]>([
    ['an issuer without a resource', { RESOURCE: undefined }, 'RESOURCE: is not set'],
    ['nothing that says the tenant', { TENANT: undefined }, 'TENANT, GATE_PROXY_OAUTH_TENANT_CLAIM: set one of them'],
    [
      'two things that say the tenant',
      { TENANT_CLAIM: 'org' },
      'TENANT, GATE_PROXY_OAUTH_TENANT_CLAIM: set one of them',
    ],
    ['a map of no claim', { TENANT_MAP: 'a=b' }, 'TENANT_MAP: is set, and GATE_PROXY_OAUTH_TENANT_CLAIM is not'],
    ['an issuer over HTTP', { ISSUER: 'http://id.example' }, 'ISSUER: must be https'],
    ['keys over HTTP', { JWKS_URL: 'http://id.example/keys' }, 'JWKS_URL: must be https'],
    ['a resource over HTTP', { RESOURCE: 'http://gate.example/mcp' }, 'RESOURCE: must be https'],
    ['a resource with a fragment', { RESOURCE: 'https://gate.example/mcp#x' }, 'RESOURCE: a resource has neither'],
    ['an issuer with a query', { ISSUER: 'https://id.example?x' }, 'ISSUER: an issuer has neither'],
    [
      'keys in two places',
      { JWKS_URL: 'https://id.example/keys', JWKS_FILE: 'keys' },
      'JWKS_URL, GATE_PROXY_OAUTH_JWKS_FILE: set one or none',
    ],
    ['everything but the issuer', { ISSUER: undefined }, 'RESOURCE: is set, and GATE_PROXY_OAUTH_ISSUER is not'],
    ['scopes alone', { ISSUER: undefined, RESOURCE: undefined, TENANT: undefined, SCOPES: 'x' }, 'SCOPES: is set'],
  ])('are refused half set or unsafe: %s', (_what, over, fault) => {
    expect(faults(over)).toEqual([expect.stringContaining(`GATE_PROXY_OAUTH_${fault}`)]);
  });

  it('allow HTTP on this machine', () => {
    expect(faults({ ISSUER: 'http://127.0.0.1:3000', RESOURCE: 'http://localhost:8088/mcp' })).toEqual([]);
  });

  it.each<[string, Env, RegExp]>([
    ['no signature', { ALGORITHMS: 'none' }, /none is none of/],
    ['a shared secret', { ALGORITHMS: 'ES256,HS256' }, /HS256 is none of/],
    ['a tenant of another form', { TENANT: 'a/b' }, /1 to 63 letters/],
    ['a map of another form', { AGENT_MAP: 'a' }, /external=internal/],
    ['a value with two names', { AGENT_MAP: 'a=b,a=c' }, /stands there twice/],
    ['clocks that differ by an hour', { CLOCK_SKEW_SECS: '3600' }, /120/],
  ])('know no %s', (_what, over, fault) => {
    expect(() => faults(over)).toThrow(fault);
  });

  it('name the tenants where an edition has to know them', () => {
    const claim = { TENANT: undefined, TENANT_CLAIM: 'org' };
    expect(faults(claim)).toEqual([]);
    expect(faults(claim, { tenantsKnown: true })).toEqual([expect.stringContaining('TENANT_MAP: is not set')]);
    expect(faults({ ...claim, TENANT_MAP: 'x=acme' }, { tenantsKnown: true })).toEqual([]);
  });
});

describe('lite that others reach', () => {
  const env = {
    GATE_LITE_HOST: '0.0.0.0',
    GATE_LITE_DECIDE_TOKEN: 'd'.padEnd(40, 'ecide'),
    GATE_LITE_OAUTH_RESOURCE: 'https://gate.example/mcp',
    GATE_LITE_OAUTH_TENANT: 'acme',
  };
  it('starts with tokens of an issuer alone, and not with half of the settings', () => {
    expect(readLiteConfig({ ...env, GATE_LITE_OAUTH_ISSUER: 'https://id.example' }).oauthIssuer).toBe(
      'https://id.example',
    );
    expect(() => readLiteConfig(env)).toThrow('GATE_LITE_OAUTH_RESOURCE: is set, and GATE_LITE_OAUTH_ISSUER is not');
  });
});
