import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PROJECT_ROOT } from '../config/project-root.js';
import { sha256Hex } from '../domain/crypto/digest.js';
import { ANSWER_SUSPECT_FROM, SURE_FROM, SUSPECT_FROM } from '../domain/inspection/injection-classifier.js';
import { answerExamplesDigest } from './injection/answer-examples.js';
import { answerLessons } from './injection/answer-lessons.js';
import { type InjectionNetwork, packedNetwork, unpackedNetwork } from '../domain/inspection/injection-network.js';
import type { InjectionModel } from '../domain/inspection/injection-model.js';
import { type Corpus, folderOf, type KeptCorpus, readCorpora, type ReadCorpus } from './injection/corpora.js';
import { examplesDigest, ownExamples } from './injection/examples.js';
import { learnedNetworks } from './injection/learn-network.js';
import { learned, type Lesson, lessonOf, randomOf, weightOfEach } from './injection/learn.js';
import { measured, scoredAsAnswers, scoredBy } from './injection/measure.js';
import { reportPage } from './injection/report.js';
import { VECTORS, writeWordVectors } from './injection/word-vectors.js';

const USAGE = `usage: npm run injection -- [options]
  Trains the classifier of injected instructions, writes its weights and the page with what it measures.
    --cache DIR    where packages and repositories are kept (.cache/injection)
    --texts FILE   keeps what was read of them, and reads it from there the next time
    --seed N       of the order in which it learns (20261127)
    --rounds N     (6)
    --measure      measures the weights that are there, and trains nothing
    --vectors      writes the vectors of words that are read, and trains nothing: build and train again after it
    --tune         measures by the corpora for choices only, and writes no page
    --worst N      also prints the N worst texts of each corpus
`;
const WEIGHTS = join(PROJECT_ROOT, 'domain', 'inspection', 'injection-weights.ts');
const PAGE = join(PROJECT_ROOT, 'docs', 'architecture', 'injection-detection.md');
const ANSWER_WEIGHTS = join(PROJECT_ROOT, 'domain', 'inspection', 'injection-answer-weights.ts');
const WORD_VECTORS = join(PROJECT_ROOT, 'domain', 'inspection', 'word-vectors-data.ts');
const RATE = 0.3;
/** A sentence has fewer features than a window, and is learned from longer. */
const MORE_ROUNDS_OF_SENTENCES = 4;
/** How much the project's own examples weigh together, beside the corpora. */
const WEIGHT_OF_OWN = 14;
/** An attack this short is also learned in the middle of a harmless text. */
const SHORT = 500;
const AROUND = 400;

