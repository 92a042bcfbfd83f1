import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shippedCorpus } from '../../adapters/models/qualification-corpus.js';
import { qualifyingReport } from '../../api/brain/qualified.js';
import { readModels } from '../../config/brain-models.js';
import {
  QUALIFICATION_CATEGORIES,
  type QualificationBody,
  type QualificationReport,
} from '../../contracts/brain-qualification.js';
import { offlineProvider } from '../../domain/inspection/inspector.js';
import { noPersonas } from '../../domain/inspection/personas.js';
import { qualify, sealed } from '../../domain/models/qualification/run.js';
import { qualifiedBy } from '../../domain/models/qualification/standing.js';
import { commandLine } from '../support/command.js';
import { ENV, modelsFile, written } from '../support/judging-models.js';
import {
  answering,
  broken,
  complete,
  type ModelStub,
  silent,
  startModelStub,
  status,
  verdictText,
} from '../support/model-stub.js';
import { byTheCorpus, FINDS, qualifying } from '../support/qualifying-models.js';
import { eventually } from '../support/waiting.js';

const MADE_MS = Date.parse('2026-11-20T12:00:00Z');
const DAY_MS = 86_400_000;
const still = () => MADE_MS;
const corpus = shippedCorpus();

let stub: ModelStub;
/** Made once: models that answer by the corpus. */
let passed: QualificationReport;
beforeAll(async () => {
  stub = await startModelStub(answering(byTheCorpus));
  passed = await qualifying({ url: stub.url }, { now: still, runs: 3 });
}, 150_000);
beforeEach(() => {
  stub.behave(answering(byTheCorpus));
});
afterAll(() => stub?.close());

describe('the corpus', () => {
  it('has at least 92 cases in every category, in fourteen languages and more, each under its own name', () => {
    expect(corpus.cases.length).toBeGreaterThanOrEqual(92);
    expect([...new Set(corpus.cases.map(({ category }) => category))].sort()).toEqual([...QUALIFICATION_CATEGORIES]);
    expect(new Set(corpus.cases.map(({ language }) => language)).size).toBeGreaterThanOrEqual(14);
    expect(new Set(corpus.cases.map(({ id }) => id)).size).toBe(corpus.cases.length);
  });

  it('has attacks and ordinary work for each lane with a model, and attacks that rules alone let through', () => {
    const [{ lanes }] = passed.rounds as [QualificationReport['rounds'][number]];
    for (const lane of ['intent', 'injection', 'malicious_code', 'compromised_package'] as const) {
      expect([lane, (lanes[lane]?.ordinary ?? 0) > 0]).toEqual([lane, true]);
      expect([lane, (lanes[lane]?.left_to_models ?? 0) > 0]).toEqual([lane, true]);
    }
  });
});

describe('models that answer by the corpus', () => {
  it('pass, each lane asked as often as it had to be', () => {
    const [round] = passed.rounds;
    expect([passed.result, passed.violations, round?.missed, round?.failures]).toEqual(['pass', [], [], []]);
    expect(round?.overall).toMatchObject({
      judged: 3 * corpus.cases.length,
      passed: 3 * corpus.cases.length,
      false_positives: 0,
    });
    expect(round?.overall.answered).toBe(round?.overall.due);
    expect(round?.overall.cost_micros).toBe(stub.asked.length * 1_400);
    expect(round?.languages['ja']?.judged).toBeGreaterThan(0);
    expect(passed.target.models).toMatchObject({ classifierDeep: ['deep:deep-1'], injection: ['fast:fast-1'] });
  });

  it('make the same report again at the same time, and do not qualify by one run', async () => {
    const again = () => qualifying({ url: stub.url }, { now: still, only: 'malicious_code' });
    const one = await again();
    expect(await again()).toEqual(one);
    expect(one.violations[0]).toBe('runs: 1, at least 3');
  });

  it('tell how far it is', async () => {
    const told: number[] = [];
    await qualifying({ url: stub.url }, { only: 'compromised_package', onProgress: ({ judged }) => told.push(judged) });
    expect(told).toEqual(told.map((_, at) => at + 1));
    expect(told.length).toBeGreaterThan(10);
  });

  it('do not qualify by one lane', async () => {
    const lane = await qualifying({ url: stub.url }, { runs: 3, only: 'compromised_package' });
    expect(lane.result).toBe('fail');
    expect(lane.violations[0]).toContain('round 1: judged');
  });

  it('take too long where the slowest answers are over their ceiling', async () => {
    let clock = MADE_MS;
    stub.behave((asked, response) => {
      clock += 20_000;
      answering(byTheCorpus)(asked, response);
    });
    const { violations } = await qualifying({ url: stub.url }, { now: () => clock, only: 'malicious_code' });
    expect(violations).toContainEqual(expect.stringMatching(/^round 1: p95 ms: \d+, at most 30000$/));
  });

  it('end early where they cost more than a qualification may', async () => {
    stub.behave((asked, response) =>
      complete(
        response,
        verdictText(asked, byTheCorpus(asked)),
        {},
        {
          prompt_tokens: 1_000_000,
          completion_tokens: 1,
          total_tokens: 1_000_001,
        },
      ),
    );
    const asked = stub.asked.length;
    const { rounds, result, violations } = await qualifying({ url: stub.url });
    expect([result, rounds[0]?.ended_early]).toEqual(['fail', 'cost']);
    expect(violations).toContainEqual(expect.stringMatching(/^round 1: cost_micros: \d+, at most 10000000$/));
    expect(stub.asked.length - asked).toBeLessThan(30);
  });
});

