import { createScorer, scoreAsAnswer, scoreOf } from '../../domain/inspection/injection-classifier.js';
import { detectInjection, detectInjectionByBoth, detectInjectionInAnswer } from '../../domain/inspection/injection.js';
import type { AnswersModel, InjectionModel } from '../../domain/inspection/injection-model.js';
import { inspectTexts, readingsOf } from '../../domain/inspection/texts.js';
import { shortened } from './answer-lessons.js';
import { type Corpus, inserted, type ReadCorpus, spread } from './corpora.js';

/** From this confidence on the lane denies (`domain/inspection/inspector.ts`). */
const DENIED_FROM = 0.85;
/** No corpus counts for more than so many texts, so that none decides alone. */
const MOST_MEASURED = 400;

export interface ScoredCorpus {
  readonly name: string;
  readonly kind: Corpus['kind'];
  readonly use: Corpus['use'];
  readonly origin: Corpus['origin'];
  readonly texts: readonly string[];
  /** Of the classifier alone. */
  readonly scores: readonly number[];
  /** How many texts the grammar alone finds something in. */
  readonly grammar: number;
  /** How many the lane, as it ships, hands to a person or denies; and how many of them it denies. */
  readonly found: number;
  readonly denied: number;
}

type Inspected = ReturnType<typeof inspectTexts>;
interface Measured {
  /** The lane as it ships. */
  readonly lane: (inspected: Inspected) => { readonly detected: boolean; readonly confidence: number };
  /** The classifier alone: made anew for each text. */
  readonly scorer: () => (reading: string) => number;
}

export const scoredBy = (corpora: readonly ReadCorpus[], model?: InjectionModel): ScoredCorpus[] =>
  corpora.map((one) =>
    scored(one, {
      lane: (inspected) => detectInjectionByBoth('', inspected, model),
      scorer: () => createScorer((text) => scoreOf(text, model)),
    }),
  );

function scored({ name, kind, use, origin, read }: ReadCorpus, { lane, scorer }: Measured): ScoredCorpus {
  const texts = spread(read, MOST_MEASURED);
  let [grammar, found, denied] = [0, 0, 0];
  const scores = texts.map((text) => {
    const inspected = inspectTexts({ text }, 'standard');
    if (detectInjection('', inspected).detected) grammar += 1;
    const judged = lane(inspected);
    if (judged.detected) found += 1;
    if (judged.detected && judged.confidence >= DENIED_FROM) denied += 1;
    const score = scorer();
    return Math.max(...readingsOf(text, 'standard').map((reading) => score(reading)));
  });
  return { name, kind, use, origin, texts, scores, grammar, found, denied };
}

/** Attacks that are tuned by in documents that are tuned by: those of whole texts, and what people ask of models, each between the lines of one. */
const PUT_INTO = 'what a bank’s staff reads';
const PUT_IN: Readonly<Record<string, string>> = {
  'spikee against applications': 'spikee against applications, in a bank’s papers',
  'spikee for system prompts': 'spikee for system prompts, in a bank’s papers',
  'PINT samples: attacks': 'PINT attacks, in a bank’s papers',
  'WildGuard: harmless questions': 'WildGuard: questions that would be harmless alone, in a bank’s papers',
};
function putIntoPapers(corpora: readonly ReadCorpus[]): ReadCorpus[] {
  const papers = corpora.find(({ name }) => name === PUT_INTO)?.read ?? [];
  return corpora.flatMap((one) => {
    const name = PUT_IN[one.name];
    if (name === undefined || papers.length === 0) return [];
    const read = spread(one.read, MOST_MEASURED).flatMap((text, index) => {
      const short = shortened(text);
      const paper = papers[(index * 37) % papers.length] as string;
      return short === null ? [] : [inserted(paper, short, index * 5 + 1)];
    });
    return [{ ...one, name, kind: 'attack', read }];
  });
}

/** What tools answer, judged as an answer: with the classifier for answers, and the lane with both. */
export function scoredAsAnswers(
  corpora: readonly ReadCorpus[],
  models: { readonly ofMessages?: InjectionModel; readonly ofAnswers?: AnswersModel } = {},
): ScoredCorpus[] {
  const answers = [...corpora.filter(({ answer }) => answer === true), ...putIntoPapers(corpora)];
  return answers.map((one) =>
    scored(one, {
      lane: (inspected) => detectInjectionInAnswer(inspected, models),
      scorer: () => createScorer((text) => scoreAsAnswer(text, models.ofAnswers)),
    }),
  );
}

/** Scores that so many in a hundred of the harmless texts are over. */
export const RATES = [0.01, 0.03] as const;
export function thresholdsOf(scored: readonly ScoredCorpus[]): number[] {
  const harmless = scored
    .filter(({ kind }) => kind === 'harmless')
    .flatMap(({ scores }) => scores)
    .toSorted((one, other) => other - one);
  return RATES.map((rate) => harmless[Math.floor(harmless.length * rate)] ?? 0);
}
export const over = (scores: readonly number[], threshold: number): number =>
  scores.filter((score) => score > threshold).length;

/** Wilson's interval of 95 % for a share, in percent. */
export function wilson(count: number, of: number): readonly [low: number, high: number] {
  const z = 1.959_964;
  const share = count / of;
  const middle = (share + (z * z) / (2 * of)) / (1 + (z * z) / of);
  const half = (z / (1 + (z * z) / of)) * Math.sqrt((share * (1 - share)) / of + (z * z) / (4 * of * of));
  return [100 * Math.max(0, middle - half), 100 * Math.min(1, middle + half)];
}

/** Lines for people who tune. */
export function measured(scored: readonly ScoredCorpus[], many: number) {
  const thresholds = thresholdsOf(scored);
  const percent = (count: number, of: number): string => ((100 * count) / of).toFixed(1).padStart(6);
  const lines = scored.map(({ name, kind, texts, scores, grammar, found, denied }) =>
    [
      kind.padEnd(9),
      name.padEnd(50),
      String(texts.length).padStart(4),
      'at 1, 3 %',
      ...thresholds.map((at) => percent(over(scores, at), texts.length)),
      'grammar',
      percent(grammar, texts.length),
      'found',
      percent(found, texts.length),
      'denied',
      percent(denied, texts.length),
    ].join(' '),
  );
  const worst = scored.flatMap(({ name, kind, texts, scores }) =>
    many === 0
      ? []
      : [
          `-- ${name}`,
          ...texts
            .map((text, index) => ({ text, score: scores[index] as number }))
            .toSorted((one, other) => (kind === 'attack' ? one.score - other.score : other.score - one.score))
            .slice(0, many)
            .map(({ text, score }) => `   ${score.toFixed(2)} ${JSON.stringify(text.slice(0, 200))}`),
        ],
  );
  return { thresholds, lines, worst };
}