const { values } = parseArgs({
  options: {
    cache: { type: 'string', default: join(PROJECT_ROOT, '.cache', 'injection') },
    texts: { type: 'string' },
    seed: { type: 'string', default: '20261127' },
    rounds: { type: 'string', default: '6' },
    measure: { type: 'boolean', default: false },
    tune: { type: 'boolean', default: false },
    vectors: { type: 'boolean', default: false },
    worst: { type: 'string', default: '0' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
const say = (line: string): void => void process.stderr.write(`${line}\n`);

async function corpora(): Promise<ReadCorpus[]> {
  const { texts, cache } = values;
  const kept: KeptCorpus[] =
    texts !== undefined && existsSync(texts) ? (JSON.parse(await readFile(texts, 'utf8')) as KeptCorpus[]) : [];
  await mkdir(cache, { recursive: true });
  const read = await readCorpora({ cache, installed: join(PROJECT_ROOT, 'node_modules'), kept }, say);
  if (texts !== undefined)
    await writeFile(texts, JSON.stringify(read.map((one) => ({ name: one.name, read: one.read, sha256: one.sha256 }))));
  return read;
}

async function lessons(read: readonly ReadCorpus[], seed: number): Promise<Lesson[]> {
  const random = randomOf(seed);
  const own = await ownExamples();
  const sources: { kind: Corpus['kind']; weight: number; texts: readonly string[] }[] = [
    ...read
      .filter(({ use, answer }) => use === 'train' && answer !== true)
      .map(({ kind, weight = 1, read: texts }) => ({ kind, weight, texts })),
    ...(['attack', 'harmless'] as const).map((kind) => ({
      kind,
      weight: WEIGHT_OF_OWN,
      texts: own.filter(({ attack }) => attack === (kind === 'attack')).map(({ text }) => text),
    })),
  ];
  const harmless = sources.filter(({ kind }) => kind === 'harmless').flatMap(({ texts }) => texts);
  const made: Lesson[] = [];
  for (const { kind, weight, texts } of sources) {
    const each = weightOfEach(weight, texts);
    for (const text of texts) {
      made.push(lessonOf(text, kind === 'attack', each));
      if (kind !== 'attack' || text.length >= SHORT) continue;
      const around = harmless[Math.floor(random() * harmless.length)] as string;
      const at = Math.floor(random() * around.length);
      const within = `${around.slice(Math.max(0, at - AROUND), at)} ${text} ${around.slice(at, at + AROUND)}`;
      made.push(lessonOf(within, true, each * 0.7));
    }
  }
  return made;
}

async function train(read: readonly ReadCorpus[]): Promise<void> {
  const seed = Number(values.seed);
  const toLearn = await lessons(read, seed);
  say(`${toLearn.length} texts, ${toLearn.reduce((sum, { windows }) => sum + windows.length, 0)} windows`);
  const rounds = Number(values.rounds);
  await write(WEIGHTS, 'TRAINED', await examplesDigest(), learned(toLearn, { seed, rounds, rate: RATE, say }));
  const ofAnswers = answerLessons(read, await ownExamples(), seed);
  say(
    `answers: ${ofAnswers.length} texts, ${ofAnswers.reduce((sum, { windows }) => sum + windows.length, 0)} sentences`,
  );
  const more = rounds + MORE_ROUNDS_OF_SENTENCES;
  const model = learned(ofAnswers, { seed, rounds: more, rate: RATE, say });
  const network = learnedNetworks(ofAnswers, { seed, say });
  await write(ANSWER_WEIGHTS, 'TRAINED_FOR_ANSWERS', await answerExamplesDigest(), model, network);
}

async function write(
  file: string,
  name: string,
  examples: string,
  { weights, step, bias }: InjectionModel,
  network?: InjectionNetwork,
): Promise<void> {
  const packed = Buffer.from(weights.buffer, weights.byteOffset, weights.length).toString('base64');
  await writeFile(
    file,
    `// Written by \`npm run injection\`: see docs/architecture/injection-detection.md. Not for editing.
export const ${name} = {
  seed: ${Number(values.seed)},
  examples_sha256: '${examples}',
  step: ${step},
  bias: ${bias},
  weights:
    '${packed}',${network ? `\n  units: ${network.output.length},\n  network:\n    '${packedNetwork(network)}',` : ''}
};
`,
  );
}

if (values.help) process.stdout.write(USAGE);
else if (values.vectors) {
  const folder = await folderOf(VECTORS, values.cache, '');
  await writeWordVectors(String(folder), WORD_VECTORS);
} else {
  const read = await corpora();
  for (const { use, kind, name, read: texts } of read) say(`${use} ${kind}: ${texts.length} of ${name}`);
  if (!values.measure) await train(read);
  const messages = await writtenModel(WEIGHTS);
  const answers = await writtenModel(ANSWER_WEIGHTS);
  if (!answers.network) throw new Error('the weights for answers have no network');
  const uses = values.tune ? (['tune'] as const) : (['tune', 'foreign'] as const);
  const unseen = read.filter(({ use }) => uses.some((one) => one === use));
  const scored = scoredBy(unseen, messages.model);
  const asAnswers = scoredAsAnswers(unseen, {
    ofMessages: messages.model,
    ofAnswers: { linear: answers.model, network: answers.network },
  });
  if (!values.tune)
    await writeFile(
      PAGE,
      reportPage({
        read,
        scored,
        asAnswers,
        seed: Number(values.seed),
        rounds: Number(values.rounds),
        weights: messages.weights,
        answerWeights: answers.weights,
        network: sha256Hex(packedNetwork(answers.network)),
      }),
    );
  for (const use of uses)
    for (const [what, all, shipped] of [
      ['messages', scored, [SUSPECT_FROM, SURE_FROM]],
      ['answers', asAnswers, [ANSWER_SUSPECT_FROM]],
    ] as const) {
      const { thresholds, lines, worst } = measured(
        all.filter((one) => one.use === use),
        Number(values.worst),
      );
      say(
        `${use}, ${what}: scores at 1 % and 3 % are ${thresholds.map((at) => at.toFixed(2)).join(' and ')}; shipped ${shipped.join(' and ')}`,
      );
      for (const line of [...lines, ...worst]) say(line);
    }
}

/** The weights as a file has them now, which this process may have loaded before they were written. */
async function writtenModel(file: string) {
  const text = await readFile(file, 'utf8');
  const of = (name: string): string =>
    (new RegExp(`^  ${name}:\\s+'?([^',]+)'?,$`, 'm').exec(text) as RegExpExecArray)[1] as string;
  const packed = of('weights');
  return {
    weights: sha256Hex(packed),
    network: text.includes('  network:') ? unpackedNetwork(of('network'), Number(of('units'))) : null,
    model: {
      step: Number(of('step')),
      bias: Number(of('bias')),
      weights: new Int8Array(Buffer.from(packed, 'base64')),
    },
  };
}