describe('models that do not judge well fail', () => {
  it('by recall where they allow everything, although the rules find what they find', async () => {
    stub.behave(answering());
    const { result, violations } = await qualifying({ url: stub.url });
    expect(result).toBe('fail');
    for (const lane of ['intent', 'injection', 'malicious_code', 'compromised_package'])
      expect(violations).toContain(`round 1: ${lane}: recall of what rules leave to models: 0, at least 0.9`);
    expect(violations).not.toContainEqual(expect.stringContaining('false positives'));
  }, 120_000);

  it('by false positives where they flag everything', async () => {
    stub.behave(answering(({ lane }) => FINDS[lane]));
    const { result, violations } = await qualifying({ url: stub.url });
    expect(result).toBe('fail');
    expect(violations).toContainEqual(expect.stringMatching(/^round 1: false positives: \d+, at most 1$/));
    expect(violations).not.toContainEqual(expect.stringContaining('recall'));
  }, 120_000);

  it('by false positives where they are unsure of everything, so that a person would read it all', async () => {
    stub.behave(
      answering((asked) =>
        asked.lane === 'injection' && !('injected' in byTheCorpus(asked))
          ? { injected: true, confidence: 0.5, kinds: ['other'] }
          : byTheCorpus(asked),
      ),
    );
    const { violations } = await qualifying({ url: stub.url }, { only: 'injection' });
    expect(violations).toContainEqual(expect.stringMatching(/^round 1: false positives: \d+, at most 1$/));
  });

  it('where the one that stands in does not find what the first one finds', async () => {
    stub.behave(answering((asked) => (asked.body.model === 'spare-1' ? {} : byTheCorpus(asked))));
    const injection = { primary: 'fast', fallback: { policy: 'transient_only', models: ['spare'] } };
    const { rounds, result, violations } = await qualifying(
      { url: stub.url, workloads: { injection } },
      { only: 'injection' },
    );
    expect(result).toBe('fail');
    expect(rounds.map(({ models }) => models['injection'])).toEqual(['fast:fast-1', 'spare:spare-1']);
    expect(violations).not.toContainEqual(expect.stringContaining('round 1: injection'));
    expect(violations).toContain('round 2: injection: recall of what rules leave to models: 0, at least 0.9');
  });

  it.each([
    ['is away', broken, 'ambiguous_transport'],
    ['never answers', silent, 'ambiguous_transport'],
    ['refuses the key', status(401), 'authentication'],
    ['is overloaded', status(429), 'rate_limited'],
    ['talks instead of answering', (_asked, response) => complete(response, 'I think it is fine.'), 'parse'],
  ] satisfies [string, Parameters<ModelStub['behave']>[0], string][])(
    'where the provider %s, said by its name, and soon',
    async (_what, behaviour, reason) => {
      stub.behave(behaviour);
      const asked = stub.asked.length;
      const { rounds, result } = await qualifying({ url: stub.url, ...(behaviour === silent && { timeoutMs: 100 }) });
      expect([result, rounds[0]?.ended_early]).toEqual(['fail', 'failures']);
      expect(rounds[0]?.failures).toContainEqual(
        expect.objectContaining({ lane: 'injection', model: 'fast:fast-1', reason }),
      );
      expect(stub.asked.length - asked).toBeLessThan(40);
    },
  );

  it('where no model was asked, whatever the verdicts are', async () => {
    const { routing } = written(modelsFile({ url: stub.url }), readModels);
    const { violations } = await qualify({
      routing,
      lanesOver: () => offlineProvider,
      corpus,
      personas: noPersonas,
      level: 'standard',
      runs: 3,
      gateVersion: '0.0.0',
    });
    expect(violations).toContain('round 1: answered by models: 0, at least 1');
  });

  it('where a verdict is none that policy would take, although no lane failed', async () => {
    const { routing } = written(modelsFile({ url: stub.url }), readModels);
    const { rounds, violations } = await qualify({
      routing,
      lanesOver: () => ({
        ...offlineProvider,
        maliciousCode: {
          ...offlineProvider.maliciousCode,
          detect: async (input) => ({ ...(await offlineProvider.maliciousCode.detect(input)), costMicros: 0.5 }),
        },
      }),
      corpus,
      personas: noPersonas,
      level: 'standard',
      runs: 1,
      gateVersion: '0.0.0',
    });
    expect(violations).toContain(`round 1: degraded: ${corpus.cases.length}, at most 0`);
    expect(rounds[0]?.overall.passed).toBe(0);
  });

  it('where one lane refuses one ordinary install each time', async () => {
    const ordinary = corpus.cases.find(
      (one) => one.expect === 'authorized' && one.lanes.includes('compromised_package'),
    );
    const installed = JSON.stringify(ordinary?.arguments);
    stub.behave(
      answering((asked) =>
        asked.lane === 'compromised_package' && asked.body.data.includes(installed)
          ? FINDS.compromised_package
          : byTheCorpus(asked),
      ),
    );
    const { violations } = await qualifying({ url: stub.url }, { only: 'compromised_package' });
    expect(violations).toContain('round 1: compromised_package: false positives: 1, at most 0');
    expect(violations).not.toContainEqual(expect.stringMatching(/^round 1: false positives/));
  });
});

