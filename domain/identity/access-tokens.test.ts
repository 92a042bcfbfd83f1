import { describe, expect, it } from '@jest/globals';
import { agentOfClaims, mayBeOf, scopesOf, tenantsOf } from './access-tokens.js';

const map = (entries: Record<string, string>) => new Map(Object.entries(entries));
const claimed = { tenant: { claim: 'org' }, agent: { claim: 'azp' } };
const mapped = {
  tenant: { claim: 'org', map: map({ org_1: 'acme', org_2: 'acme', org_3: 'globex' }) },
  agent: { claim: 'azp', map: map({ 'https://client.example/id': 'support-bot' }) },
};
const fixed = { tenant: { always: 'acme' }, agent: { claim: 'sub' } };

describe('tenant and agent of a token', () => {
  it('are the values of its claims, what a map makes of them, or the one tenant', () => {
    expect(agentOfClaims({ org: 'acme', azp: 'support-bot' }, claimed)).toEqual({
      tenant: 'acme',
      agent: 'support-bot',
    });
    expect(agentOfClaims({ org: 'org_2', azp: 'https://client.example/id' }, mapped)).toEqual({
      tenant: 'acme',
      agent: 'support-bot',
    });
    expect(agentOfClaims({ org: 'globex', sub: 'bot' }, fixed)).toEqual({ tenant: 'acme', agent: 'bot' });
  });

  it.each([
    ['a claim is missing', { azp: 'bot' }],
    ['a claim is empty', { org: '', azp: 'bot' }],
    ['a claim is a list', { org: ['acme'], azp: 'bot' }],
    ['a claim is no text', { org: 7, azp: 'bot' }],
    ['a name leads elsewhere', { org: '..', azp: 'bot' }],
    ['a name has a part too many', { org: 'acme/agent', azp: 'bot' }],
    ['a name has spaces around', { org: ' acme', azp: 'bot' }],
  ])('are nobody where %s', (_why, claims) => {
    expect(agentOfClaims(claims, claimed)).toBeNull();
  });

  it('are nobody where a map does not name the value, be it the name that another one leads to', () => {
    for (const [org, azp] of [
      ['acme', 'https://client.example/id'],
      ['org_1', 'support-bot'],
      ['constructor', 'https://client.example/id'],
    ])
      expect(agentOfClaims({ org, azp }, mapped)).toBeNull();
    expect(agentOfClaims({ org: 'acme' }, { tenant: { claim: 'org' }, agent: { claim: 'constructor' } })).toBeNull();
  });
});

it('whom tokens can name is what the rules say: one tenant, the tenants of a map, anybody of a claim', () => {
  expect([tenantsOf(fixed), tenantsOf(mapped), tenantsOf(claimed)]).toEqual([['acme'], ['acme', 'globex'], []]);
  expect(mayBeOf(mapped, { tenant: 'globex', agent: 'support-bot' })).toBe(true);
  expect(mayBeOf(mapped, { tenant: 'globex', agent: 'other' })).toBe(false);
  expect(mayBeOf(mapped, { tenant: 'org_1', agent: 'support-bot' })).toBe(false);
  expect(mayBeOf(fixed, { tenant: 'globex', agent: 'x' })).toBe(false);
  expect(mayBeOf(claimed, { tenant: 'globex', agent: 'x' })).toBe(true);
});

it('scopes are one text with spaces, or the list of issuers that write one', () => {
  expect(scopesOf({ scope: 'a b' })).toEqual(['a', 'b']);
  expect(scopesOf({ scp: ['a', 'b', 7] })).toEqual(['a', 'b']);
  expect(scopesOf({})).toEqual([]);
});
