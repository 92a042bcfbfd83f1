import { digitsAsLetters, skeletonWords, skeletonsOf } from '../skeleton.js';
import { type Detection, type InjectionDetector, nothingFound, type PriorCall } from './lanes.js';
import {
  ANSWER_SUSPECT_FROM,
  createScorer,
  scoreAsAnswer,
  scoreOf,
  SURE_FROM,
  SUSPECT_FROM,
} from './injection-classifier.js';
import type { AnswersModel, InjectionModel } from './injection-model.js';
import { ordersInOtherLanguages } from './injection-languages.js';
import type { InspectedTexts } from './texts.js';
import { composed } from '../expressions/linear.js';

/** A phrase, and words of which at least one must occur before the (slower) expression is tried. */
interface Phrase {
  readonly name: string;
  readonly gate: readonly string[];
  readonly pattern: RegExp;
}

const phrase = (name: string, gate: string, pattern: string): Phrase => ({
  name,
  gate: gate.split('|'),
  pattern: composed(pattern),
});

/** Words that say whose or which instructions are meant. One of them must come between verb and noun. */
const WHOSE =
  '(?:all|any|every|previous|prior|above|earlier|preceding|foregoing|former|your|my|these|those|original|initial|system|existing)';
const FILLER = '(?:the|of|and|or|other|given|safety|security|current|own|developer)';
const OVERRIDE =
  '(?:ignore|ignoring|disregard|disregarding|forget|override|overrule|bypass|discard|abandon|neglect|do not follow|dont follow|stop following|stop obeying|do not obey|pay no attention to|do not listen to)';
const INSTRUCTIONS = '(?:instructions?(?! sets? )|directives?|prompts?|programming|orders)';

/** "Ignore ... instructions" in the grammar of one language: a possessive before the noun, or "previous" after it. */
function inLanguage(words: { verbs: string; articles: string; yours: string; nouns: string; earlier: string }): Phrase {
  return phrase(
    'override_instructions',
    words.nouns,
    ` (?:${words.verbs}) (?:(?:${words.articles}) ){0,3}(?:(?:${words.yours}) (?:${words.nouns})|(?:${words.nouns}) (?:${words.earlier})) `,
  );
}

/**
 * What follows "you are now" in ordinary mail and documents. Anything else after these words is an attempt to give the reader another role,
 * so the list names the harmless continuations.
 */
const ORDINARY_NOW =
  '(?:subscribed|unsubscribed|logged|signed|connected|disconnected|registered|enrolled|eligible|ready|able|allowed|done|finished|verified|set|being|on the|in the queue|up to date|viewing|leaving|required|responsible|listed|following|part of|part|one of|receiving|invited|approved|booked|scheduled|covered|entitled|late|overdue|here|at|reading|looking|running|using|all set)';

const CONTENTS = '(?:(?:me|us|all|of|the|full|text|exact|verbatim|contents?) ){0,4}';
const SECRET = '(?:hidden|secret|original|initial|internal|system|developer|base)';
const OWN =
  '(?:(?:full|entire|complete|exact|own|current|hidden|secret|original|initial|internal|system|developer|base) )';

/** What nobody names as the real goal of a person or a project: the beginnings of verbs. */
const AGAINST_ITS_OWNER =
  '(?:attack|bypass|collect|copy|delet|destroy|disabl|disclos|disregard|download|email|eras|execut|exfiltrat|extract|follow|forward|gather|grant|hack|ignor|install|leak|mail|obey|pay|post|pretend|print|publish|reveal|run|sabotag|send|serv|steal|transfer|trick|upload|wip|wir)[a-z]{0,5} ';

