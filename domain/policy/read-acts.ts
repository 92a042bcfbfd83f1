import { NAMES_ARGUMENTS, NAMES_VERB, names, ownName, plain } from '../argument-names.js';
import { eachText, lowered } from '../argument-texts.js';
import { plainReading } from '../plain-name.js';
import { ansiQuoted } from '../shell/ansi-quotes.js';
import { ACTION_WORDS } from '../sql/vocabulary.js';
import { type GraphAct, graphAct } from './cypher.js';
import { holdsMutation } from './graphql.js';
import { requestLine } from './request-line.js';

/** What arguments may ask for beyond a read, in a few words of Gate's own. */
const READ_ACTS = {
  action: 'an action',
  file: 'a file to write',
  graph_change: 'a change of a graph',
  graph_removal: 'a removal from a graph',
  mutation: 'a mutation',
  operator: 'an operator that writes or runs code',
  request: 'a request that changes what it reaches',
  state: 'another state',
} as const satisfies Readonly<Record<string, string>> & Readonly<Record<GraphAct, string>>;
export type ReadAct = keyof typeof READ_ACTS;

/** The same as rules and people are told. */
export const actTold = (act: ReadAct): string => READ_ACTS[act];

/**
 * What the arguments of a call ask for beyond a read, in the order of the words for it. A tool that reads logs is told methods and actions as what
 * to look for. Takes linear time and never throws.
 */
export function readActs(argumentsOfCall: unknown, tool = ''): readonly ReadAct[] {
  const acts = new Set<ReadAct>();
  const toolWords = wordsOf(plainReading(tool));
  const readsRecords = toolWords.some((word) => RECORDS.has(word));
  const readsTexts = toolWords.some((word) => TEXTS.has(word));
  const looksThrough = toolWords.some((word) => SEARCHES.has(word));
  const readsFiles = toolWords.some((word) => FILES.has(word));
  eachText(argumentsOfCall, {
    text(text, path, isName) {
      const low = lowered(path);
      const last = low.at(-1) ?? '';
      const called = plain(ownName(path));
      const isFilter = readsRecords || low.some((name) => FILTERS.has(name));
      if (isName) {
        if (isOperator(text, low)) acts.add('operator');
        else if (ACTIONS.has(called) && !isFilter && acting(text)) acts.add('action');
        return;
      }
      if (!isFilter && (saysMethod(text, called) || (!SPEECH.has(last) && asksByLine(text)))) acts.add('request');
      const isDeedOf =
        ACTIONS.has(called) ||
        (ACTION_LISTS.has(called) && !/\s/.test(text.trim())) ||
        (KINDS.has(called) && ACTION_LISTS.has(plain(ownName(path.slice(0, -1)))));
      if (isDeedOf && !isFilter && acting(text)) acts.add('action');
      if ((called === 'mode' || ACTION_LISTS.has(called)) && !isFilter && isRemoval(text)) acts.add('action');
      const isWritten = text.includes('-') || text.includes("$'");
      const isLeftOut = low.some((name) => PROJECTIONS.has(name) || (QUALITIES.has(name) && !readsFiles));
      if (isWritten && !isFilter && !isLeftOut)
        for (const act of findActs(text, SPEECH.has(last) || PATTERNS.has(last), readsFiles)) acts.add(act);
      if (NAMES_ARGUMENTS.has(called) && actingFirst(text.trim().split(/\s+/))) acts.add('action');
      if (/(?:^|\s)--?[oO]/.test(text) && !SPEECH.has(last) && writesFile(text.split(/\s/))) acts.add('file');
      if (text.includes('_by_query') && /_(?:delete|update)_by_query/.test(text)) acts.add('request');
      if (holdsMutation(text)) acts.add('mutation');
      const graph = looksThrough && readsTexts ? null : graphAct(text);
      if (graph !== null) acts.add(graph);
      if (!isFilter && saysState(called, text.trim().toLowerCase(), looksThrough)) acts.add('state');
    },
    list(items, path) {
      if (items.some((item) => item.includes('mutation')) && holdsMutation(items.join(' '))) acts.add('mutation');
      if (!NAMES_ARGUMENTS.has(plain(ownName(path)))) return;
      if (actingFirst(items)) acts.add('action');
      if (writesFile(items)) acts.add('file');
    },
    members(members, path) {
      if (lowered(path).some((name) => FILTERS.has(name) || PROJECTIONS.has(name))) return;
      // `{"delete": {…}}`, in a list and in a pair too.
      if (isRemoval(ownName(path))) acts.add('action');
      const filtered = members.some(([name]) => FILTERS.has(name.toLowerCase()) || name.toLowerCase() === 'query');
      for (const [name, value] of members) {
        const verb = wordsOf(name).find((word) => !URGES.has(word)) ?? '';
        // A number is mostly a place or an amount: {"start": 1}.
        const isOn = value === true || value === 'true' || (value === 1 && REMOVALS.has(verb));
        if ((isOn && isDeed(verb)) || (isStructure(value) && isRemoval(name))) acts.add('action');
        if (typeof value === 'boolean' && saysState(plain(name), String(value), looksThrough)) acts.add('state');
        if (filtered && UPDATES.has(name.toLowerCase()) && isDocument(value)) acts.add('action');
      }
    },
  });
  return [...acts].toSorted((one, other) => (actTold(one) < actTold(other) ? -1 : 1));
}

