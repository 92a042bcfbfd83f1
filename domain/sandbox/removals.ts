import { NAMES_ARGUMENTS, plain } from '../argument-names.js';
import { holdsMutation } from '../policy/graphql.js';
import { quoted } from '../printable.js';
import { REMOVES_IN_NAME } from '../shell/removal-words.js';
import { toolShape, toolTokens } from '../tool-shape.js';
import { clipped, words } from '../text.js';
import { isPartOfAddress } from './addresses.js';
import type { Finding, ReadCall, Readers } from './finding.js';
import { removingField } from './mutations.js';
import { connects, isOn, namedTargets, READS, type Verb, verbOf } from './verbs.js';

/** Removals that are told in the language of a store, an interface or a program, whatever the name of the tool says. */
export function readRemovals(call: ReadCall, verb: Verb, readers: Readers): readonly Finding[] {
  return [
    queryRemoval(call),
    replacement(call),
    storeRemoval(call, verb),
    mutationRemoval(call, verb),
    codeRemoval(call, verb),
    namedRemoval(call, verb, readers),
    switchedOn(call, verb),
    forcedPush(call),
    scaledDown(call),
  ].filter((one) => one !== null);
}

const removal = (call: ReadCall, act: string, reason: string): Finding => ({
  operation_class: 'delete',
  severity: 'destructive',
  act,
  kind: 'delete',
  targets: namedTargets(call),
  reversible: 'no',
  reasons: [reason],
});

const READ = 8_192;
/** A path of Elasticsearch and its like: what a query finds is removed. */
const queryRemoval = (call: ReadCall): Finding | null =>
  call.leaves.some(
    ({ name, value }) => isPartOfAddress(name) && typeof value === 'string' && /\b_delete_by_query\b/.test(value),
  )
    ? removal(call, 'remove what a query finds', 'what the query finds is removed')
    : null;

/** The last stage of a pipeline of MongoDB: what it names is replaced. */
const replacement = (call: ReadCall): Finding | null =>
  call.groups.some(({ members }) => members.some(([name]) => name === '$out'))
    ? removal(call, 'replace a collection', 'a stage `$out` replaces the collection that it names')
    : null;

const STORES = words(
  `redis valkey keydb dragonfly memcached memcache mongo mongodb documentdb elasticsearch elastic opensearch solr cassandra scylla cql dynamodb
  couchdb couchbase neo4j arangodb etcd consul zookeeper kafka rabbitmq influx influxdb qdrant pinecone weaviate milvus chroma firestore nosql`,
);
const COMMANDS = words(
  `command commands cmd cmds operation operations op query queries statement request body args arguments argv line script pipeline expression
  input text action requests`,
);
/** Of these, what holds commands also where a tool only looks, and what never does where it searches. */
const OUTRIGHT = words('command commands cmd cmds operation operations op statement argv pipeline requests');
const WORDS_OF_SEARCH = words('query queries input text');
/** Tools that only look, whatever words they look for; a `query` may be any command. */
const LOOKS = words('search find get list lookup count browse scroll recommend similar retrieve');
/** Of these, tools that are told what to look for in words of any language. */
const SEEKS = words('search find lookup browse recommend similar');
const ARGUMENTS = words('args arguments');
/** Stores in which texts are looked for. */
const SEARCHES = words('qdrant pinecone weaviate milvus chroma elasticsearch elastic opensearch solr');
/** What the arguments of a call may be put into. */
const HOLDS_CALLS = words(
  'arguments args params parameters input request body options data payload kwargs command commands',
);
/** What removes in stores by a word of its own. */
const STORE_WORDS = words(
  `flushall flushdb del unlink getdel hdel hgetdel srem zrem lrem ltrim xdel xtrim spop lpop rpop lmpop zmpop zpopmin zpopmax bzpopmin bzpopmax blpop
  brpop zremrangebyscore zremrangebyrank zremrangebylex shutdown swapdb migrate dropdatabase dropindexes deletemany deleteone findoneanddelete flush_all
  deletebyquery truncate evict detach rmr deleteall`,
);
/** Of these, words of a language and names of fields. */
const ALSO_ENGLISH = words('del migrate shutdown truncate evict detach');
const isStoreRemoval = (word: string): boolean =>
  STORE_WORDS.has(word.toLowerCase()) || REMOVES_IN_NAME.has(toolTokens(word)[0] ?? '');
