import { describe, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { modelsFile, written } from '../test/support/judging-models.js';
import { readBrainConfig } from './brain.js';
import { inspectionTimeoutFault, qualificationFault, readModels } from './brain-models.js';
import { targetOf } from '../domain/models/qualification/run.js';
import { judgingRoutes } from '../domain/models/routing.js';
import { PROJECT_ROOT } from './project-root.js';

type File = ReturnType<typeof modelsFile>;
const whole = (): File => structuredClone(modelsFile({ url: 'https://models.example.com/v1' }));
/** A file with one thing changed, by the path of it. */
const changed = (path: string, value: unknown): unknown => {
  const file = whole();
  const parts = path.split('.');
  let at = file as unknown as Record<string, unknown>;
  for (const part of parts.slice(0, -1)) at = at[part] as Record<string, unknown>;
  const last = parts.at(-1) as string;
  if (value === undefined) delete at[last];
  else at[last] = value;
  return file;
};
const read = (content: unknown) => written(content, readModels);
const faults = (content: unknown): string => {
  try {
    read(content);
  } catch (error) {
    return (error as Error).message;
  }
  return '';
};

describe('the file of models', () => {
  it('is YAML or JSON, and names for each workload who is asked, at which price, and who stands in', () => {
    const { routing, keyVariables } = readModels(join(PROJECT_ROOT, 'docs/how-to/models.example.yaml'));
    expect(keyVariables).toEqual({ hosted: 'GATE_BRAIN_OPENAI_KEY' });
    expect(routing.providers).toMatchObject({ hosted: { budget: { microsPerHour: 5_000_000 } }, local: {} });
    expect(routing.workloads.classifierDeep).toEqual({
      targets: [
        {
          alias: 'large',
          provider: 'hosted',
          model: 'gpt-4.1',
          maxOutputTokens: 512,
          price: { inputMicrosPerMillionTokens: 2_000_000, outputMicrosPerMillionTokens: 8_000_000 },
        },
        expect.objectContaining({ alias: 'small' }),
      ],
      hedgeAfterMs: 1_500,
    });
    expect(Object.keys(read(whole()).routing.workloads).toSorted()).toEqual([
      'classifierDeep',
      'classifierFast',
      'compromisedPackage',
      'injection',
      'maliciousCode',
    ]);
  });

  it('may name who writes for people, of whom no qualification is', () => {
    const route = { primary: 'fast', fallback: { policy: 'disabled', models: [] } };
    const { routing } = read(
      modelsFile({
        url: 'https://models.example.com/v1',
        workloads: { explainPattern: route, narrateDecision: route },
      }),
    );
    expect(routing.workloads.narrateDecision?.targets[0].alias).toBe('fast');
    expect(judgingRoutes(routing).map(([workload]) => workload)).toEqual([
      'classifierFast',
      'classifierDeep',
      'injection',
      'maliciousCode',
      'compromisedPackage',
    ]);
    expect(Object.keys(targetOf(routing, 'strict').models)).toHaveLength(5);
    expect(faults(changed('workloads.explainPattern', { ...route, primary: 'gone' }))).toContain(
      'workloads.explainPattern: models has no gone',
    );
  });

  it('has a digest that changes with what it says, not with how it is written', () => {
    const { sha256 } = read(whole()).routing;
    expect(read(JSON.stringify(whole(), null, 4)).routing.sha256).toBe(sha256);
    expect(read(changed('models.fast.model', 'fast-2')).routing.sha256).not.toBe(sha256);
  });

  it.each<[string, unknown, string]>([
    ['no contract', changed('contract', undefined), 'contract: '],
    ['another contract', changed('contract', 'gate.brain-provider-routing/v1'), 'contract: '],
    ['another version', changed('schemaVersion', 3), 'schemaVersion: '],
    ['no version', changed('schemaVersion', undefined), 'schemaVersion: '],
    ['no credential', changed('credentials', {}), 'credentials: must not be empty'],
    ['no model', changed('models', {}), 'models: must not be empty'],
    ['no workload', changed('workloads.injection', undefined), 'workloads.injection: '],
    ['no deep classifier', changed('workloads.classifier.deep', undefined), 'workloads.classifier.deep: '],
    ['a field at the top', changed('retries', 3), 'retries: is not a field of this file'],
    ['a field below', changed('models.fast.temperature', 1), 'models.fast.temperature: is not a field of this file'],
    ['a field of a workload', changed('workloads.injection.retries', 1), 'workloads.injection.retries: is not a field'],
    ['an alias in capitals', changed('models.Big', {}), 'models.Big: '],
    ['another kind of provider', changed('providers.main.kind', 'bedrock'), 'providers.main.kind: '],
    [
      'a variable that is not of Brain',
      changed('credentials.key.variable', 'OPENAI_API_KEY'),
      'credentials.key.variable: must be',
    ],
    ['too little time', changed('providers.main.timeoutMs', 99), 'providers.main.timeoutMs: '],
    ['too much time', changed('providers.main.timeoutMs', 120_001), 'providers.main.timeoutMs: '],
    [
      'plain HTTP to elsewhere',
      changed('providers.main.baseUrl', 'http://models.example.com/v1'),
      'providers.main.baseUrl: must be https',
    ],
    [
      'a key in an address',
      changed('providers.main.baseUrl', 'https://u:4711@models.example.com/'),
      'providers.main.baseUrl: must not carry',
    ],
    [
      'a key in a query',
      changed('providers.main.baseUrl', 'https://models.example.com/?key=4711'),
      'providers.main.baseUrl: must not carry',
    ],
    ['a name with a blank', changed('models.fast.model', 'a b'), 'models.fast.model: must not hold blanks'],
    ['no capability', changed('models.fast.requiredCapabilities', []), 'models.fast.requiredCapabilities'],
    ['no price', changed('models.fast.price', undefined), 'models.fast.price: is missing'],
    [
      'a negative price',
      changed('models.fast.price.inputMicrosPerMillionTokens', -1),
      'models.fast.price.inputMicrosPerMillionTokens: ',
    ],
    [
      'a credential that is not there',
      changed('providers.main.credential', 'gone'),
      'providers.main.credential: credentials has no gone',
    ],
    [
      'a credential of another kind',
      changed('credentials.key', { source: 'none' }),
      'providers.main.credential: openai takes a credential with the source environment',
    ],
    [
      'a provider that is not there',
      changed('models.fast.provider', 'gone'),
      'models.fast.provider: providers has no gone',
    ],
    [
      'a model that is not there',
      changed('workloads.injection.primary', 'gone'),
      'workloads.injection: models has no gone',
    ],
    [
      'the primary as its own stand-in',
      changed('workloads.injection.fallback', { policy: 'transient_only', models: ['fast'] }),
      'workloads.injection.fallback.models: names a model twice',
    ],
    [
      'three stand-ins',
      changed('workloads.injection.fallback', { policy: 'transient_only', models: ['a', 'b', 'c'] }),
      'workloads.injection.fallback.models: ',
    ],
    [
      'stand-ins that are switched off',
      changed('workloads.injection.fallback', { policy: 'disabled', models: ['deep'] }),
      'workloads.injection.fallback.models: ',
    ],
    [
      'a second question to nobody',
      changed('workloads.injection.hedgeAfterMs', 100),
      'workloads.injection.hedgeAfterMs: needs a model',
    ],
    ['no mapping', '[]', 'the file: '],
    ['no YAML', 'a: [', 'line 1: the file is neither YAML nor JSON'],
    ['a key twice', 'contract: a\ncontract: b', 'line 2: the file is neither YAML nor JSON'],
  ])('is refused with the place of the fault: %s', (_what, content, message) => {
    expect(faults(content)).toContain(message);
  });

  it('names every fault at once', () => {
    const file = changed('models.fast.provider', 'gone') as File;
    file.models.deep.provider = 'away';
    expect(faults(file)).toMatch(/models\.fast\.provider.*; models\.deep\.provider/);
  });

  it.each([
    ['as a credential', changed('credentials.key', { source: 'literal', value: 'sk-4711' })],
    ['in place of one', changed('credentials.key', 'sk-4711')],
    ['beside one', changed('credentials.key.value', 'sk-4711')],
    ['at a provider', changed('providers.main.apiKey', 'sk-4711')],
    ['as the name of a variable', changed('credentials.key.variable', 'sk-4711')],
    ['in a line that is no YAML', 'key: "sk-4711'],
  ])('holds no secret %s, and a refusal does not repeat it', (_where, content) => {
    expect(faults(content)).not.toBe('');
    expect(faults(content)).not.toContain('4711');
  });

  it('needs calls that wait for the longest lane of it, with whoever stands in', () => {
    const alone = read(modelsFile({ url: 'https://models.example.com/v1', timeoutMs: 3_000 }));
    const standIn = { primary: 'fast', fallback: { policy: 'transient_only', models: ['spare'] } };
    const two = read(
      modelsFile({
        url: 'https://models.example.com/v1',
        timeoutMs: 3_000,
        spareTimeoutMs: 4_500,
        workloads: { injection: standIn },
      }),
    );
    // What is written for people holds no call.
    const slowWriter = read(
      modelsFile({
        url: 'https://models.example.com/v1',
        timeoutMs: 3_000,
        spareTimeoutMs: 60_000,
        workloads: { explainPattern: { primary: 'spare', fallback: { policy: 'disabled', models: [] } } },
      }),
    );
    const faultOf = (models: typeof alone | undefined, inspectionTimeoutSecs?: number) =>
      inspectionTimeoutFault({ models, inspectionTimeoutSecs });
    expect(faultOf(undefined)).toBeNull();
    expect(faultOf(alone)).toMatch(/^GATE_INSPECTION_TIMEOUT_SECS: must be at least 4,/);
    expect(faultOf(alone, 3)).toMatch(/at least 4,/);
    expect(faultOf(alone, 4)).toBeNull();
    expect(faultOf(two, 8)).toMatch(/at least 9,/);
    expect(faultOf(two, 9)).toBeNull();
    expect(faultOf(slowWriter, 4)).toBeNull();
  });

  it('is what a required report is about: without models there is no such report', () => {
    expect(qualificationFault({ requireQualified: 'report.json' })).toMatch(
      /^GATE_BRAIN_REQUIRE_QUALIFIED: needs the models that it is about/,
    );
    expect(qualificationFault({ requireQualified: 'report.json', models: read(whole()) })).toBeNull();
    expect(qualificationFault({})).toBeNull();
  });

  it('has answers read by models that a required report is about, and by any where none is required', () => {
    const route = (primary: string) => ({ primary, fallback: { policy: 'disabled', models: [] } });
    const readBy = (primary: string) => read(changed('workloads.scanResponse', route(primary)));
    expect(readBy('fast').routing.workloads.scanResponse?.targets[0].alias).toBe('fast');
    expect(judgingRoutes(readBy('fast').routing)).toHaveLength(5);
    expect(qualificationFault({ requireQualified: 'report.json', models: readBy('fast') })).toBeNull();
    expect(qualificationFault({ requireQualified: 'report.json', models: readBy('spare') })).toMatch(
      /^GATE_BRAIN_REQUIRE_QUALIFIED: .*workloads\.scanResponse: spare must be among/,
    );
    expect(qualificationFault({ models: readBy('spare') })).toBeNull();
  });

  it('is named by the setting; a start with a file that is not there is refused', () => {
    expect(readBrainConfig({}).models).toBeUndefined();
    expect(() => readBrainConfig({ GATE_BRAIN_MODELS_FILE: '/nowhere/models.yaml' })).toThrow(
      'GATE_BRAIN_MODELS_FILE: the file cannot be read (ENOENT)',
    );
  });
});