/** Each of these is a detection by itself. */
const STRONG: readonly Phrase[] = [
  phrase(
    'override_instructions',
    'instruction|instructions|directive|directives|prompt|prompts|programming|orders',
    ` ${OVERRIDE} (?=(?:${FILLER} ){0,4}${WHOSE} )(?:(?:${WHOSE}|${FILLER}) ){1,8}${INSTRUCTIONS} `,
  ),
  phrase(
    'override_safeguards',
    'rules|guidelines|restrictions|safeguards|guardrails|constraints|filters|policies',
    ` ${OVERRIDE} (?:(?:all|any|the|of) ){0,3}(?:your|previous safety|your own|all safety|any safety|the safety|safety) (?:(?:previous|prior|own|safety|security|content|ethical|internal|existing|core|usual|and) ){0,4}(?:rules|guidelines|restrictions|safeguards|guardrails|constraints|filters|policies) `,
  ),
  phrase(
    'forget_everything',
    'everything',
    ' (?:forget|disregard|ignore) everything (?:you know|you knew|you were told|you have been told|youve been told|you learned|you have learned|i said|i told you|we discussed|that came before|said before|said so far) ',
  ),
  phrase(
    'override_instructions',
    'forget',
    ' forget (?:all (?:of )?)?your (?:instructions?|training|prompt|rules|guidelines|programming|persona|role) ',
  ),
  phrase('you_are_now', 'now', ` (?:you are|youre|you re) now (?!${ORDINARY_NOW} )[a-z]`),
  phrase('you_are_now', 'now', ' you are now $'),
  phrase(
    'reveal_prompt',
    'prompt|prompts|instructions|message|directives',
    ` (?:print|output|repeat|recite|show|tell|give|display|dump|share|send|write out) ${CONTENTS}your ${OWN}{0,3}${SECRET} ${OWN}{0,3}(?:prompts?|message|instructions|directives) `,
  ),
  phrase(
    'reveal_prompt',
    'prompt|prompts|instructions|directives',
    ` (?:reveal|disclose|leak|divulge|expose|exfiltrate) ${CONTENTS}(?:your ${OWN}{0,4}|(?:its|this) ${OWN}{0,3}${SECRET} |${OWN}{0,3}system )(?:prompts?|instructions|directives) `,
  ),
  phrase('do_anything_now', 'anything', ' do anything now '),
  phrase('dan_mode', 'dan', ' dan mode '),
  phrase(
    'new_identity',
    'pretend',
    ' pretend (?:to be|you are|youre|that you are) (?:an? |the )?(?:unrestricted|unfiltered|uncensored|jailbroken|evil|dan|root|another ai|different ai) ',
  ),
  phrase(
    'new_identity',
    'now',
    ' from now on (?:you )?(?:will |must |shall |should )?(?:act as|behave as|respond as|answer as|pretend|obey only|only obey|ignore|disregard) ',
  ),
  phrase('new_instructions', 'instructions', ' your (?:new|real|actual|true) instructions are '),
  phrase(
    'forget_everything',
    'above|before|prior|previously',
    ' (?:ignore|disregard|forget) (?:everything|anything|all) (?:(?:that|is|was|written|stated|said) ){0,3}(?:above|before|prior|previously) (?:(?:and|then|now|instead|just) ){0,3}(?:(?:act|behave|respond) (?!(?:natural|naturally|normal|normally|casual|casually|cool|surprised|accordingly|as if nothing|like nothing|like yourself) )|(?:obey|transfer|wire|send|reveal|email|you|your|from now) )',
  ),
  phrase(
    'new_instructions',
    'goal|task|objective|mission|purpose',
    ' from now on your (?:only|sole|new|real|true|actual) (?:goal|task|objective|mission|purpose) is ',
  ),
  phrase(
    'new_instructions',
    'goal|task|objective|mission|purpose',
    ` your (?:real|true|actual) (?:goal|task|objective|mission|purpose) is (?:(?:now|to|secretly|quietly|silently|only|immediately) ){0,3}${AGAINST_ITS_OWNER}`,
  ),
  // The same sentence in five more languages, written so that disguised letters are recognised too; injection-languages.ts has more.
  inLanguage({
    verbs: 'ignora|ignore|ignorar|olvida|olvide|olvidar|esqueca|descarta|desconsidere',
    articles: 'todas?|as|las|os|sus|estas',
    yours: 'tus|tuas|suas',
    nouns: 'instrucciones|instrucoes',
    earlier: 'anteriores|previas|acima',
  }),
  inLanguage({
    verbs: 'ignore|ignorez|ignorer|oublie|oubliez|oublier',
    articles: 'toutes|les|ces',
    yours: 'tes|vos',
    nouns: 'instructions|consignes',
    earlier: 'precedentes|anterieures|ci dessus',
  }),
  inLanguage({
    verbs: 'ignoriere|ignorieren|vergiss|vergessen|missachte|missachten',
    articles: 'sie|alle|allen|die|vorherigen|bisherigen|vorigen|obigen|fruheren|vorangegangenen',
    yours: 'deine|deiner|vorherigen|bisherigen|vorigen|obigen|fruheren|vorangegangenen',
    nouns: 'anweisungen|instruktionen|befehle',
    earlier: 'von oben',
  }),
  inLanguage({
    verbs: 'ignora|ignorate|ignorare|dimentica|dimenticate',
    articles: 'tutte|le|queste',
    yours: 'tue',
    nouns: 'istruzioni',
    earlier: 'precedenti|di sopra',
  }),
];