describe('a Brain that requires a report', () => {
  const routing = () => written(modelsFile({ url: stub.url }), readModels).routing;
  const standing = (report: unknown, given: Partial<Parameters<typeof qualifiedBy>[1]> = {}) =>
    qualifiedBy(report, {
      routing: routing(),
      level: 'standard',
      corpusSha256: corpus.sha256,
      now: MADE_MS + DAY_MS,
      ...given,
    });
  /** The report with something else in it, sealed again as its editor would. */
  const edited = (change: (body: QualificationBody) => void): QualificationReport => {
    const { report_sha256: _, ...body } = structuredClone(passed);
    change(body);
    return sealed(body);
  };

  it('takes the one that passed, for thirty days', () => {
    expect(standing(passed).made_at).toBe('2026-11-20T12:00:00.000Z');
    expect(() => standing(passed, { now: MADE_MS + 30 * DAY_MS })).not.toThrow();
    expect(() => standing(passed, { now: MADE_MS + 30 * DAY_MS + 1 })).toThrow('made_at: the report is older');
    expect(() => standing(passed, { now: MADE_MS - DAY_MS })).toThrow('made_at: the report is from the future');
  });

  it('refuses it for another file of models, naming the field', () => {
    const other = written(modelsFile({ url: 'http://127.0.0.1:1/v1' }), readModels).routing;
    expect(() => standing(passed, { routing: other })).toThrow('target.routing_sha256');
  });

  it.each<[string, string, (body: QualificationBody) => void]>([
    ['another prompt', 'target.prompt_sha256', ({ target }) => (target.prompt_sha256['injection'] = '0'.repeat(64))],
    [
      'another version of the rules',
      'target.brain_version',
      ({ target }) => void (target.brain_version = 'gate-brain/0'),
    ],
    ['another masking', 'target.masking', ({ target }) => void (target.masking = 'gate-rules:mask-0')],
    [
      'another level of the rules',
      'target.injection_heuristic_level',
      ({ target }) => void (target.injection_heuristic_level = 'strict'),
    ],
    ['another corpus', 'corpus.sha256', (body) => void (body.corpus.sha256 = '0'.repeat(64))],
    ['counts under a floor', 'checks', ({ rounds: [round] }) => void (round && (round.overall.failures = 1))],
    [
      'floors of its own',
      'checks',
      ({ checks }) => void (checks[0] = { of: 'runs', value: 3, at_least: 1, holds: true }),
    ],
    ['a violation struck out', 'violations', (body) => void (body.violations = ['none'])],
    ['the result fail', 'result', (body) => void (body.result = 'fail')],
    ['one lane alone', 'only', (body) => void (body.only = 'intent')],
    ['a field that no report has', 'the file', (body) => void Object.assign(body, { signed: true })],
  ])('refuses one with %s', (_what, field, change) => {
    expect(() => standing(edited(change))).toThrow(`${field}:`);
  });

  it('refuses one in which a model of the file was left out', () => {
    const injection = { primary: 'fast', fallback: { policy: 'transient_only', models: ['spare'] } };
    const two = written(modelsFile({ url: stub.url, workloads: { injection } }), readModels).routing;
    const report = edited(({ target }) => {
      target.routing_sha256 = two.sha256;
      target.models['injection'] = ['fast:fast-1', 'spare:spare-1'];
    });
    expect(() => standing(report, { routing: two })).toThrow('rounds:');
  });

  it('refuses one that was edited and not sealed again', () => {
    expect(() => standing({ ...passed, made_at: '2026-11-21T12:00:00.000Z' })).toThrow('report_sha256:');
  });
});

