import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { createPolicyActivities } from '../../activities/policy.js';
import { loadPolicySet } from '../../adapters/policy/load-policy-set.js';
import { POLICY_LAYOUT, shippedPolicyDirectory } from '../../adapters/policy/policy-sources.js';
import { type PolicyInput, policyInput, RULE_INPUT } from '../../contracts/policy.js';
import { responseQuestion } from '../../contracts/response-scan.js';
import type { AddedRules } from '../../domain/policy/added-rules.js';
import { noToolClasses } from '../../domain/tool-classes/port.js';
import { callInput } from '../support/call-input.js';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { inspectionOf } from '../support/judgements.js';

const directory = shippedPolicyDirectory();
const TAINT = { from: 'a', tool: 'read_email', field: '/result', argument: '/to', kind: 'mail' } as const;
const NOW_MS = Date.parse('2026-11-18T10:00:00Z');
const GRANT = { jti: 'x', act_sub: 'user:ada', idp: 'corp', scope: [], yellow_scope: [], exp: NOW_MS };

/** Every field that rules find in the input of a call that the pipeline had judged, with what the engine adds. */
async function stamped(): Promise<ReadonlySet<string>> {
  const floor = await loadPolicySet({ directory });
  const seen = new Set<string>();
  const spy: AddedRules = {
    bundle: floor.bundle,
    material: { module: {}, data: {}, bundle: floor.bundle, maxMemoryPages: 1 },
    watched: () => ({}),
    bytes: () => 0,
    judge(input) {
      const given = input instanceof ArrayBuffer ? JSON.parse(new TextDecoder().decode(input)) : input;
      for (const name of Object.keys(given as object)) seen.add(name);
      return { deny: [], review: [] };
    },
  };
  const { evaluate } = createPolicyActivities({
    calls: { flow: { taint: async () => [TAINT], kept: () => null } },
    opened: {
      first: () => Promise.reject(new Error('not asked')),
      next: async () => ({
        request: { body: { params: { name: 'read_file', arguments: { path: 'a' } } } } as never,
        history: { last_tool: null, recent_sequence: [] },
      }),
    },
    policies: { evaluate: async (input: PolicyInput) => floor.judge(input, undefined, spy).decision },
    tools: noToolClasses('tools'),
  });
  const behaviour = { available: false, score_bp: 0, reasons: [], calls: 0, days: 0, profile_sha256: null };
  const budget = { of: 'agent', budget_micros: 9, spent_micros: 0 } as const;
  const DECOY = { id: 'a-decoy', kind: 'tool', action: 'none' } as const;
  const spend = { month: '2026-11', reserved_micros: 1, prices: {}, budget };
  await evaluate(callInput(NOW_MS, { spend, grant: GRANT, decoy: DECOY, attestation: null }), {
    available: true,
    inspection: { ...inspectionOf(true), behaviour },
  } as never);
  return seen;
}

interface RuleFile {
  readonly path: string;
  readonly reads: readonly string[];
  /** What its metadata says that no call of Gate has. */
  readonly notStamped: readonly string[];
}
function rulesIn(folder: string): readonly RuleFile[] {
  return readdirSync(join(directory, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.rego') && !path.endsWith('_test.rego'))
    .map((path) => {
      const text = readFileSync(join(directory, folder, path), 'utf8');
      const rules = text.replaceAll(/^\s*#.*$/gm, '').replaceAll(/"(?:[^"\\\n]|\\.)*"(?=[^,\])]*$)/gm, '""');
      const reads = [...rules.matchAll(/\binput\.(\w+)|\binput\["(\w+)"\]|object\.get\(input, \[?"(\w+)"/g)].map(
        ([, dotted, indexed, got]) => dotted ?? indexed ?? got ?? '',
      );
      const said = [...text.matchAll(/^# {3}not_stamped: \[([^\]]*)\]$/gm)].flatMap(([, names = '']) =>
        names.split(', '),
      );
      return { path: join(folder, path), reads: [...new Set(reads)].toSorted(), notStamped: said.toSorted() };
    });
}

describe('what rules read of a call', () => {
  let known: ReadonlySet<string>;
  beforeAll(async () => {
    known = await stamped();
  });
  const files = [...rulesIn(POLICY_LAYOUT.rules), ...rulesIn(POLICY_LAYOUT.templates)];
  const ofAnswers = (path: string) => path.includes('egress');

  it.each(files.filter(({ path }) => !ofAnswers(path)).map((file) => [file.path, file] as const))(
    'is there when Gate judges one, or %s says that it is not',
    (_path, { reads, notStamped }) => {
      expect(reads.filter((name) => !known.has(name))).toEqual(notStamped);
    },
  );
  it('is all that a check of an operator’s rule knows, and nothing else is', () => {
    expect([...known].filter((name) => !RULE_INPUT.includes(name))).toEqual([]);
    expect(RULE_INPUT.filter((name) => !known.has(name) && !(name in policyInput.shape))).toEqual([]);
  });
  it('stands in the page for who writes rules', () => {
    const [, told = ''] = readFileSync(join(PROJECT_ROOT, 'docs/architecture/policies.md'), 'utf8').split(
      '## What rules read\n',
    );
    const [section = ''] = told.split('\n## ');
    expect(RULE_INPUT.filter((name) => !section.includes(`\`${name}\``))).toEqual([]);
  });
  it('is told of an answer by the question of its scan', () => {
    const asked = Object.keys(responseQuestion.shape);
    const read = files.filter(({ path }) => ofAnswers(path)).flatMap(({ reads }) => reads);
    expect(read.filter((name) => !asked.includes(name))).toEqual([]);
    expect(read).toContain('entities');
  });
  it('is found by this test wherever it stands', () => {
    const read = new Set(files.flatMap(({ reads }) => reads));
    expect([...read]).toEqual(
      expect.arrayContaining(['tool_type', 'budget_micros', 'sql', 'watched_by', 'found_in_arguments']),
    );
  });
});