/** Written as one word. Across words, "ignoreAll = instructions" would look the same, so `GLUED` demands more. */
const ONE_WORD: readonly Phrase[] = [
  phrase(
    'override_instructions',
    'allinstructions',
    '(?:ignore|disregard|forget|bypass|override)allinstructions(?!et)',
  ),
];

/** Long enough not to arise between ordinary words: letter-spaced, camel-cased or glued writing. */
const GLUED: readonly Phrase[] = [
  phrase(
    'override_instructions',
    'instruction',
    '(?:ignore|disregard|forget|override|bypass|discard)(?:all|any|the|of){0,3}(?:your|previous|prior|above|earlier|preceding)(?:all|the|of|your|previous|prior|above|system){0,3}instructions?(?!et)',
  ),
  phrase('forget_everything', 'forgeteverythingyou', 'forgeteverythingyou(?:know|weretold|havebeentold|learned)'),
  phrase(
    'reveal_prompt',
    'yoursystemprompt',
    '(?:reveal|disclose|leak|print|output|repeat|showme|show)(?:me)?yoursystemprompt',
  ),
  phrase('reveal_prompt', 'revealyourprompt', 'revealyourprompt'),
];

/** Common in ordinary work too: evidence that raises a score, but never a detection by itself. */
const WEAK: readonly Phrase[] = [
  ['system_prompt', 'prompt', ' system prompt '],
  ['developer_mode', 'developer', ' developer mode '],
  ['jailbreak', 'jailbreak', ' jailbreak '],
  ['act_as', 'act', ' act as '],
  ['new_instructions', 'instructions', ' new instructions '],
  ['hidden_from_user', 'user', ' (?:do not tell|without telling) the user '],
  ['unrestricted', 'restrictions', ' without any restrictions '],
  ['unrestricted', 'unrestricted', ' unrestricted mode '],
  ['must_obey', 'obey', ' you must obey '],
].map(([name, gate, pattern]) => phrase(name as string, gate as string, pattern as string));
/** People who change a plan often say these two together with "ignore the previous instructions". */
const NO_CORROBORATION = new Set(['act_as', 'new_instructions']);

/** The override followed at once by what a model should do, which nobody would ask of a human reader. */
const ORDER_FOLLOWS: Phrase = phrase(
  'order_follows',
  'instruction|instructions|directives|prompts|programming',
  ` ${OVERRIDE} (?:(?:the|of|your|all|any|every) ){0,3}(?:all|any|every|your) (?:(?:${WHOSE}|${FILLER}) ){0,5}(?:instructions?|directives?|prompts?|programming) (?:(?:and|then|now|instead|just|immediately|please|you|must|will|from|on) ){1,4}(?:reveal|print|output|exfiltrate|leak|disclose|execute|run|grant|wire|transfer|delete|drop|wipe|approve|respond|reply|say|obey|act|pretend|dump|upload) `,
);

/**
 * Words of people who write about such phrases: training, tickets, tests of detectors. Adding them to an attack only gets it reviewed by a
 * person.
 */
const REPORTED =
  / (?:attackers?|adversar(?:y|ies|ial)|injections?|injected|phishing|jailbreaks?|malicious|awareness|red team|redteam|red teaming|for example|examples? of|as an example|e g|for instance|such as|payloads?|detectors?|detects?|detected|detection|classifiers?|test cases?|unit tests?|fixtures?|owasp|guardrails?|novel|screenplay) /;

/** Turn markers of chat models, in text that pretends to be a message of another speaker. */
const TURN_MARKER = /<\|(?:im_start\|>\s?system|system\|>|start_header_id\|>\s?system)|<<sys>>|\[\/?inst\]\s?<<sys/;

