import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { POLICY_LAYOUT, shippedPolicyDirectory } from '../../adapters/policy/policy-sources.js';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { findOpa, OPA_VERSION } from '../../stack/programs/find-program.js';
import { hasGo } from '../support/go-program.js';
import { type Judged, judged } from '../opa-cases/judged.js';
import { casesOf, pageOf } from '../opa-cases/page.js';
import { type OpaCase, suiteOfOpa } from '../opa-cases/suite.js';
import { needs } from '../support/needs.js';

const PAGE = join(PROJECT_ROOT, 'docs', 'reference', 'policy-builtins.md');
const LIMIT_MS = 400_000;

const able = await hasGo();
const withGo = able ? it : it.skip;
const told = (what: string) => `${what}${needs('go', able)}`;

const capabilities = z.object({ builtins: z.array(z.object({ name: z.string() })) });
const namesIn = (text: string): readonly string[] =>
  capabilities
    .parse(JSON.parse(text))
    .builtins.map(({ name }) => name)
    .toSorted();

/** Functions that no case of the suite calls by name. */
const BY_NAME: Readonly<Record<string, readonly [call: string, answer: unknown]>> = {
  plus: ['plus(1, 2)', 3],
  minus: ['minus(3, 1)', 2],
  mul: ['mul(2, 3)', 6],
  div: ['div(6, 3)', 2],
  rem: ['rem(7, 4)', 3],
  gte: ['gte(2, 1)', true],
  lte: ['lte(1, 2)', true],
  neq: ['neq(1, 2)', true],
  and: ['and({1, 2}, {2})', [2]],
  or: ['or({1}, {2})', [1, 2]],
};
/** Written by OPA for `=`, `:=`, `in` and templates of text; nobody calls them. */
const WRITTEN_BY_OPA = ['assign', 'eq', 'internal.member_2', 'internal.member_3', 'internal.template_string'];
const own = (note: string, call: string, answer: unknown): OpaCase => ({
  note,
  query: 'data.test.p = x',
  modules: [`package test\n\np := ${call}\n`],
  want_result: [{ x: answer }],
});

describe("OPA's own cases, compiled and evaluated as policies are", () => {
  let all: readonly Judged[];
  let ours: readonly Judged[];
  const allowed = namesIn(readFileSync(join(shippedPolicyDirectory(), POLICY_LAYOUT.capabilities), 'utf8'));
  let refused: readonly string[];
  beforeAll(async () => {
    if (!able) return;
    const opa = await findOpa({ onProgress: () => undefined });
    const known = namesIn(execFileSync(opa, ['capabilities', '--current'], { encoding: 'utf8', maxBuffer: 2 ** 26 }));
    refused = known.filter((name) => !allowed.includes(name));
    const suite = await suiteOfOpa();
    const added = [
      ...Object.entries(BY_NAME).map(([name, [call, answer]]) => own(name, call, answer)),
      ...refused.map((name) => own(name, `${name}()`, null)),
    ];
    const results = await judged([...suite, ...added]);
    [all, ours] = [results.slice(0, suite.length), results.slice(suite.length)];
    if (process.env['GATE_TEST_BUILTINS'] === 'write')
      writeFileSync(PAGE, pageOf(all, { allowed, refused, opa: OPA_VERSION }));
  }, LIMIT_MS);

  withGo(told('come out as the page of functions says (`GATE_TEST_BUILTINS=write` writes it)'), () => {
    expect(all.length).toBeGreaterThan(2_000);
    expect(pageOf(all, { allowed, refused, opa: OPA_VERSION })).toBe(readFileSync(PAGE, 'utf8'));
  });

  withGo(told('leave no function that passes the check and is not there at run time'), () => {
    const missing = [...all, ...ours].filter(
      (one) => one.kind === 'failed' && /not implemented|unknown/i.test(one.message),
    );
    expect(missing).toEqual([]);
    const shown = (name: string) => [...casesOf(name, all), ...ours.filter(({ of }) => of.note === name)];
    expect(
      allowed.filter((name) => !WRITTEN_BY_OPA.includes(name) && !shown(name).some(({ kind }) => kind === 'as_opa')),
    ).toEqual([]);
  });

  withGo(told('are refused when they call a function of OPA that is not there, each of them'), () => {
    const passed = ours.filter(({ of: { note }, kind }) => !Object.hasOwn(BY_NAME, note) && kind !== 'refused');
    expect(passed.map(({ of }) => of.note)).toEqual([]);
    expect(refused).toEqual(
      expect.arrayContaining(['http.send', 'time.now_ns', 'rand.intn', 'opa.runtime', 'regex.split', 're_match']),
    );
  });
});