const HEAD = 256;
const OPERATORS = names(
  `$out $merge $where $function $accumulator $inc $rename $pull $pullall $setoninsert $currentdate $mul dropdatabase findandmodify
  findoneandupdate findoneanddelete findoneandreplace mapreduce deletemany deleteone updatemany updateone insertmany insertone replaceone
  bulkwrite`,
);
/** Operators of an update that are stages of a pipeline too, and only compute there. */
const STAGES = names('$set $unset');
const PIPELINES = names('pipeline pipelines stages aggregate aggregation facet $facet $lookup');
const METHODS = names('method httpmethod requestmethod httpverb xhttpmethod xhttpmethodoverride xmethodoverride');
const CHANGES = names('POST PUT PATCH DELETE MERGE MOVE COPY PURGE CONNECT TRACE MKCOL LINK UNLINK PROPPATCH');
const ACTIONS: ReadonlySet<string> = new Set([...NAMES_VERB, 'command', 'cmd', 'commandname']);
/** Words for a reader, not for a program. */
const SPEECH = names(
  'query q search term text body content message title description summary comment note notes prompt question reason',
);
const FILTERS = names('filter filters where criteria conditions match $match facets');
const PROJECTIONS = names(
  'projection fields select columns include exclude sort sortby sort_by order orderby order_by ordering properties expand',
);
/** What things are told apart by; `-x` there is all without it: `labels: ["-bug"]`. */
const QUALITIES = names('label labels tag tags keyword keywords topic topics category categories');
const UPDATES = names('update updates replacement deletes');
/** Nouns of tools that look through what was done. */
const RECORDS = names('log logs audit audits activity activities history trail trails');

