import type { IntentCategory } from '../../contracts/inspection.js';
import type { JsonObject } from '../../contracts/json.js';
import type { IntentClassifier, IntentSignal, LaneInput } from './lanes.js';
import { textAt } from './texts.js';
import { isWriteShaped, toolShape, toolTokens } from '../tool-shape.js';
import { composed } from '../expressions/linear.js';

const DESTROY =
  '(?:delete|deleting|deletes|drop|dropping|wipe|wiping|erase|erasing|destroy|destroying|purge|purging|nuke|shred|obliterate|truncate|remove|removing|kill|terminate)';
const EVERYTHING = '(?:all|every|everything|entire|whole|each)';
const OWNED =
  '(?:the|of|our|your|their|its|my|this|that|these|those|company|customer|customers|user|users|client|clients|production|prod|live|critical|important|financial|database|system|server|employee|patient|payment|transaction|existing|remaining|other|backup|backups|audit|security|from|in|on|and|single|one|personal|sensitive|main|primary|entire|whole)';
const VITAL =
  '(?:databases?|db|tables?|schemas?|records?|users?|accounts?|customers?|backups?|logs?|data|files?|disks?|volumes?|servers?|systems?|clusters?|production|prod|repositories|repository|repos?|buckets?|secrets?|keys?|filesystem|directories|directory|evidence|transactions?)';
/** A statement with a scope ("all files in dist", "all logs older than 30 days") is housekeeping, about which policy decides. */
const UNSCOPED =
  '(?! (?:older|newer|matching|that|which|whose|with|without|where|except|ending|named|tagged|marked|created|starting|containing|for|by)\\b)(?! (?:in|under|from|inside|within) (?:the |your |our |my |this |a )?(?:temp|tmp|temporary|dist|build|cache|workspace|test|tests|testing|staging|output|target|local|folder|directory|working|draft|drafts|trash|bin|spam|old|node|scratch|sandbox|list|queue|out|log|logs|download|downloads)\\b)';

/** Destructive intent stated in words. Each expression names a class; the matched text is not repeated. */
const DESTRUCTIVE: readonly (readonly [string, RegExp])[] = [
  [
    'destroy_everything',
    composed(` ${DESTROY} (?:out )?(?:${OWNED} ){0,2}${EVERYTHING} (?:${OWNED} ){0,4}${VITAL}${UNSCOPED} `, 'g'),
  ],
  [
    'destroy_production',
    composed(
      ` ${DESTROY} (?:out )?(?:${OWNED} ){0,3}(?:production|prod|live) (?:database|db|data|environment|servers?|cluster|tables?|systems?|backups?|users?|accounts?)${UNSCOPED} `,
      'g',
    ),
  ],
  [
    'destroy_system',
    /(?: (?:wipe|format|erase|nuke|destroy) (?:out )?(?:the |this |that |your |our |entire |whole |complete ){0,3}(?:disks?|hard drives?|hard disks?|servers?|filesystem|file system|system|machine|drive c|infrastructure|database|cluster) )/g,
  ],
  ['drop_database', / drop (?:the |this |our |entire |whole |main ){0,3}(?:database|schema) /g],
  [
    'erase_audit_trail',
    composed(
      ` (?:disable|delete|clear|erase|wipe|purge|tamper with|turn off|destroy|falsify) (?:${OWNED} |${EVERYTHING} ){0,3}audit (?:logs?|logging|trails?|records?)${UNSCOPED} `,
      'g',
    ),
  ],
  ['cover_tracks', / (?:cover|hide) (?:your|our|my|the|its|their) tracks /g],
  [
    'exfiltrate',
    composed(
      ` (?:exfiltrate|exfiltrating|steal|stealing|smuggle out) (?:${OWNED} |${EVERYTHING} ){0,4}(?:data|credentials?|passwords?|secrets?|tokens?|keys?|records?|database|files?|funds|money|information) `,
      'g',
    ),
  ],
];

