import { SURE_FROM, SUSPECT_FROM } from '../../domain/inspection/injection-classifier.js';
import { nameOf, type ReadCorpus } from './corpora.js';
import { over, RATES, type ScoredCorpus, thresholdsOf, wilson } from './measure.js';

interface Measured {
  readonly read: readonly ReadCorpus[];
  readonly scored: readonly ScoredCorpus[];
  readonly seed: number;
  readonly rounds: number;
  /** SHA-256 of the packed weights. */
  readonly weights: string;
}

const share = (count: number, of: number): string => {
  const [low, high] = wilson(count, of);
  return `${((100 * count) / of).toFixed(1)} (${low.toFixed(1)} to ${high.toFixed(1)})`;
};
const row = (...cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;

/** The page with what was measured, of corpora that training did not see. */
export function reportPage({ read, scored, seed, rounds, weights }: Measured): string {
  const foreign = scored.filter(({ use }) => use === 'foreign');
  const tune = scored.filter(({ use }) => use === 'tune');
  return `# What the detection of injected instructions finds

Written by \`npm run injection -- --seed ${seed} --rounds ${rounds}\`; not for editing. What the parts are says
[verdict](verdict.md#the-classifier). SHA-256 of the weights that were measured: ${weights}.

Shares are in percent, with Wilson's interval of 95 %. A corpus counts for at most 400 texts, spread over it. *Foreign*: no text of these
authors was trained on or used for a choice; *tune*: not trained on, but features, rates and thresholds were chosen by them. The split is by
author, never by row.

## Foreign

${tables(foreign)}

## Tune

${tables(tune)}

## Corpora

Nothing of them is in this repository; the script brings packages by their pinned versions. A repository is cloned into
\`.cache/injection/repositories/<owner>/<name>\` by whoever measures; without it its rows are missing.

| corpus | kind | use | texts | where from | SHA-256 of what was read |
| --- | --- | --- | --: | --- | --- |
${read.map(({ name, kind, use, read: texts, origin, sha256 }) => row(name, kind, use, texts.length, nameOf(origin), `\`${sha256.slice(0, 16)}\``)).join('\n')}
`;
}

function tables(scored: readonly ScoredCorpus[]): string {
  const thresholds = thresholdsOf(scored);
  const attacks = scored.filter(({ kind }) => kind === 'attack');
  const harmless = scored.filter(({ kind }) => kind === 'harmless');
  const head = (what: string) =>
    `| ${what} | texts | classifier at 1 % | classifier at 3 % | grammar alone | lane: found | lane: denied |\n| --- | --: | --: | --: | --: | --: | --: |`;
  const line = (name: string, of: readonly ScoredCorpus[]): string => {
    const texts = of.reduce((sum, one) => sum + one.texts.length, 0);
    const count = (part: (one: ScoredCorpus) => number) =>
      share(
        of.reduce((sum, one) => sum + part(one), 0),
        texts,
      );
    return row(
      name,
      texts,
      ...thresholds.map((at) => count((one) => over(one.scores, at))),
      count((one) => one.grammar),
      count((one) => one.found),
      count((one) => one.denied),
    );
  };
  return `The classifier alone reaches ${RATES.map((rate, index) => `${rate * 100} % false positives at a score of ${(thresholds[index] as number).toFixed(2)}`).join(' and ')}.
The lane as it ships suspects from ${SUSPECT_FROM} and is sure from ${SURE_FROM}; *found* is suspected or denied.

${head('attacks: recall')}
${attacks.map((one) => line(one.name, [one])).join('\n')}
${line('all', attacks)}

${head('harmless: false positives')}
${harmless.map((one) => line(one.name, [one])).join('\n')}
${line('all', harmless)}`;
}
