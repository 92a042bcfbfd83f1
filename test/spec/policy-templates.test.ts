import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Tier } from '../../contracts/call.js';
import { type Json, jsonObject, type JsonObject } from '../../contracts/json.js';
import type { PolicyInput } from '../../contracts/policy.js';
import { createLivePolicies } from '../../adapters/policy/live-policies.js';
import { loadPolicySet } from '../../adapters/policy/load-policy-set.js';
import { opaCompiler } from '../../adapters/policy/opa-compiler.js';
import { POLICY_LAYOUT, shippedPolicyDirectory } from '../../adapters/policy/policy-sources.js';
import { fileInTar } from '../../adapters/policy/tar-file.js';
import { schemaPath, templateIndex } from '../../adapters/policy/template-files.js';
import { callOf, type PolicyCase, policyCases } from '../../domain/policy/policy-cases.js';
import { canonicalJson } from '../../domain/crypto/digest.js';
import type { AddedRules, Watched } from '../../domain/policy/added-rules.js';
import { type CompiledPolicy, instanceOf } from '../../domain/policy/compiled.js';
import { headerOf } from '../../domain/policy/policy-header.js';
import { parameterFault } from '../../domain/policy/parameters.js';
import type { Judgement } from '../../domain/policy/policy-set.js';
import { checkTemplates, templatesIn } from '../../scripts/build-templates.js';
import { findOpa } from '../../stack/programs/find-program.js';
import { growthFault } from '../support/expressions.js';

declare const WebAssembly: { readonly compile: (bytes: Uint8Array) => Promise<object> };

const directory = shippedPolicyDirectory();
const { templates } = templateIndex.parse(
  JSON.parse(readFileSync(join(directory, POLICY_LAYOUT.templateIndex), 'utf8')),
);
const mountOf = (file: string): string => file.replace(/\.rego$/, '');
const all = templates.map((template) => {
  const path = join(directory, POLICY_LAYOUT.templates, template.domain, template.name);
  return { ...template, mount: mountOf(template.name), path, body: readFileSync(path, 'utf8') };
});
const casesOf = (path: string): readonly PolicyCase[] => policyCases.parse(parse(readFileSync(path, 'utf8')));
const withCases = all.map((template) => ({ ...template, cases: casesOf(template.path.replace(/\.rego$/, '.yaml')) }));
/** Calls that every rule has to let through. */
const ordinary = z
  .array(z.looseObject({ without: z.array(z.string()).optional(), input: z.record(z.string(), z.unknown()) }))
  .parse(parse(readFileSync(join(directory, 'cases', 'ordinary-work.yaml'), 'utf8')))
  .map(({ input, without = [] }) => {
    const call = callOf({ input, classed: 'change' });
    return Object.fromEntries(Object.entries(call).filter(([field]) => !without.includes(field))) as PolicyInput;
  });

const floor = await loadPolicySet({ directory });
const GRAVITY: Readonly<Record<Tier, number>> = { green: 0, yellow: 1, red: 2 };
const textsOf = ({ decision }: Judgement): readonly string[] => [...decision.reasons, ...decision.review_reasons];

interface Alone {
  readonly deny: readonly unknown[];
  readonly review: readonly unknown[];
}
/** Every template in a package of its own: what it says by itself. */
const entryOf = (mount: string): string => `gate/alone_entry/${mount}_rules`;
const WATCHED = 'gate/alone_entry/watched';
const DEFAULTS = 'gate/alone_entry/defaults';