/** Nouns and prepositions among the action words, and what a search is told: "index", "out", "script". */
const NO_DEED = names('index out script copy call debug move load call run set import touch restore install write add');
/** Deeds that no query language has as a word. */
const DEEDS = names(
  `terminate deactivate activate disable enable suspend unsuspend resume pause drain cordon uncordon scale evict taint untaint start stop
  restart reboot kill cancel archive unarchive destroy erase uninstall deploy undeploy rollback rollout approve reject ban unban block
  unblock disconnect expel promote demote assign unassign reassign transfer send pay refund charge withdraw close reopen rotate provision
  deprovision annotate expose edit invoke submit rm`,
);
const REMOVALS = names('delete remove drop purge destroy truncate wipe');
/** Lists of what is to be done, and what an item of one calls it: `{"actions": [{"type": "delete"}]}`. */
const ACTION_LISTS = names('actions operations ops commands mutations changes steps');
const KINDS = names('type kind name');
/** Arguments that say what is looked for, in a language of their own. */
const PATTERNS = names('pattern patterns regex regexp glob globs');
/** What tools look through that may be the program `find`. */
const FILES = names('file files folder folders directory directories path paths fs');
/** Expressions of `find` that do something with what is found, and those that say what is looked for (POSIX.1-2024, and those of GNU). */
const FIND_WRITES = names('-fprint -fprint0 -fprintf -fls');
const FIND_RUNS = names('-exec -execdir -ok -okdir');
const FIND_TESTS = names(
  `-name -iname -path -ipath -regex -iregex -type -size -empty -mtime -mmin -atime -ctime -newer -user -group -perm -maxdepth -mindepth -depth
  -print -print0`,
);
/** Of how much it is: `delete_all`. */
const EXTENTS = names('all everything');
/** What stands before a deed: `force_restart`, `do_delete`. */
const URGES = names(
  'force forced do please must should hard soft now immediately really confirm confirmed auto also then and',
);
/** Arguments that say what state a thing is to have. */
const NEW_STATES = names(
  `newstate newstatus setstate setstatus targetstate targetstatus desiredstate desiredstatus desiredpowerstate targetpowerstate
  setpower setpowerstate poweraction newpowerstate`,
);
/** Arguments that say what state it has as well: a search is told which ones to look for. */
const POWERS = names('power powerstate powerstatus');
const SEARCHES = names('list search find count filter');
/** What is looked through for words, those of a query among them: `search_docs`, `find_issues`. */
const TEXTS = names(
  `doc docs document documents documentation issue issues ticket tickets article articles page pages post posts message messages email
  emails mail mails wiki note notes code web knowledge discussion discussions question questions answers`,
);
/** Values by which nothing is set. */
const NO_STATE = names('any all none null unknown');
const saysState = (name: string, value: string, looksThrough: boolean): boolean =>
  (NEW_STATES.has(name) ||
    (name === 'power'
      ? /^(?:on|off|cycle|reset|reboot|restart|shutdown|stop|start|down|up|true|false)$/.test(value)
      : POWERS.has(name) && !looksThrough)) &&
  value !== '' &&
  !NO_STATE.has(value);
/** `delete`, `force_purge`, `delete_all`, and no name of a thing: `delete_marker`. */
function isRemoval(text: string): boolean {
  if (text.length > HEAD) return false;
  const words = wordsOf(text.trim()).filter((word) => !URGES.has(word));
  return words.some((word) => REMOVALS.has(word)) && words.every((word) => REMOVALS.has(word) || EXTENTS.has(word));
}
const isStructure = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