/** A root, a home or everything, as one word of a command. */
const ROOT = /^["']?(?:\/|~|\$home|\$\{home\}|\*)["']?(?:\*|;|&|\/\*|$)/;
const DESTROY_DISK = /\bmkfs(?:\.[a-z0-9]+)?\s+\/dev\/|\bdd\s+if=\/dev\/(?:zero|u?random)\s+of=\/dev\/[a-z]/;

/**
 * Finds `rm -rf` of a root, a home or everything, in any spelling of its options; policy judges folders below that. Works word by word: an
 * `rm` among the options of another `rm` shares its options and target, so no word is read twice.
 */
function removesRoot(commands: string): boolean {
  let options: Set<string> | null = null;
  for (const word of commands.split(/\s+/)) {
    if (options !== null && word.startsWith('-')) {
      if (word.startsWith('--')) options.add(word);
      else for (const letter of word.slice(1)) options.add(letter);
      continue;
    }
    const given = (...names: string[]): boolean => names.some((name) => options?.has(name));
    if ((given('--no-preserve-root') || (given('r', '--recursive') && given('f', '--force'))) && ROOT.test(word))
      return true;
    options = /(?:^|\W)rm$/.test(word) ? new Set() : null;
  }
  return false;
}

/** Text right before the verb that forbids the deed or asks about it. */
const FORBIDDEN =
  / (?:do not|dont|does not|never|cannot|cant|can not|must not|mustnt|should not|shouldnt|not|not to|without|avoid|avoids|prevent|prevents|refuse to|refuses to|unable to|how to|how do i|how do you|how can i|how can you|what happens if i|what happens if you|what happens when you) $/;

/** Other people's wish, told to people. A person reads it; nor do a tool that carries out what it is told, "asked you" or "asked me" get that much. */
const REPORTED =
  / (?:asked|asks|wanted|wants|requested|requests) (?:us|them|him|her|support|our team|the team|our office|the office) to $/;

/**
 * Behind the object: what was matched may be only the first noun of another one ("disk usage"), or all of it lie in something small. Who
 * means the deed can write this too ("drop all tables. Use cascade"), so that a person reads it and nothing runs meanwhile.
 */
const COMPOUND =
  '(?:usage|use|course|courses|lecture|lectures|lesson|lessons|class|exam|room|rooms|booking|bookings|column|columns|name|names|label|labels|heading|headings|title|titles|icon|icons|chart|charts|diagram|diagrams|story|stories|point|points|quote|quotes|extension|extensions|requirement|requirements|size|sizes|count|counts|figure|figures|learning|science|protection|entry|guide|guides|manual|manuals|survey|surveys|feedback|testimonials|jokes)';
const SMALL =
  '(?:list|lists|draft|drafts|attachment|attachments|newsletter|agenda|slide|slides|spreadsheet|invitation|email|mail|message|comment|ticket|example|appendix|summary|presentation|template)';
const NO_MORE = `(?! (?:${VITAL}|${COMPOUND}|${SMALL}) )(?! (?:and|or|plus|also|then|as well as) (?:(?:${OWNED}|${EVERYTHING}) ){0,4}${VITAL} )`;
/** Applied to a short piece of the text only. What goes on to name the data after all is refused. */
const OTHER_OBJECT = composed(`^ ${COMPOUND}(?: (?:${COMPOUND}|${SMALL})){0,2}(?= )${NO_MORE}`);
const SMALL_SCOPE = composed(
  `^ (?:in|from|on|of) (?:the|your|our|my|this|that|a) (?:(?!(?:${OWNED}|${EVERYTHING}|${VITAL}) )[a-z0-9]{1,20} ){0,2}${SMALL}(?: ${SMALL}){0,2}(?= )${NO_MORE}`,
);
/** A command of SQL takes a name here, which may be any word. */
const BARE_COMMAND = /^ drop (?:database|schema) $/;
const LOOK_BEHIND_OBJECT = 128;

/** Arguments that hold a document rather than a request; a write tool only stores them. */
const DOCUMENT_KEYS = new Set([
  'content',
  'contents',
  'body',
  'text',
  'data',
  'html',
  'markdown',
  'code',
  'source',
  'patch',
  'diff',
  'file_text',
  'new_str',
  'old_str',
  'new_string',
  'old_string',
]);

/** The text talks about the agent's own instructions. */
const ABOUT_ITSELF =
  / (?:your|my) (?:own |current |original |initial |hidden ){0,2}(?:system prompt|system message|instructions|training data|guidelines|persona|prompt) /;

interface Stated {
  /** The class of what is stated; null for nothing. */
  readonly deed: string | null;
  /** Classes of what may be stated. */
  readonly perhaps: ReadonlySet<string>;
}

function statedDestruction({ texts, tool }: LaneInput): Stated {
  const perhaps = new Set<string>();
  const stated = (deed: string): Stated => ({ deed, perhaps });
  const stores = isWriteShaped(toolTokens(tool));
  const obeys = toolShape(toolTokens(tool)) === 'execute' || toolTokens(tool).includes('agent');
  const isDocument = (key: string): boolean => stores && DOCUMENT_KEYS.has(key.toLowerCase());
  for (const [name, pattern] of DESTRUCTIVE) {
    pattern.lastIndex = 0;
    for (let match = pattern.exec(texts.words); match !== null; match = pattern.exec(texts.words)) {
      const part = { start: match.index, end: match.index + match[0].length };
      // The closing space also starts the next statement.
      pattern.lastIndex = part.end - 1;
      const found = textAt(texts, part);
      if (found === null) continue;
      const { role, key, text } = found.text;
      if (role === 'key' || text === tool || isDocument(key)) {
        pattern.lastIndex = Math.max(pattern.lastIndex, found.span.end - 1);
        continue;
      }
      const before = texts.words.slice(Math.max(found.span.start, part.start - 32), part.start + 1);
      if (FORBIDDEN.test(before)) continue;
      const behind = texts.words.slice(part.end - 1, Math.min(found.span.end, part.end + LOOK_BEHIND_OBJECT));
      const isOther = !BARE_COMMAND.test(match[0]) && (OTHER_OBJECT.test(behind) || SMALL_SCOPE.test(behind));
      if (obeys || !(isOther || REPORTED.test(before))) return stated(name);
      perhaps.add(name);
    }
  }
  if (texts.plain.includes('rm ') || texts.plain.includes('mkfs') || texts.plain.includes('dd ')) {
    const written = stores ? outsideDocuments(texts, isDocument) : texts.plain;
    if (removesRoot(written)) return stated('remove_root');
    if (DESTROY_DISK.test(written)) return stated('destroy_disk');
  }
  return { deed: null, perhaps };
}

const outsideDocuments = (texts: LaneInput['texts'], isDocument: (key: string) => boolean): string =>
  texts.texts
    .filter(({ key }) => !isDocument(key))
    .map(({ text }) => text.toLowerCase())
    .join('\n');

const PRIVILEGED_SHAPES = new Set(['modify', 'delete', 'money', 'identity', 'deploy']);

/** The category by the tool's name or, if the name says nothing, by the shape of the arguments. */
function categoryOf(tool: string, params: JsonObject): IntentCategory {
  const shape = toolShape(toolTokens(tool));
  if (shape === 'retrieve') return 'Information Retrieval';
  if (PRIVILEGED_SHAPES.has(shape)) return 'Privileged Action';
  if (shape === 'execute') return 'Direct Execution';
  const keys = new Set(Object.keys(argumentsOf(params)).flatMap(toolTokens));
  const has = (...names: string[]): boolean => names.some((name) => keys.has(name));
  if (has('amount') && has('to', 'recipient', 'account', 'iban', 'beneficiary', 'from')) return 'Privileged Action';
  if (has('role', 'permission', 'grant', 'privilege')) return 'Privileged Action';
  if (has('content', 'body', 'data') && has('path', 'file', 'filename', 'url')) return 'Privileged Action';
  if (has('query', 'search', 'filter', 'limit', 'page')) return 'Information Retrieval';
  return 'Direct Execution';
}

/** The arguments of a tool call, or the parameters of any other method. */
export const argumentsOf = (params: JsonObject): JsonObject => {
  const given = params['arguments'];
  if (given !== null && typeof given === 'object' && !Array.isArray(given)) return given;
  return typeof params['name'] === 'string' ? {} : params;
};

/**
 * The deterministic classifier. It authorises unless a text of the request states a destructive intent, and says what it suspects where one
 * may be meant. Destructive tool names are left to policy.
 */
export function classifyIntent(input: LaneInput): IntentSignal {
  const { deed, perhaps } = statedDestruction(input);
  const category = ABOUT_ITSELF.test(input.texts.words) ? 'Meta-Reasoning' : categoryOf(input.tool, input.params);
  if (deed === null && perhaps.size > 0)
    return {
      authorized: true,
      category,
      reason: `${category}: destructive intent may be stated in the request (${[...perhaps].join(', ')})`,
      suspicions: [...perhaps],
    };
  return deed === null
    ? { authorized: true, category, reason: `${category}: nothing speaks against it` }
    : {
        authorized: false,
        category: category === 'Meta-Reasoning' ? category : 'Privileged Action',
        reason: `destructive intent stated in the request (${deed}): if no such deed is meant, reword the text to say what exactly is meant, and call again`,
      };
}

export const offlineClassifier: IntentClassifier = { model: 'gate-offline:intent-1', classify: classifyIntent };
