import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { tierContradicted } from './policy-header.js';

const DENIES = 'deny contains "Violation: no." if {\n\ttrue\n}\n';
const SENDS = 'review contains "Review: look." if {\n\ttrue\n}\n';
const text = (tier: string | null, ...rules: string[]) =>
  `${tier === null ? '' : `# Tier: ${tier}\n`}package gate.authz\n\nimport rego.v1\n\n${rules.join('\n')}`;

describe('what a header says that its rules do', () => {
  it.each([
    ['review', [DENIES], 'a rule of it denies calls', 'deny'],
    ['review', [SENDS, DENIES], 'a rule of it denies calls', 'mixed'],
    ['Deny', [SENDS], 'a rule of it sends calls to a person', 'review'],
    ['deny', [DENIES, SENDS], 'a rule of it sends calls to a person', 'mixed'],
  ])('is told where it is another thing: %s over %j', (tier, rules, words, instead) => {
    const told = tierContradicted(text(tier, ...rules));
    expect(told).toContain(words);
    expect(told).toContain(`write \`# Tier: ${instead}\``);
  });

  it.each([
    ['review', [SENDS]],
    ['deny', [DENIES]],
    ['mixed', [DENIES]],
    ['mixed', [DENIES, SENDS]],
    [null, [DENIES, SENDS]],
    ['review', []],
    ['review', [`# ${DENIES}`, 'denied contains "x" if {\n\ttrue\n}\n', SENDS]],
  ])('is not where it is none: %s over %j', (tier, rules) => {
    expect(tierContradicted(text(tier, ...rules))).toBeNull();
  });

  it.each(['policies/gate', 'policies/templates'])('holds for everything that ships: %s', (folder) => {
    const files = readdirSync(join(PROJECT_ROOT, folder), { recursive: true, encoding: 'utf8' });
    const rules = files.filter((name) => name.endsWith('.rego') && !name.endsWith('_test.rego'));
    expect(rules.length).toBeGreaterThan(20);
    expect(
      rules.filter((name) => tierContradicted(readFileSync(join(PROJECT_ROOT, folder, name), 'utf8')) !== null),
    ).toEqual([]);
  });
});