/** What words of `find` do beyond finding. In a text for readers they count where the tool looks through files and they stand as `find` has them. */
function findActs(written: string, isWords: boolean, readsFiles: boolean): readonly ReadAct[] {
  if (isWords && !readsFiles) return [];
  return unquoted(written).flatMap((text) => {
    if (!/-(?:delete|exec|ok|fprint|fls)/.test(text)) return [];
    const words = text.split(/[\s;&|()<>`]+/).filter((word) => word !== '');
    const isOfFind = !isWords || words.some((word) => FIND_TESTS.has(word));
    const runs = words.some(
      (word, at) => (word === '-delete' && isOfFind) || (FIND_RUNS.has(word) && (!isWords || at + 1 < words.length)),
    );
    return [
      ...(runs ? (['action'] as const) : []),
      ...(isOfFind && words.some((word) => FIND_WRITES.has(word)) ? (['file'] as const) : []),
    ];
  });
}

const QUOTES = /\\\r?\n|\$?"|['\\]/g;
/**
 * A shell takes quotes off, wherever in a word they stand, and lines together that a backslash parts. `$'` begins a quote or, within others (`'$'`), is
 * where one ends: what follows is read either way, and with its escapes wherever they stand.
 */
function unquoted(written: string): readonly string[] {
  const plainly = written.replaceAll(QUOTES, '');
  if (!written.includes("$'")) return [plainly];
  let [text, from] = ['', 0];
  for (let at = written.indexOf("$'"); at >= 0; at = written.indexOf("$'", from)) {
    const { inside, end } = ansiQuoted(written, at + 2);
    text += written.slice(from, at) + inside;
    from = end;
  }
  const everywhere = ansiQuoted(written.replaceAll(/[$'"]/g, ''), 0).inside;
  return [plainly, (text + written.slice(from)).replaceAll(QUOTES, ''), everywhere];
}

const isDeed = (word: string): boolean => DEEDS.has(word) || (ACTION_WORDS.has(word) && !NO_DEED.has(word));

const wordsOf = (name: string): readonly string[] =>
  name
    .slice(0, HEAD)
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== '');
const isDocument = (value: unknown): boolean =>
  (typeof value === 'object' && value !== null) || (typeof value === 'string' && /^\s*[[{]/.test(value));

function isOperator(name: string, path: readonly string[]): boolean {
  const low = name.toLowerCase();
  return OPERATORS.has(low) || (STAGES.has(low) && !path.some((outer) => PIPELINES.has(outer)));
}

/** A method by the name of its argument or header, in a header that is written out, or in an address. */
function saysMethod(text: string, name: string): boolean {
  if (METHODS.has(name) && CHANGES.has(text.trim().toUpperCase())) return true;
  const head = text.trimStart().slice(0, HEAD).trimEnd();
  if (/^x-(?:http-)?method(?:-override)?(?:$|\s?:\s?(?!get|head|options))/i.test(head)) return true;
  return text.includes('_method=') && /[?&]_method=(?:post|put|patch|delete)/i.test(text);
}

const asksByLine = (text: string): boolean => CHANGES.has(requestLine(text)?.method ?? '');

/** Whether a text begins with what an order begins with: `delete`, `dropDatabase`, `drop_database now`. */
function acting(text: string): boolean {
  const [first = ''] = text.trimStart().split(/\s/, 1);
  const low = first.toLowerCase();
  if (DEEDS.has(low)) return true;
  if (ACTION_WORDS.has(low)) return !NO_DEED.has(low) || /\s\S/.test(text.trim());
  const [verb = ''] = wordsOf(first);
  return verb !== low && low.startsWith(verb) && (DEEDS.has(verb) || ACTION_WORDS.has(verb));
}

/** Options come before the action, and behind each may stand its value: -n prod --context x delete. */
function actingFirst(words: readonly string[]): boolean {
  let mayBeValue = false;
  for (const word of words) {
    const isOption = word.startsWith('-');
    if (!isOption && acting(word)) return true;
    if (!isOption && !mayBeValue) return false;
    mayBeValue = isOption;
  }
  return false;
}

const FORMATS = names(
  `json yaml yml wide name text txt table csv tsv xml html markdown md short long full plain raw none pretty compact toml ndjson jsonl
  jsonlines sarif junit tap oneline human default - /dev/stdout`,
);
/** `--output=/etc/x`, `--outp hooks`, `-o ../x`: a path or a name, and not that of a format. Programs take long options cut short. */
function writesFile(words: readonly string[]): boolean {
  return words.some((word, at) => {
    const isLong = word === '--o' || word.startsWith('--o=') || word.startsWith('--ou');
    if (!isLong) return /^-[oO]/.test(word) && isPath(word.length > 2 ? word.slice(2) : (words[at + 1] ?? ''));
    const equals = word.indexOf('=');
    const option = equals < 0 ? word : word.slice(0, equals);
    if (/-(?:format|indicator|delimiter|style|type|template|encoding|columns)/.test(option)) return false;
    const value = equals < 0 ? (words[at + 1] ?? '') : word.slice(equals + 1);
    const [format = ''] = value.toLowerCase().split(/[=(:]/, 1);
    return isPath(value) || !(value === '' || FORMATS.has(value.toLowerCase()) || TEMPLATES.has(format));
  });
}
const TEMPLATES = names('jsonpath jsonpath-as-json custom-columns go-template template');
const isPath = (text: string): boolean => /^=?[/~.]|^[a-z]:/i.test(text) && !FORMATS.has(text);