/** Commands of Redis whose second word says what they do. */
const GROUPS = words('script function acl client cluster xgroup config memory module');
const STORE_CALL =
  /\.\s{0,4}(?:drop|delete|remove|findOneAndDelete|flush(?:all|db)?)[a-zA-Z]{0,32}\s{0,4}\(|\b_delete_by_query\b|\$out['"]?\s{0,4}:/i;
/** What holds programs for a store, in which only its calls count. */
const STORE_CODES = words('code javascript js snippet function script');

/** Commands whose first word is English, as no English goes on. */
const NO_ENGLISH =
  /^\s{0,64}(?:shutdown(?:\s{1,8}(?:nosave|save|now|force|abort)){1,4}\s{0,8}$|migrate\s{1,8}\S{1,253}\s{1,8}\d{1,5}\s{1,8}\S{1,64}\s{1,8}\d{1,9}\s{1,8}\d{1,9}(?:\s|$)|detach\s{1,8}delete\s)/i;

const STORE_REMOVAL = (call: ReadCall): Finding =>
  removal(call, 'remove data of a store', 'a command of a store removes what it names');
/**
 * Tools that are named for one command: `xdel`, `redis_lpop`. What other tools have too (`unlink_issue`) is read as a verb, and what tells of commands
 * runs none (`list_lpop`, `xdel_stats`).
 */
const isOwnCommand = ({ tool }: ReadCall): boolean => {
  const tokens = toolTokens(tool);
  return (
    !looksFirst(tokens) &&
    !TELLS.has(tokens.at(-1) ?? '') &&
    tokens.some((word) => STORE_WORDS.has(word) && !ALSO_ENGLISH.has(word) && !REMOVES_IN_NAME.has(word))
  );
};
const TELLS = words('stat stats statistics info metric metrics doc docs help history');
/** `get_scale_info`, and not `get_and_scale`. */
const looksFirst = (tokens: readonly string[]): boolean => READS.has(tokens[0] ?? '') && !connects(tokens);

function storeRemoval(call: ReadCall, verb: Verb): Finding | null {
  if (isOwnCommand(call)) return STORE_REMOVAL(call);
  if (!call.words.some((word) => STORES.has(word))) return null;
  const tool = toolTokens(call.tool);
  const isSearch = call.words.some((word) => SEARCHES.has(word));
  const seeks = tool.some((word) => SEEKS.has(word)) || (verb === 'read' && isSearch);
  const looks = seeks || tool.some((word) => LOOKS.has(word));
  const isCommand = (name: string): boolean => {
    const short = plain(name);
    return COMMANDS.has(short) && (OUTRIGHT.has(short) || !(isSearch && WORDS_OF_SEARCH.has(short)));
  };
  /** Of a tool that only looks, words of any language say nothing; commands of a store do. Arguments of a program are no language. */
  const isMeant = (name: string, word: string): boolean => {
    const short = plain(name);
    if (!looks || OUTRIGHT.has(short)) return isStoreRemoval(word);
    const low = word.toLowerCase();
    const isEnglish = ALSO_ENGLISH.has(low) && (seeks || WORDS_OF_SEARCH.has(short));
    return STORE_WORDS.has(low) && (!isEnglish || word === word.toUpperCase() || ARGUMENTS.has(short));
  };
  /** `del users:1`, and not `del mar` where words are looked for. */
  const isDel = (name: string, first: string, second: string): boolean =>
    first.toLowerCase() === 'del' &&
    second !== '' &&
    !(
      seeks &&
      first !== 'DEL' &&
      WORDS_OF_SEARCH.has(plain(name)) &&
      /^(?:\p{L}{1,64}|\p{Lu}[\p{L}'’-]{0,63}[,.:;!?]?)$/u.test(second)
    );
  /** `script flush`; where words are looked for, in capitals: "function delete user" may be any. */
  const isOfGroup = (name: string, first: string, second: string): boolean => {
    if (!GROUPS.has(first.toLowerCase())) return false;
    const isCommandly = !seeks || ARGUMENTS.has(plain(name)) || first === first.toUpperCase();
    return isCommandly ? isStoreRemoval(second) : isMeant(name, second);
  };
  const says = (name: string, text: string): boolean => {
    const read = clipped(text, READ);
    if (STORE_CALL.test(read) || /^\s*DELETE\s{1,8}\//i.test(read)) return true;
    return read.split(/[\n;]/).some((line) => {
      const [first = '', second = ''] = line.trim().split(/\s+/, 2);
      return (
        isMeant(name, first) || isDel(name, first, second) || isOfGroup(name, first, second) || NO_ENGLISH.test(line)
      );
    });
  };
  const found = call.groups.some(({ path, members }) => {
    const last = path.at(-1) ?? '';
    const isOutright = OUTRIGHT.has(plain(last));
    const isInside = isCommand(last) && (isOutright || path.slice(0, -1).every((name) => HOLDS_CALLS.has(plain(name))));
    return members.some(([name, value], at) => {
      // {"dropDatabase": 1}, where the name is the command. The first one is, and of the others those that mean nothing else.
      const low = name.toLowerCase();
      const isOwn = STORE_WORDS.has(low) && (isOutright || !ALSO_ENGLISH.has(low));
      if (isInside && (at === 0 ? isMeant(last, name) : isOwn)) return true;
      if (isInside && isOutright && /^(?:delete|drop|remove)$/i.test(name)) return true;
      if (!isCommand(name)) return false;
      if (typeof value === 'string') return says(name, value);
      return listsIn(value).some(
        (list) => says(name, list.join(' ')) || list.some((item) => item.includes(' ') && says(name, item)),
      );
    });
  });
  const isCode = call.leaves.some(
    ({ name, value }) => STORE_CODES.has(name) && typeof value === 'string' && STORE_CALL.test(clipped(value, READ)),
  );
  // ["SET a 1", "FLUSHALL"].
  const piped = call.leaves.some(
    ({ name, value }) => isCommand(name) && typeof value === 'string' && /^flush(?:all|db)$/i.test(value.trim()),
  );
  return found || isCode || piped ? STORE_REMOVAL(call) : null;
}

/** The words of each list, whatever else is in it, also within lists: `[["SET", "a", 1], ["DEL", ["a"]]]` is a pipeline. */
function listsIn(value: unknown): readonly (readonly string[])[] {
  const lists: (readonly string[])[] = [];
  const open: unknown[] = [value];
  for (const one of open) {
    if (!Array.isArray(one)) continue;
    lists.push(one.filter((item) => typeof item === 'string' || typeof item === 'number').map(String));
    open.push(...(one.filter(Array.isArray) as unknown[]));
  }
  return lists;
}

function mutationRemoval(call: ReadCall, verb: Verb): Finding | null {
  // A text that is sent or written is for a reader.
  if (CARRIES.has(verb) && !call.words.some((word) => SPEAKS.has(word))) return null;
  for (const { value } of call.leaves) {
    if (typeof value !== 'string' || !value.includes('mutation') || !holdsMutation(value)) continue;
    const field = removingField(value);
    if (field !== null) return removal(call, `GraphQL ${quoted(field, 64)}:`, 'a mutation has a field that removes');
  }
  return null;
}

const CARRIES: ReadonlySet<Verb> = new Set(['write', 'send', 'copy']);
const SPEAKS = words('graphql gql graph mutation mutate query request http api');

/** Tools that call what they are told, and the arguments that name it: `slack_api {method: "files.delete"}`. */
const DISPATCHES = words('api rpc jsonrpc call invoke execute exec run dispatch trigger');
const NAMES_CALLED = words('method methodname apimethod rpcmethod tool toolname function functionname procedure');
/** `stripe_api_operation_id`, `tool_slug`. */
const ENDS_AS_CALLED = /(?:operation|tool|action|function|method|procedure)(?:id|name|slug|key)$/;
/** Of these tools, what holds the name where the arguments stand beside it: `call_tool {name: "delete_repo", arguments: {}}`. */
const HANDS_ON = words('call invoke dispatch rpc jsonrpc tool function');
/** Tools that press what they are told by the words on it: `browser_click {element: "Delete account button"}`. */
const PRESSES = words('click dblclick tap');
const NAMES_PRESSED = words('element elementdescription text label button linktext name accessiblename');
const LONGEST_PRESSED = 64;
/** The words on a link begin with what it leads to; further on it is what that is about: "Link to the article on how to delete a file". */
const LEADS_TO = 4;
/** What the arguments name to be called or pressed, where that name says that it destroys. */
function namedRemoval(call: ReadCall, verb: Verb, { data }: Readers): Finding | null {
  const tool = toolTokens(call.tool);
  const calls = tool.some((word) => DISPATCHES.has(word));
  const presses = tool.some((word) => PRESSES.has(word));
  const handsOn = tool.some((word) => HANDS_ON.has(word));
  for (const { name, value, group } of call.leaves) {
    if (typeof value !== 'string' || value.length > LONGEST_PRESSED) continue;
    const namesCalled =
      NAMES_CALLED.has(name) ||
      ENDS_AS_CALLED.test(name) ||
      (handsOn && name === 'name' && group?.members.some(([other]) => NAMES_ARGUMENTS.has(plain(other))) === true);
    const called = value.trim().replace(/\(\s?\)$/, '');
    // A single word is a method of HTTP, or of anything.
    const isName = (): boolean => /^[\w./:-]+$/.test(called) && toolTokens(called).length > 1;
    // `projects_write {method: "delete_project_item"}`: the method is what the tool itself does.
    const isOwn = verb !== 'read' && name === 'method' && toolShape(toolTokens(called)) === 'delete';
    const isCalled = ((calls && namesCalled) || isOwn) && isName();
    const isPressed = presses && NAMES_PRESSED.has(name);
    if (!isCalled && !isPressed) continue;
    const isLink = !isCalled && /^\s{0,8}link to\s/i.test(value);
    const said = isLink ? toolTokens(value).slice(0, LEADS_TO) : toolTokens(called);
    if (verbOf(said, data) === 'destroy')
      return removal(
        call,
        `${isCalled ? 'call' : 'press'} ${quoted(value, LONGEST_PRESSED)}:`,
        `what is ${isCalled ? 'called' : 'pressed'} is named for a removal`,
      );
  }
  return null;
}

/** Switches of a tool that changes something, as `--delete` is one of a program: `sync_folder {delete: true}`. */
function switchedOn(call: ReadCall, verb: Verb): Finding | null {
  if (verb === 'read' || call.words.some((word) => GIVES_RIGHTS.has(word))) return null;
  // Looked at once for each object, which may have thousands of switches.
  const isOfRights = new Map<ReadCall['leaves'][number]['group'], boolean>();
  const areRights = (group: ReadCall['leaves'][number]['group']): boolean => {
    const known = isOfRights.get(group);
    if (known !== undefined) return known;
    const are = group?.members.some(([name, value]) => typeof value === 'boolean' && RIGHTS.has(plain(name))) === true;
    isOfRights.set(group, are);
    return are;
  };
  const found = call.leaves.find(
    ({ words: [first = '', ...rest], value, group }) =>
      isOn(value) &&
      SWITCHES.has(first) &&
      rest.length < 3 &&
      rest.every((word) => WHAT_IS_LEFT.has(word)) &&
      !areRights(group),
  );
  return found === undefined
    ? null
    : removal(call, `${quoted(found.path.at(-1) ?? '', 64)} is on:`, 'a switch of the call has things removed');
}
const SWITCHES = words('delete purge prune wipe erase destroy');
const WHAT_IS_LEFT = words(
  'extra extras extraneous excluded missing orphan orphans orphaned removed others source destination existing data files',
);
/** Beside these it is what somebody may do, or is told of: `{read: true, delete: true}`. */
const RIGHTS = words('create read write update view edit insert list get admin select upload add');
const GIVES_RIGHTS = words(
  'permission permissions right rights role policy acl grant access scope webhook hook event events subscribe subscription notification capability',
);

/** `git_push {force: true}`, or `+` before what is pushed (gitglossary(7), refspec): what others pushed to the branch is gone. */
const forcedPush = (call: ReadCall): Finding | null => {
  const tool = toolTokens(call.tool);
  if (!tool.some((word) => word === 'push' || word === 'ref')) return null;
  const isOfGit = tool.some((word) => OF_GIT.has(word)) || call.leaves.some(({ name }) => NAMES_REF.has(name));
  const isForced = call.leaves.some(
    ({ name, value }) =>
      (/^force(?:push|withlease)?$/.test(name) && isOn(value)) ||
      (NAMES_PUSHED.has(name) && typeof value === 'string' && value.trimStart().startsWith('+')),
  );
  return isOfGit && isForced
    ? {
        ...removal(call, 'overwrite a branch:', 'a forced push removes what others pushed'),
        operation_class: 'write',
        kind: 'modify',
      }
    : null;
};
/** `scale_deployment {replicas: 0}` stops what it names, as `kubectl scale --replicas=0` does. */
function scaledDown(call: ReadCall): Finding | null {
  const tool = toolTokens(call.tool);
  if (!tool.includes('scale') || looksFirst(tool) || tool.some((word) => DRAWN.has(word))) return null;
  return call.leaves.some(({ name, value }) => NAMES_SIZE.has(name) && (value === 0 || value === '0'))
    ? { ...removal(call, 'scale to nothing:', 'what is scaled to 0 stops'), operation_class: 'write', kind: 'modify' }
    : null;
}
/** What has a size on a screen. */
const DRAWN = words('image picture photo video font layer canvas chart axis shape');
const NAMES_SIZE = words('replicas replicacount scale count desiredcount instances nodes size nodecount instancecount');
const NAMES_REF = words('branch branchname remote ref refs refspec refspecs repo repository repopath');
const NAMES_PUSHED = words('branch branchname ref refs refspec refspecs');
const OF_GIT = words('git github gitlab gitea bitbucket repo repository branch commit commits');

const CODES = words(
  'code script source input text content body line lines snippet expression program js javascript python ruby function command cmd cell',
);
const RUNS = words(
  'run runs execute exec eval evaluate invoke interpreter interpret repl notebook cell sandbox code script js javascript python node ruby',
);
/** Of JavaScript, of Python and Ruby, and of other languages. */
const CODE_REMOVES = [
  /\b(?:rm|rmdir|unlink|remove|emptyDir|truncate|rimraf|del)Sync\b|\brimraf\b|\bDeno\.remove\b/,
  /\b(?:fs|fsp|fse|promises)\.(?:rm|rmdir|unlink|remove|emptyDir|truncate)\s?\(/,
  /(?:fs|promises)['"]\)\.(?:promises\.)?(?:rm|rmdir|unlink)\b/,
  /\bos\.(?:remove|unlink|rmdir|removedirs|RemoveAll|Remove)\b|\brmtree\b|\bsend2trash\b/,
  /\.(?:unlink|rmdir|deleteRecursively|deleteOnExit)\s?\(|\bunlink\s?\(|\bRemove-Item\b/,
  /\bFileUtils\.(?:rm|remove)|\bfs::remove_|\bfilesystem::remove/,
  // A request, and the databases of a browser.
  /\bmethod['"]?\s?[:=]\s?['"`]DELETE['"`]/i,
  /\b(?:axios|requests|httpx|got|ky)\.delete\s?\(|\b(?:session|client|http)\.delete\s?\(\s?f?['"`]|\bdeleteDatabase\s?\(/,
  /\b(?:File|Dir|Directory|Files|IO|Pathname)\.(?:delete|unlink|rmdir|rm_rf|remove|deleteIfExists|Delete)\b/,
];
function codeRemoval(call: ReadCall, verb: Verb): Finding | null {
  if (verb === 'write' || verb === 'read' || verb === 'copy' || !call.words.some((word) => RUNS.has(word))) return null;
  const found = call.leaves.some(
    ({ name, value }) => CODES.has(name) && typeof value === 'string' && CODE_REMOVES.some((one) => one.test(value)),
  );
  return found
    ? removal(call, 'run code that removes', 'code removes or empties a file or folder, or asks for a removal')
    : null;
}
