import { describe, expect, it } from '@jest/globals';
import { EVERYBODY, type StoredSet } from '../../domain/policy/library-ports.js';
import { policyKey } from '../../domain/policy/sealed-policies.js';
import { laterThanSets, type Told } from './put-back.js';

const told = (tenant: string, name: string, version: number, more: Partial<Told> = {}): Told => ({
  tenant,
  name,
  version,
  active: true,
  deleted: false,
  body_sha256: `${tenant} ${name} ${version}`,
  ...more,
});
const fileOf = ({ name, version, body_sha256 }: Told): StoredSet['files'][number] => ({
  name,
  version,
  body_sha256,
  content_type: name.endsWith('.json') ? 'json' : 'rego',
});
/** What is later than these sets, each by the policies in it; a set for everybody without a rule is empty. */
const later = (policies: readonly Told[], sets: Readonly<Record<string, readonly Told[]>>) =>
  laterThanSets(
    new Map(policies.map((one) => [policyKey(one.tenant, one.name), one])),
    new Map(Object.entries({ [EVERYBODY]: [], ...sets }).map(([tenant, files]) => [tenant, files.map(fileOf)])),
  );

describe('a tenant’s set with a rule', () => {
  const rule = told('acme', 'a.rego', 1);
  const before = told(EVERYBODY, 'limits.json', 1);
  const now = told(EVERYBODY, 'limits.json', 2);

  it('has the newest document for everybody', () => {
    expect(later([rule, now], { acme: [rule, now] })).toBeNull();
    expect(later([rule, now], { acme: [rule, before] })).toBe('version 2 of limits.json for everybody');
    expect(later([rule, now], { acme: [rule] })).toBe('version 2 of limits.json for everybody');
  });

  it('has nothing of everybody’s that was switched off or deleted since', () => {
    const off = told(EVERYBODY, 'limits.json', 2, { active: false });
    const gone = told(EVERYBODY, 'limits.json', 2, { active: false, deleted: true });
    for (const one of [off, gone]) {
      expect(later([rule, one], { acme: [rule] })).toBeNull();
      expect(later([rule, one], { acme: [rule, before] })).toBe('version 2 of limits.json for everybody');
    }
  });

  it('has the tenant’s own copy in its place, until that is deleted', () => {
    const copy = told('acme', 'limits.json', 1);
    expect(later([rule, now, copy], { acme: [rule, copy] })).toBeNull();
    const off = told('acme', 'limits.json', 2, { active: false });
    expect(later([rule, now, off], { acme: [rule] })).toBeNull();
    const gone = told('acme', 'limits.json', 2, { active: false, deleted: true });
    expect(later([rule, now, gone], { acme: [rule, now] })).toBeNull();
    expect(later([rule, now, gone], { acme: [rule, before] })).toBe('version 2 of limits.json for acme');
  });

  it('is not asked where the tenant has documents alone', () => {
    const document = told('acme', 'own.json', 1);
    expect(later([document, now], { acme: [] })).toBeNull();
  });
});
