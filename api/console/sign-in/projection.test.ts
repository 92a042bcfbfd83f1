import { describe, expect, it } from '@jest/globals';
import { project, type ProjectionRules, type ProviderWords } from './projection.js';

const rules: ProjectionRules = {
  tenantMap: undefined,
  adminGroups: ['gate-admins'],
  approverGroups: ['gate-approvers'],
  viewerGroups: ['gate-viewers'],
  teamGroups: ['payments', 'claims'],
  mfaValues: ['mfa', 'otp'],
};
const ada: ProviderWords = { tenant: 'acme', groups: ['gate-approvers'], mfa: ['pwd', 'mfa'] };
const of = (over: Partial<ProviderWords>, by: Partial<ProjectionRules> = {}) =>
  project({ ...ada, ...over }, { ...rules, ...by });

describe("a provider's person", () => {
  it.each([
    ['one group', ['gate-viewers'], 'viewer'],
    ['one group that is no list', 'gate-approvers', 'approver'],
    ['two groups: the higher role', ['gate-viewers', 'gate-approvers'], 'approver'],
    ['all groups', ['gate-approvers', 'gate-viewers', 'gate-admins'], 'admin'],
    ['a group among others', ['staff', 'gate-admins'], 'admin'],
  ])('has the role of %s', (_what, groups, role) => {
    expect(of({ groups })).toEqual({ tenant: 'acme', role });
  });

  it('is of the teams that the settings name, sixteen at most', () => {
    const groups = ['gate-approvers', 'claims', 'staff', 'payments'];
    expect(of({ groups })).toEqual({ tenant: 'acme', role: 'approver', teams: ['payments', 'claims'] });
    const many = Array.from({ length: 17 }, (_none, index) => `team-${index}`);
    expect(of({ groups: [...many, 'gate-viewers'] }, { teamGroups: many })).toEqual({
      tenant: 'acme',
      role: 'viewer',
      teams: many.slice(0, 16),
    });
  });

  it.each([
    ['none', []],
    ['no claim', undefined],
    ['other groups', ['staff']],
    ['another case', ['Gate-Admins']],
    ['a space too many', ['gate-admins ']],
    ['a list with something else in it', ['gate-admins', 7]],
    ['an object', { 0: 'gate-admins' }],
  ])('has no role by groups: %s', (_what, groups) => {
    expect(of({ groups })).toEqual({ refused: 'role', tenant: 'acme' });
  });

  it.each([
    ['no claim', undefined],
    ['a password alone', ['pwd']],
    ['another case', ['MFA']],
    ['a list with something else in it', ['mfa', null]],
  ])('does not get in without a second factor: %s', (_what, mfa) => {
    expect(of({ mfa })).toEqual({ refused: 'mfa', tenant: 'acme' });
  });

  const tenantMap = new Map([
    ['org 7', 'acme'],
    ['globex', 'globex'],
  ]);
  it.each([
    ['its own name', 'acme', undefined],
    ['a list of one', ['acme'], undefined],
    ['the name in the map', 'org 7', tenantMap],
  ])('belongs to the tenant of %s', (_what, tenant, map) => {
    expect(of({ tenant }, { tenantMap: map })).toEqual({ tenant: 'acme', role: 'approver' });
  });

  it.each([
    ['none', undefined, undefined],
    ['two', ['acme', 'globex'], undefined],
    ['a value that is no name of a tenant', 'acme corp', undefined],
    ['spaces around it', ' acme', undefined],
    ['a value that the map does not have, though it is a name', 'acme', tenantMap],
    ['the name of a member of every object', 'constructor', tenantMap],
    ['a number', 7, undefined],
  ])('belongs to no tenant: %s', (_what, tenant, map) => {
    expect(of({ tenant }, { tenantMap: map })).toEqual({ refused: 'tenant', tenant: null });
  });
});