let opa: string;
let folder: string;
let together: AddedRules;
let alone: CompiledPolicy;
let defaultsOf: JsonObject;
let ofEveryType: readonly JudgedByOpa[];
beforeAll(async () => {
  opa = await findOpa({ onProgress: () => undefined });
  const compiled = await opaCompiler({ find: () => Promise.resolve(opa), directory }).compile(all);
  if (compiled.fault) throw new Error(JSON.stringify(compiled.fault));
  const nothing = {
    mark: async () => null,
    sets: async () => ({ generation: 0, sets: [], unreadable: [], tampered: null, madeUp: null }),
    module: async () => null,
    pastSet: async () => null,
  };
  together = await createLivePolicies({ floor, store: nothing }).tried(compiled.wasm, {}, []);
  folder = mkdtempSync(join(tmpdir(), 'gate-templates-'));
  alone = instanceOf(await WebAssembly.compile(builtAlone()), floor.material.data, 1_024);
  defaultsOf = answerOf(alone.evaluate({}, DEFAULTS)) as JsonObject;
  ofEveryType = judgedByOpa(withCases.flatMap(typedCalls));
}, 240_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function builtAlone(): Uint8Array {
  mkdirSync(join(folder, 'alone'));
  for (const { mount, body } of all)
    writeFileSync(
      join(folder, 'alone', `${mount}.rego`),
      `${body.replace('package gate.authz', `package gate.alone.${mount}`)}\ndeny contains "" if false\n\nreview contains "" if false\n\nwatches contains "" if false\n`,
    );
  const defaults = all
    .filter(({ parameters_sha256: schema }) => schema !== null)
    .map(({ mount }) => `"${mount}": data.gate.alone.${mount}.${mount}_defaults`);
  writeFileSync(
    join(folder, 'alone', 'entry.rego'),
    `package gate.alone_entry

import rego.v1

${all.map(({ mount }) => `${mount}_rules := {"deny": data.gate.alone.${mount}.deny, "review": data.gate.alone.${mount}.review}`).join('\n\n')}

watched := {name: true | some watches in [${all.map(({ mount }) => `data.gate.alone.${mount}.watches`).join(', ')}]; some name in watches}

defaults := {${defaults.join(', ')}}
`,
  );
  const library = join(directory, POLICY_LAYOUT.library);
  const bundle = join(folder, 'bundle.tar.gz');
  const entries = [...all.map(({ mount }) => entryOf(mount)), WATCHED, DEFAULTS].flatMap((entry) => [
    '--entrypoint',
    entry,
  ]);
  const rulesOnly = ['--capabilities', join(directory, POLICY_LAYOUT.capabilities), '--ignore', '*_test.rego'];
  execFileSync(
    opa,
    ['build', '--target', 'wasm', ...entries, ...rulesOnly, '--output', bundle, library, join(folder, 'alone')],
    { stdio: 'pipe', timeout: 120_000 },
  );
  return fileInTar(gunzipSync(readFileSync(bundle)), '/policy.wasm');
}

/** What is no text. `sprintf` of the wasm runtime fails on null, and writes lists and objects otherwise than OPA. */
const NO_TEXTS: readonly Json[] = [null, true, -1.5, [null, 'a', 7], { a: [null] }];
interface TypedCall {
  readonly mount: string;
  /** With all that the engine adds for rules. */
  readonly input: object;
  /** Null where they could not be evaluated. */
  readonly by: Alone | null;
}
interface JudgedByOpa extends TypedCall {
  readonly byOpa: Alone | null;
}
/**
 * A call of each kind of tools that a template stops, with what is no text under the names that its cases or its parameters have: null under each of
 * them, and a value of each type under all.
 */
function typedCalls({ mount, cases }: (typeof withCases)[number]): readonly TypedCall[] {
  const parameters = (defaultsOf[mount] ?? {}) as Readonly<Record<string, Json>>;
  const named = Object.entries(parameters).flatMap(([key, names]) =>
    /_(?:fields|switches)$/.test(key) && Array.isArray(names) ? names.slice(0, 1).map(String) : [],
  );
  const stopped = cases.filter(({ expected: { tier } }) => tier !== 'green').map((one) => callOf(one) as PolicyInput);
  const ofEachKind = new Map(stopped.map((call) => [canonicalJson(watchedBy(call.tool_type)), call]));
  return [...ofEachKind.values()].flatMap((call) => {
    const names = [...new Set([...named, ...Object.keys(call.arguments ?? {})])];
    const given = [
      ...names.map((name) => ({ [name]: null })),
      ...NO_TEXTS.map((value) => Object.fromEntries(names.map((name) => [name, value]))),
    ];
    return given.map((some) => typedCall(mount, { ...call, arguments: { ...call.arguments, ...some } }));
  });
}
function typedCall(mount: string, call: object): TypedCall {
  const added = only(mount);
  let [input, by]: [object, Alone | null] = [call, null];
  judged(call, {
    ...added,
    judge(given) {
      input = JSON.parse(Buffer.from(given as ArrayBuffer).toString()) as object;
      return (by = added.judge(given) as Alone);
    },
  });
  return { mount, input, by };
}
const BY_OPA = `package asked

import rego.v1

answers := [answer(one) | some one in data.calls]

answer(one) := {"deny": deny, "review": review} if {
	deny := data.gate.alone[one.mount].deny with input as one.input
	review := data.gate.alone[one.mount].review with input as one.input
}
`;
/** By the native program, in one run. */
function judgedByOpa(calls: readonly TypedCall[]): readonly JudgedByOpa[] {
  const asked = join(folder, 'asked');
  mkdirSync(asked);
  writeFileSync(join(asked, 'calls.json'), JSON.stringify({ calls }));
  writeFileSync(join(asked, 'answers.rego'), BY_OPA);
  const { library, data } = POLICY_LAYOUT;
  const sources = [asked, join(folder, 'alone'), ...[library, data].map((name) => join(directory, name))];
  const said = execFileSync(
    opa,
    ['eval', '--format', 'raw', ...sources.flatMap((path) => ['--data', path]), 'data.asked.answers'],
    { stdio: 'pipe', timeout: 200_000, encoding: 'utf8', maxBuffer: 2 ** 26 },
  );
  const answers = JSON.parse(said) as readonly Alone[];
  return calls.map((one, at) => ({ ...one, byOpa: answers[at] ?? null }));
}
const answerOf = (evaluated: unknown): unknown => (evaluated as { result: unknown }[])[0]?.result;
const names = new Map<string, Watched>();
const watchedBy = (tool: string): Watched => {
  const kept = names.get(tool) ?? (answerOf(alone.evaluate({ tool_type: tool }, WATCHED)) as Watched);
  names.set(tool, kept);
  return kept;
};
/** One template beside the floor, as a process would have it. */
const only = (mount: string): AddedRules => ({
  ...together,
  watched: watchedBy,
  judge: (input) => answerOf(alone.evaluate(input, entryOf(mount))) as Alone,
});
const judged = (call: object, added: AddedRules): Judgement => floor.judge(call as PolicyInput, undefined, added);

describe('the catalogue', () => {
  it('is listed as its files are; if this fails, run npm run policies', async () => {
    expect((await templatesIn(directory)).templates).toEqual(templates);
  });

  it('passes the strict check, with the functions that rules may use, and its own tests', async () => {
    await expect(checkTemplates({ directory, opa })).resolves.toBeUndefined();
  }, 240_000);
});

describe.each(withCases.map((template) => [template.mount, template] as const))('template %s', (mount, template) => {
  it('says in its header what it is for, and has names of its own alone', () => {
    const { body } = template;
    const said = (key: string) => new RegExp(`^# ${key}: \\S`, 'm').test(body.slice(0, body.indexOf('\npackage ')));
    expect(
      [
        'Template',
        'Domain',
        'Severity',
        'Frameworks',
        'Tags',
        'Tier',
        'Tool surface',
        'Summary',
        'Purpose',
        'Inputs',
        'Edit',
      ].filter((key) => !said(key)),
    ).toEqual([]);
    expect(body).toContain(`# Template: ${mount}\n`);
    expect(headerOf(body).tool_surface.length).toBeGreaterThan(0);
    const heads = [...body.matchAll(/^(?:default )?([a-z_][a-z0-9_]*)/gm)].map(([, name]) => name as string);
    const shared = new Set(['package', 'import', 'deny', 'review', 'watches', 'else']);
    expect(heads.filter((name) => !shared.has(name) && !name.startsWith(`${mount}_`))).toEqual([]);
    const reasons = [...body.matchAll(/"((?:Violation|Review): [^"]*)/g)].map(([, text]) => text as string);
    expect(reasons.filter((text) => !/^(?:Violation|Review): /.test(text) || !text.includes(`: ${mount}: `))).toEqual(
      [],
    );
    const tiers = new Set([...body.matchAll(/^(deny|review) contains/gm)].map(([, kind]) => kind));
    expect(template.tier).toBe(tiers.size === 2 ? 'mixed' : [...tiers][0]);
  });

  it('has the defaults that the schema of its parameters says', () => {
    if (template.parameters_sha256 === null) return;
    const schema = z
      .looseObject({
        title: z.string(),
        additionalProperties: z.literal(false),
        properties: z.record(z.string(), jsonObject),
      })
      .parse(JSON.parse(readFileSync(schemaPath(template.path), 'utf8')));
    const defaults = Object.fromEntries(Object.entries(schema.properties).map(([name, of]) => [name, of['default']]));
    expect(defaultsOf[mount]).toEqual(defaults);
    expect(schema.title).toBe(mount);
    expect(Object.values(schema.properties).filter(({ description }) => typeof description !== 'string')).toEqual([]);
    expect(parameterFault(schema as JsonObject, defaults)).toBeNull();
    expect(parameterFault(schema as JsonObject, { no_such_parameter: 1 })).not.toBeNull();
  });

  it('stops what its cases say and nothing else, alone and with every other', () => {
    const wrong: unknown[] = [];
    const said = new Set<string>();
    for (const { description, expected, ...one } of template.cases) {
      const call = callOf(one);
      const [by, everywhere] = [judged(call, only(mount)), judged(call, together)];
      const own = textsOf(by).filter((text) => text.includes(`: ${mount}: `));
      for (const text of own) said.add(text);
      const missing = (expected.reasons_mention ?? []).filter(
        (part) => !textsOf(by).some((text) => text.includes(part)),
      );
      const lost = textsOf(by).filter((text) => !textsOf(everywhere).includes(text));
      const stricter =
        expected.tier === 'green' ? everywhere.tier !== 'green' : GRAVITY[everywhere.tier] < GRAVITY[by.tier];
      if (
        by.failed ||
        everywhere.failed ||
        by.tier !== expected.tier ||
        own.length > 0 !== (expected.tier !== 'green') ||
        missing.length > 0 ||
        lost.length > 0 ||
        stricter
      )
        wrong.push({
          description,
          expected,
          alone: [by.tier, ...textsOf(by)],
          together: [everywhere.tier, ...textsOf(everywhere)],
        });
    }
    expect(wrong).toEqual([]);
    const written = [...template.body.matchAll(/"((?:Violation|Review): [^"]+)/g)].map(([, text]) =>
      (text as string).replace(/%.*$/s, '').trimEnd(),
    );
    expect(written.filter((text) => ![...said].some((one) => one.startsWith(text)))).toEqual([]);
    const tiers = template.cases.map(({ expected: { tier } }) => tier);
    expect(tiers.filter((tier) => tier === 'green').length).toBeGreaterThanOrEqual(2);
    expect(tiers.some((tier) => tier !== 'green')).toBe(true);
  });

  it('says of a value of any type under a name that it reads what OPA itself says', () => {
    const calls = ofEveryType.filter((one) => one.mount === mount);
    const inOrder = (said: Alone | null) =>
      said && { deny: said.deny.map(String).toSorted(), review: said.review.map(String).toSorted() };
    const wrong = calls.filter(({ by, byOpa }) => !isDeepStrictEqual(inOrder(by), inOrder(byOpa)));
    expect(wrong.slice(0, 5)).toEqual([]);
    expect(calls.length).toBeGreaterThan(0);
  });

  it('takes time in proportion to the values that an agent gives', () => {
    const [one] = template.cases.filter(({ expected: { tier } }) => tier !== 'green');
    const call = callOf(one as (typeof template.cases)[0]) as unknown as { arguments: JsonObject };
    const many = (n: number) => (value: Json) =>
      Array.from({ length: n }, (_, at) => (typeof value === 'number' ? String(value + at) : value));
    const work = (n: number) => {
      const given = Object.fromEntries(Object.entries(call.arguments).map(([name, value]) => [name, many(n)(value)]));
      return () => void alone.evaluate({ ...call, arguments: given }, entryOf(mount));
    };
    expect(growthFault(work, 40)).toBeNull();
  });

  it('stops it as well in another spelling of the tool, and with its arguments nested or packed', () => {
    const through: unknown[] = [];
    for (const { description, expected, input, classed } of template.cases) {
      if (expected.tier === 'green') continue;
      const { tool_type: tool = 'list_files', arguments: given = {} } = input as {
        tool_type?: string;
        arguments?: JsonObject;
      };
      const words = tool
        .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
        .toLowerCase()
        .split(/[_.-]/);
      const camel = words
        .map((word, at) => (at === 0 ? word : word.slice(0, 1).toUpperCase() + word.slice(1)))
        .join('');
      const spelt = [words.join('_').toUpperCase(), words.join('-'), `mcp__own__${tool}`, camel].map((tool_type) => ({
        ...input,
        tool_type,
      }));
      const shaped = [{ options: given }, { items: [given] }, { body: JSON.stringify(given) }].map((shape) => ({
        ...input,
        arguments: shape,
      }));
      for (const other of [...spelt, ...shaped]) {
        const call = callOf({ input: other, classed });
        const by = judged(call, only(mount));
        if (!textsOf(by).some((text) => text.includes(`: ${mount}: `)))
          through.push({ description, ...other, tier: by.tier });
      }
    }
    expect(through).toEqual([]);
  });
});