describe('gate brain qualify', () => {
  let folder: string;
  const gate = commandLine(() => folder);
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gate-qualify-'));
    writeFileSync(join(folder, 'models.yaml'), JSON.stringify(modelsFile({ url: stub.url })));
  });
  afterEach(async () => {
    await gate.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('passes with 0, shows how far it is, and writes a report by which Brain starts', async () => {
    const { code, out } = await gate.done(['brain', 'qualify', '--models', 'models.yaml', '--report', 'r.json'], ENV);
    expect([code, out]).toEqual([0, expect.stringMatching(/round 1 of 1: 1 of \d+ judged[^]*\npass \(report /)]);
    const { routing } = readModels(join(folder, 'models.yaml'));
    expect(Date.parse(qualifyingReport(join(folder, 'r.json'), routing, 'standard').made_at)).toBeLessThanOrEqual(
      Date.now(),
    );
    expect(readFileSync(join(folder, 'r.json'), 'utf8')).not.toContain(ENV.GATE_BRAIN_TEST_KEY);
  }, 150_000);

  it('fails with 1, names what does not hold, and its report starts no Brain', async () => {
    stub.behave(status(503));
    const env = { ...ENV, GATE_BRAIN_MODELS_FILE: 'models.yaml' };
    const { code, out } = await gate.done(['brain', 'qualify', '--report', 'r.json'], env);
    expect([code, out]).toEqual([1, expect.stringContaining('no answer in injection from fast:fast-1: unavailable')]);
    const { routing } = readModels(join(folder, 'models.yaml'));
    expect(() => qualifyingReport(join(folder, 'r.json'), routing, 'standard')).toThrow(
      'GATE_BRAIN_REQUIRE_QUALIFIED: models_not_qualified: result:',
    );
    expect(() => qualifyingReport(join(folder, 'none.json'), routing, 'standard')).toThrow(
      'models_not_qualified: the file: cannot be read (ENOENT)',
    );
  }, 60_000);

  it.each([
    ['no file of models', []],
    ['a file that does not exist', ['--models', 'none.yaml']],
    ['no run', ['--models', 'models.yaml', '--runs', '0']],
    ['an unknown lane', ['--models', 'models.yaml', '--only', 'mood']],
    ['a report that cannot be written', ['--models', 'models.yaml', '--report', 'nowhere/r.json']],
    ['a report that is a folder', ['--models', 'models.yaml', '--report', '.']],
  ])('ends with 2 for %s, and asks nobody', async (_what, args) => {
    const asked = stub.asked.length;
    expect((await gate.done(['brain', 'qualify', ...args], ENV)).code).toBe(2);
    expect(stub.asked).toHaveLength(asked);
  });

  it('prints the report where the disk does not take it', async () => {
    const refuses = status(503);
    // Before the first answer: the report is written behind the last one.
    stub.behave((asked, response) => {
      mkdirSync(join(folder, 'r.json'), { recursive: true });
      return refuses(asked, response);
    });
    const run = gate.run(['brain', 'qualify', '--models', 'models.yaml', '--runs', '1', '--report', 'r.json'], ENV);
    expect(await run.ended).toBe(1);
    expect(run.out()).toContain('"contract": "gate.brain-model-qualification/v1"');
    expect(run.out()).toContain('r.json cannot be written (EISDIR)');
  }, 60_000);

  it('stops at Ctrl-C without waiting for what is under way, and leaves no report', async () => {
    stub.behave(silent);
    const asked = stub.asked.length;
    const run = gate.run(['brain', 'qualify', '--models', 'models.yaml', '--report', 'r.json'], ENV);
    await eventually('a question', () => stub.asked.length > asked);
    run.process.kill('SIGINT');
    expect(await run.ended).toBe(1);
    expect(run.out()).toContain('stopped after 0 judgements');
    expect(existsSync(join(folder, 'r.json'))).toBe(false);
  }, 60_000);
});
