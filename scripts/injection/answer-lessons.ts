import { readSentences } from '../../domain/inspection/injection-sentences.js';
import { answerExamples } from './answer-examples.js';
import { inserted, type ReadCorpus, spread } from './corpora.js';
import type { Example } from './examples.js';
import { type Lesson, lessonOf, lessonWithin, randomOf, weightOfEach } from './learn.js';

/** Longer ones are told from a document by much more than a sentence. */
const SHORT_ATTACK = 500;
const SHORT_REQUEST = 320;
const SHORT_QUOTATION = 400;
const DOCUMENT = 1_500;
/** So many places of a document are chosen from. */
const PLACES = 40;
const TIMES_OF_REQUESTS = 3;
const TIMES_OF_OWN_REQUESTS = 2;
const LINES = 500;
const WEIGHT = { attack: 0.5, within: 0.7, own: 0.8, request: 0.6, ownRequest: 0.5, quoted: 0.3, line: 0.4 };
const WEIGHT_OF_OWN = 3;

/** Attacks that somebody quotes are no attacks. */
const QUOTED: readonly ((text: string) => string)[] = [
  (text) => `"${text}"`,
  (text) => `\`${text.replaceAll('\n', ' ')}\``,
  (text) => `The text said “${text}” and was refused.`,
  (text) => `- "${text}"`,
  (text) => JSON.stringify({ text }),
  (text) => `\`\`\`\n${text}\n\`\`\``,
];

/** The first sentences of a request, or null where the first of them is too long. */
export function shortened(text: string): string | null {
  if (text.length <= SHORT_REQUEST) return text;
  const start = text.slice(0, SHORT_REQUEST);
  const end = Math.max(start.lastIndexOf('. '), start.lastIndexOf('? '), start.lastIndexOf('\n'));
  return end > 60 ? start.slice(0, end + 1) : null;
}

/**
 * What is learned for answers of tools, sentence by sentence: attacks alone and between the lines of documents, and there what people ask of
 * models too; against documents, attacks in quotation, and lines of other languages in documents.
 */
export function answerLessons(read: readonly ReadCorpus[], own: readonly Example[], seed: number): Lesson[] {
  const random = randomOf(seed);
  const train = read.filter(({ use }) => use === 'train');
  const documents = train.filter(({ kind, request }) => kind === 'harmless' && request !== true);
  const more = answerExamples();
  const around = [...documents.flatMap(({ read: texts }) => texts), ...more.documents].filter(
    (text) => text.length > 200,
  );
  const within = (text: string): string =>
    inserted(
      (around[Math.floor(random() * around.length)] as string).slice(0, DOCUMENT),
      text,
      Math.floor(random() * PLACES),
    );
  const made: Lesson[] = [];
  const harmless = (text: string, weight: number) => made.push(lessonOf(text, false, weight, readSentences));
  const alone = (text: string, weight: number) => made.push(lessonOf(text, true, weight, readSentences));
  const putIn = (text: string, weight: number) => made.push(lessonWithin(within(text), text, weight, readSentences));

  for (const { read: texts, weight = 1 } of documents)
    for (const text of texts) harmless(text, weightOfEach(weight, texts));
  const ownHarmless = own.filter(({ attack, request }) => !attack && request !== true);
  for (const { text } of ownHarmless) harmless(text, weightOfEach(WEIGHT_OF_OWN, ownHarmless));

  for (const text of more.documents) harmless(text, weightOfEach(WEIGHT_OF_OWN, more.documents));

  const attacks = train.filter(({ kind }) => kind === 'attack').flatMap(({ read: texts }) => texts);
  for (const text of attacks) {
    alone(text, WEIGHT.attack);
    if (text.length < SHORT_ATTACK) putIn(text, WEIGHT.within);
  }
  const ownAttacks = own.filter(({ attack }) => attack).map(({ text }) => text);
  for (const text of ownAttacks) {
    alone(text, WEIGHT.own);
    putIn(text, WEIGHT.own);
  }
  const requests = train.filter(({ request }) => request === true).flatMap(({ read: texts }) => texts);
  for (const text of requests.map(shortened))
    for (let time = 0; text !== null && time < TIMES_OF_REQUESTS; time += 1) putIn(text, WEIGHT.request);
  for (const { text } of own.filter(({ request }) => request === true)) putIn(text, WEIGHT.ownRequest);
  for (const text of more.requests)
    for (let time = 0; time < TIMES_OF_OWN_REQUESTS; time += 1) putIn(text, WEIGHT.request);

  const quotable = [
    ...attacks.filter((text) => text.length < SHORT_QUOTATION),
    ...ownAttacks.filter((_, index) => index % 2 === 0),
  ];
  for (const [index, text] of quotable.entries())
    harmless(within((QUOTED[index % QUOTED.length] as (text: string) => string)(text)), WEIGHT.quoted);
  for (const { read: texts } of documents.filter(({ name }) => name.endsWith(' languages')))
    for (const text of spread(texts, LINES)) harmless(within(text.slice(0, 200)), WEIGHT.line);
  return made;
}
