import { ANSWER_SUSPECT_FROM, SURE_FROM, SUSPECT_FROM } from '../../domain/inspection/injection-classifier.js';
import { nameOf, type ReadCorpus } from './corpora.js';
import { over, RATES, type ScoredCorpus, thresholdsOf, wilson } from './measure.js';

interface Measured {
  readonly read: readonly ReadCorpus[];
  readonly scored: readonly ScoredCorpus[];
  /** Of what tools answer, judged as that. */
  readonly asAnswers: readonly ScoredCorpus[];
  readonly seed: number;
  readonly rounds: number;
  /** SHA-256 of the packed weights. */
  readonly weights: string;
  readonly answerWeights: string;
  readonly network: string;
}

const share = (count: number, of: number): string => {
  const [low, high] = wilson(count, of);
  return `${((100 * count) / of).toFixed(1)} (${low.toFixed(1)} to ${high.toFixed(1)})`;
};
const row = (...cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;

/** The page with what was measured, of corpora that training did not see. */
export function reportPage({
  read,
  scored,
  asAnswers,
  seed,
  rounds,
  weights,
  answerWeights,
  network,
}: Measured): string {
  const foreign = scored.filter(({ use }) => use === 'foreign');
  const tune = scored.filter(({ use }) => use === 'tune');
  const answers = (wanted: ScoredCorpus['use']) => asAnswers.filter(({ use }) => use === wanted);
  return `# What the detection of injected instructions finds

Written by \`npm run injection -- --seed ${seed} --rounds ${rounds}\`; not for editing. What the parts are says
[verdict](verdict.md#the-classifier). SHA-256 of the weights that were measured: ${weights}, and of those for answers of tools
${answerWeights}, of their network ${network}.

Shares are in percent, with Wilson's interval of 95 %. A corpus counts for at most 400 texts, spread over it. *Foreign*: no text of these
authors was trained on or used for a choice; *tune*: not trained on, but features, rates and thresholds were chosen by them. The split is by
author, never by row.

## Foreign

${tables(foreign, AS_MESSAGES)}

## Tune

${tables(tune, AS_MESSAGES)}

## Answers of tools, foreign

What stands in documents, judged as what a tool answered, with the classifier for answers; the lane has both. Nothing else differs: the same
texts stand above, judged as a message. A request that is harmless from a person is an attack here, and most of BIPIA's attacks are that:
ordinary questions between the lines of a mail or a table. ${ofMessages(scored, answers('foreign'))}

${tables(answers('foreign'), AS_ANSWERS)}

## Answers of tools, tune

${tables(answers('tune'), AS_ANSWERS)}

## What was tried

One thing after the other, in one series before the weights above; the script does not repeat it. Recall at 1 % false positives of documents
(tune, and mails of the lists of which others are trained on): spikee against applications, spikee for system prompts, PINT attacks and
requests that are harmless alone, each put into a paper of the bank or into a mail.

| what | spikee | prompts | PINT | requests |
| --- | --: | --: | --: | --: |
| the classifier of messages, as it was before | 14.7 | 15.0 | 30.4 | 1.0 |
| weights of their own for answers, windows of forty words | 31.3 | 22.8 | 52.2 | 5.7 |
| sentences for windows | 41.5 | 29.1 | 52.2 | 8.7 |
| without how many words stand elsewhere in the text | 44.1 | 31.5 | 52.2 | 7.0 |
| without how a sentence begins | 39.3 | 29.9 | 52.2 | 6.0 |
| attacks in quotation as harmless texts, ten rounds | 44.1 | 33.1 | 52.2 | 11.1 |
| what people ask of models as orders, in the project's own words too | 34.6 | 33.9 | 52.2 | 16.1 |
| lines of other languages as harmless ones, and how many of all words stand elsewhere | 45.6 | 36.2 | 56.5 | 18.5 |

A second series, for answers alone. Recall at 3 % and at 1 % false positives of the same papers and mails, as the mean of ten sets: spikee, prompts,
PINT, requests and tasks of users (self-instruct), each in papers and in mails; *attacks* without requests and tasks.

| what | at 3 % | at 1 % | attacks at 3 % | requests and tasks at 3 % |
| --- | --: | --: | --: | --: |
| the classifier of the first series | 43.7 | 37.3 | 54.7 | 27.2 |
| gradient-boosted trees (150 of depth 4) over 34 facts of a sentence and of its text, learned from folds by source | 45.0 | 35.5 | 51.4 | 35.4 |
| the same with 11 of the facts, 60 of depth 3 | 48.7 | 38.3 | 57.5 | 35.6 |
| no trees; a score less twice the share of words that stand elsewhere | 48.9 | | 57.9 | 35.5 |
| no trees; a score that counts how far it is above the rest of the text | 45.8 | | 55.9 | 30.7 |
| what kind of sentence it is counts by itself, whatever the number of words | 44.7 | 36.6 | 55.5 | 28.5 |
| the same with more of it (beginnings of words elsewhere, place, only question, only "you", script, addresses) | 42.9 | 32.1 | 52.0 | 29.2 |
| the same, above the rest of the text | 47.2 | 36.9 | 56.2 | 33.8 |
| 1,240 requests and 865 documents of the project's own, but nothing else | 50.8 | 33.3 | 56.1 | 43.0 |
| all of it with 1,750 requests, and above the rest of the text by half: this one | 52.5 | 43.1 | 55.6 | 47.8 |

The rows before the last two learned from the texts of the first series alone. That of the project's own texts was measured before the last 500
requests were written, and learned from 175 tasks of self-instruct too, whose authors wrote one of the ten sets (252 tasks of users, not in the list
below): what it gained there is partly theirs, and those tasks are not learned from. Trees learned what kind of document a sentence stood in
more than what kind of sentence it is.

Foreign texts were measured once in this series, when all of it was chosen: 63.7 % at 3 % and 48.6 % at 1 %, of which the first series had
61.1 % and 29.2 %. Attacks in tool results were found less often at 3 % (9 of 24 for 15). Whoever wrote the requests and documents had seen
those foreign texts that were judged worst before. Sentences that leaned on them, or on how BIPIA groups its attacks, were thrown out; two of
them only before the last training.

A third series gave answers what words mean: vectors of 40,000 English words, and with them how near a sentence is to the rest of its text.
Recall at 3 % and at 1 % false positives of the papers of the bank, as the mean of the four sets put into them, and of those the questions that
would be harmless alone; mostly the mean of two or three seeds.

| what | at 3 % | at 1 % | questions at 3 % |
| --- | --: | --: | --: |
| the classifier of the second series | 52.4 | 40.8 | 52.6 |
| 512 classes of words as features of the linear model | 53.0 | 42.7 | |
| how near a sentence is to the rest and to its neighbours, as features of it | 55.3 | 39.9 | |
| both | 58.4 | 43.6 | 61.8 |
| a network of 32 units over what a sentence is about and of what kind it is, alone | 47.6 | 38.8 | 80.2 |
| linear model and network, learned apart and added | 68.2 | 58.4 | 91.0 |
| the same with four bits for a number of a vector (of eight before) | 67.4 | 55.6 | 91.0 |
| the same without the products of a sentence's direction and that of the rest | 65.3 | 53.3 | 88.6 |
| the same with the direction of the rest itself | 66.6 | 53.2 | 88.9 |
| linear model with classes and nearness, and the network | 66.6 | 54.4 | 90.3 |
| a network that learns what the linear model leaves over | 52.5 | 42.3 | 55.3 |
| linear model, and the mean of three networks of 12, of 24 units | 63.5, 64.9 | 53.3, 54.4 | 85.8, 88.1 |
| linear model, and the mean of three networks of 16 units: this one, at its seed | 63.0 | 50.4 | 84.2 |

Three networks are kept though two seeds of a single one were better: with another seed one of 32 units gave 62.1. Foreign texts were measured
twice in this series: when network and linear model were added for the first time (86.1 % at 3 %, 79.8 % at 1 %, by vectors of eight bits), which
changed nothing that came after but the number of units, and at the end: 85.9 % at 3 %, 81.7 % at 1 %. What is gained is nearly all in requests between the lines of a
document. Vectors know English alone: words of other languages have no place in them.

Messages are judged as before. There a request of a person is harmless, and these facts say that it is a request. Not tried: calibration by
language, requests in more languages.

Sentences did not help messages (recall of 15.9 % at 1 % false positives, of windows 21.6 %); nor did more rounds, a slower rate or decay of
weights. Mails as harmless texts helped messages in the corpora for choices (25.1 % for 21.8 % at 1 %) and not in foreign ones (22.8 % for
25.0 %), so messages are judged by the weights of before. Most of what is missed has words of languages that training has no attacks of, or is
an order in the words of ordinary work.

## Corpora

Nothing of them is in this repository; the script brings packages by their pinned versions. A repository is cloned into
\`.cache/injection/repositories/<owner>/<name>\` by whoever measures; without it its rows are missing.

| corpus | kind | use | texts | where from | SHA-256 of what was read |
| --- | --- | --- | --: | --- | --- |
${read.map(({ name, kind, use, read: texts, origin, sha256 }) => row(name, kind, use, texts.length, nameOf(origin), `\`${sha256.slice(0, 16)}\``)).join('\n')}
`;
}

/** What the classifier of messages finds of the same texts, at the same rates of the same documents. */
function ofMessages(scored: readonly ScoredCorpus[], answers: readonly ScoredCorpus[]): string {
  const same = scored.filter(({ name, use }) => answers.some((one) => one.name === name && one.use === use));
  const attacks = same.filter(({ kind }) => kind === 'attack').flatMap(({ scores }) => scores);
  const parts = thresholdsOf(same).map(
    (at, index) => `${share(over(attacks, at), attacks.length)} at ${(RATES[index] as number) * 100} %`,
  );
  return `At the same rates of the\nsame documents the classifier of messages finds ${parts.join(' and ')}.`;
}

const AS_MESSAGES = `The lane as it ships suspects from ${SUSPECT_FROM} and is sure from ${SURE_FROM}; *found* is suspected or denied.`;
const AS_ANSWERS = `The lane as it ships suspects from ${ANSWER_SUSPECT_FROM}, or by what finds orders in messages; *found* is suspected or denied.`;

function tables(scored: readonly ScoredCorpus[], shipped: string): string {
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
${shipped}

${head('attacks: recall')}
${attacks.map((one) => line(one.name, [one])).join('\n')}
${line('all', attacks)}

${head('harmless: false positives')}
${harmless.map((one) => line(one.name, [one])).join('\n')}
${line('all', harmless)}`;
}