const MIXED_DIGITS = /[a-z][013457]|[013457][a-z]/;
function matches(
  phrases: readonly Phrase[],
  text: string,
  into: Set<string>,
  mayHold: (gate: string) => boolean = (gate) => text.includes(gate),
): void {
  for (const { name, gate, pattern } of phrases) {
    if (!into.has(name) && gate.some(mayHold) && pattern.test(text)) into.add(name);
  }
}

/** Tested on values only, because argument names say nothing about the text in them. */
const isReported = ({ texts }: InspectedTexts): boolean =>
  REPORTED.test(skeletonsOf(texts.filter(({ role }) => role === 'value').map(({ text }) => text)).words);

interface Strong {
  readonly found: Set<string>;
  /** True when the text can be read only after undoing look-alike letters, digits or invisible characters, so it is hidden from people. */
  readonly veiled: boolean;
}

function strongIn(inspected: InspectedTexts): Strong {
  const { words, glued, mayHold, mayHoldSpelled } = inspected;
  const found = new Set<string>();
  matches(STRONG, words, found, mayHold);
  const spelledFound = new Set<string>();
  if (MIXED_DIGITS.test(words)) {
    // A one also stands for an l, as in `a11`.
    const spelled = digitsAsLetters(words).replaceAll(' aii ', ' all ');
    matches(STRONG, spelled, spelledFound, (gate) => mayHoldSpelled(gate) && spelled.includes(` ${gate} `));
    matches(GLUED, digitsAsLetters(glued), spelledFound);
  }
  const visible = new Set<string>();
  matches(ONE_WORD, words, visible);
  matches(GLUED, glued, visible);
  const all = new Set([...found, ...spelledFound, ...visible]);
  if (all.size === 0) return { found: all, veiled: false };
  const seen = skeletonsOf(inspected.texts.filter(({ hidden }) => !hidden).map(({ text }) => asSeen(text)));
  const read = new Set<string>();
  matches(STRONG, seen.words, read);
  matches(ONE_WORD, seen.words, read);
  matches(GLUED, seen.glued, read);
  return { found: all, veiled: [...all].some((name) => !read.has(name)) };
}

/** A character that is not a Latin letter, for use inside words. */
const NO_LETTER = '7';

/**
 * The text as people see it, before look-alikes are undone: letters of other alphabets are not Latin, and an invisible character splits a
 * word.
 */
const asSeen = (text: string): string =>
  text
    .normalize('NFKD')
    .replaceAll(/\u00ad|\ufeff|\ufe0f|[\u0300-\u036f]/g, '')
    .replaceAll(/[\u2018\u2019\u02bc]/g, "'")
    .replaceAll(/[^\0-\x7f]/gu, (character) => (/[\p{L}\p{Cf}]/u.test(character) ? NO_LETTER : ' '));

/** Phrases that the tool names of recent calls and this one spell together, and that this call completes. */
function spelledAcrossCalls(prior: readonly PriorCall[], tool: string): Set<string> {
  const withThis = skeletonWords([...prior.map((call) => call.tool), tool].join(' '));
  const found = new Set<string>();
  matches(STRONG, withThis, found);
  if (found.size === 0) return found;
  const before = skeletonWords(prior.map((call) => call.tool).join(' '));
  const old = new Set<string>();
  matches(STRONG, before, old);
  for (const name of old) found.delete(name);
  return found;
}

const CONFIDENCE = [0, 0.6, 0.85, 0.95] as const;
const WEAK_CONFIDENCE = [0, 0.2, 0.35, 0.45] as const;
const atMost = (steps: readonly number[], count: number): number => steps[Math.min(count, steps.length - 1)] as number;

/**
 * Confidence: 0.6 for one piece of evidence, 0.85 for two, 0.95 for three. Evidence is: strong phrases, weak phrases beside a strong one,
 * an order that follows, and writing that is hidden from people. Weak phrases alone stay below every detection.
 */
function judge(
  strong: ReadonlySet<string>,
  weak: ReadonlySet<string>,
  { veiled = false, reported = false } = {},
): Detection {
  if (strong.size === 0) return { detected: false, confidence: atMost(WEAK_CONFIDENCE, weak.size), found: [...weak] };
  const beside = [...weak].filter((name) => !NO_CORROBORATION.has(name));
  const evidence = reported && !veiled ? 1 : strong.size + beside.length + (veiled ? 1 : 0);
  return {
    detected: true,
    confidence: atMost(CONFIDENCE, evidence),
    found: [...strong, ...weak, ...(veiled ? ['hidden_writing'] : [])],
  };
}