describe('with every template in force', () => {
  it('ordinary work runs', () => {
    const stopped = ordinary
      .map((call) => ({ tool: call.tool_type, by: judged(call, together) }))
      .filter(({ by }) => by.tier !== 'green');
    expect(stopped.map(({ tool, by }) => [tool, ...textsOf(by)])).toEqual([]);
  });

  it.each([
    ['many arguments', Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, at]))],
    ['a list as JSON in a text', { body: JSON.stringify(Array.from({ length: 50_000 }, (_, at) => ({ a: at }))) }],
  ])('a large call with %s is judged too', (_, given) => {
    const call = callOf({ input: { tool_type: 'create_issue', arguments: given }, classed: 'change' });
    expect(judged(call, together)).toMatchObject({ tier: 'green', failed: false });
  });

  it('what the engine found is taken from no caller', () => {
    const call = callOf({ input: { tool_type: 'send_email', arguments: { ssn: '078-05-1120' } }, classed: 'change' });
    const forged = { ...call, watched_by: {}, found_in_arguments: {} };
    expect(textsOf(judged(forged, together))).toEqual([expect.stringContaining('pii_egress')]);
  });

  it('a call is judged by the floor as before', () => {
    for (const call of ordinary) {
      const [before, after] = [floor.judge(call), judged(call, together)];
      expect(textsOf(after)).toEqual(expect.arrayContaining([...textsOf(before)]));
    }
  });
});