/** The part of this lane that depends on recent calls. It is recomputed when the rest of a verdict comes from the cache. */
export function detectInjectionAcrossCalls(prior: readonly PriorCall[], tool: string): Detection {
  if (prior.length === 0) return nothingFound;
  // Nobody spells a sentence with tool names by accident.
  return judge(spelledAcrossCalls(prior, tool), new Set(), { veiled: true });
}

/** Looks for instructions to the reader in the tool name and in every text of the request. */
export function detectInjection(tool: string, texts: InspectedTexts): Detection {
  const { found: strong, veiled } = strongIn(texts);
  const named = new Set<string>();
  matches(STRONG, skeletonWords(tool), named);
  for (const name of named) strong.add(name);
  for (const name of ordersInOtherLanguages(texts)) strong.add(name);
  if (TURN_MARKER.test(texts.plain)) strong.add('turn_marker');
  const weak = new Set<string>();
  matches(WEAK, texts.words, weak, texts.mayHold);
  for (const name of strong) weak.delete(name);
  matches([ORDER_FOLLOWS], texts.words, weak, texts.mayHold);
  if (strong.size === 0) weak.delete(ORDER_FOLLOWS.name);
  // People have no reason to read a tool name, so an order in it counts as hidden.
  return judge(strong, weak, { veiled: veiled || named.size > 0, reported: strong.size > 0 && isReported(texts) });
}

export const strongestOf = (a: Detection, b: Detection): Detection => {
  if (a.detected !== b.detected) return a.detected ? a : b;
  return a.confidence >= b.confidence ? a : b;
};

/** What a classifier says of the texts of a request. Names of tools and arguments are for the grammar. */
function readsAsOrder({ texts }: InspectedTexts, score: (text: string) => number): number {
  return Math.max(
    ...texts.filter(({ role }) => role === 'value').map(({ text }) => score(text)),
    Number.NEGATIVE_INFINITY,
  );
}

const READS_AS_ORDER = 'reads_as_order';

/**
 * The grammar's finding and the classifier's score together. A score over the first threshold is a suspicion. One over the second is worth a
 * denial, or one more piece of evidence beside the grammar's; in a text about attacks it is a suspicion too.
 */
function withScore(grammar: Detection, score: number, reported: boolean): Detection {
  if (!(score >= SUSPECT_FROM)) return grammar;
  const found = [...grammar.found, READS_AS_ORDER];
  const sure = score >= SURE_FROM && !reported;
  const pieces = grammar.detected ? CONFIDENCE.indexOf(grammar.confidence as (typeof CONFIDENCE)[number]) : 0;
  const evidence = grammar.detected ? pieces + (sure ? 1 : 0) : sure ? 2 : 1;
  return { detected: true, confidence: atMost(CONFIDENCE, evidence), found };
}

/** Grammar and classifier over one request. */
export function detectInjectionByBoth(tool: string, texts: InspectedTexts, model?: InjectionModel): Detection {
  const score = readsAsOrder(
    texts,
    createScorer((text) => scoreOf(text, model)),
  );
  return withScore(detectInjection(tool, texts), score, score >= SURE_FROM && isReported(texts));
}

const SPEAKS_TO_MODEL = 'speaks_to_model';

/** The same over what a tool answered, in which a sentence that speaks to the model that reads it is a suspicion too. */
export function detectInjectionInAnswer(
  texts: InspectedTexts,
  { ofMessages, ofAnswers }: { readonly ofMessages?: InjectionModel; readonly ofAnswers?: AnswersModel } = {},
): Detection {
  const both = detectInjectionByBoth('', texts, ofMessages);
  if (
    both.detected ||
    readsAsOrder(
      texts,
      createScorer((text) => scoreAsAnswer(text, ofAnswers)),
    ) < ANSWER_SUSPECT_FROM
  )
    return both;
  return { detected: true, confidence: CONFIDENCE[1], found: [...both.found, SPEAKS_TO_MODEL] };
}

export const offlineInjection: InjectionDetector = {
  model: 'gate-offline:injection-2',
  detect: ({ tool, texts, prior }) =>
    strongestOf(detectInjectionByBoth(tool, texts), detectInjectionAcrossCalls(prior, tool)),
};
