import { quoted } from '../printable.js';
import { toolShape } from '../tool-shape.js';
import { words } from '../text.js';
import type { Finding, ReadCall, Readers } from './finding.js';

export const READS: ReadonlySet<string> = words(
  `read list get search fetch find query lookup look view show describe count check inspect browse scan preview summarize summarise head
  stat status select poll download open tail diff compare validate verify ping monitor cat glob grep tree explain exists`,
);
/** Without a noun behind them these destroy all the same; policy's own list of verbs does too. */
const ENDS = words('terminate revoke uninstall deprovision decommission');
const REMOVES = words('remove unlink trash cancel detach unassign expire kill clear empty flush');
/** Verbs that destroy with one of these nouns, beside the pairs of the rules' lists; with others they have other senses. */
const DESTROYS_WITH: readonly (readonly [verbs: ReadonlySet<string>, nouns: ReadonlySet<string>])[] = [
  // What was removed once is gone then.
  [words('empty clear flush'), words('trash bin recyclebin recycle wastebasket')],
  // What runs there stops.
  [words('drain'), words('node worker queue host cluster pod instance pool')],
  // A document that is out is taken back.
  [words('void'), words('invoice payment transaction charge credit check envelope order sale')],
];
const COPIES = words('copy clone duplicate');
const WRITES = words(
  `write create edit append put commit update set add insert upload patch save modify replace rename move make touch mkdir chmod chown
  upsert store schedule assign tag label restore mark merge sync import overwrite enable disable grant deploy release rollback migrate scale
  restart provision install approve reject close change configure rotate reset convert extract`,
);
const SENDS = words('send post email mail publish notify message reply forward share comment broadcast submit tweet');
const CONNECTS = words('and or then plus');
/** `get_and_delete_markers`: what stands behind the word is done too. */
export const connects = (all: readonly string[]): boolean => holds(all, CONNECTS);
const RUNS = words('run execute exec eval invoke spawn trigger');

/** What the words of a name say that a tool does, the gravest first. */
export type Verb = 'destroy' | 'remove' | 'pay' | 'write' | 'copy' | 'send' | 'run' | 'read' | 'unknown';

const holds = (list: readonly string[], known: ReadonlySet<string>): boolean => list.some((word) => known.has(word));

/** Whole words only: `undelete` and `readme` hold neither "delete" nor "read". */
export function verbOf(all: readonly string[], { destructive, money }: Readers['data']): Verb {
  const kept = withoutPhrases(all, destructive.harmless_phrases);
  const reads = READS.has(kept[0] ?? '');
  const verbs = new Set(destructive.verbs);
  const records = new Set(destructive.record_nouns);
  // "get_delete_markers" reads records about deletions, and "get_and_delete_markers" does not.
  const isRecord = (at: number): boolean => reads && records.has(kept[at + 1] ?? '') && !connects(kept.slice(0, at));
  const destroys = kept.some((word, at) => verbs.has(word) && !isRecord(at));
  if (destroys || holds(kept, ENDS)) return 'destroy';
  if (!reads) {
    if (DESTROYS_WITH.some(([those, nouns]) => holds(kept, those) && holds(kept, nouns))) return 'destroy';
    const pairs = destructive.pairs.some(
      (pair) => pair.verbs.some((verb) => kept.includes(verb)) && pair.objects.some((object) => kept.includes(object)),
    );
    if (pairs || destructive.nouns.some((noun) => kept.includes(noun))) return 'destroy';
  }
  if (holds(kept, REMOVES)) return 'remove';
  const moves = [...money.wire_tools, ...money.tools].some((entry) =>
    entry.split('_').every((word) => kept.includes(word)),
  );
  const talks = money.harmless_words.some((word) => kept.includes(word));
  if (!reads && !talks && (moves || toolShape(kept) === 'money')) return 'pay';
  if (holds(kept, COPIES)) return 'copy';
  if (holds(kept, WRITES)) return 'write';
  if (holds(kept, SENDS)) return 'send';
  if (holds(kept, RUNS)) return 'run';
  return holds(kept, READS) ? 'read' : 'unknown';
}

function withoutPhrases(all: readonly string[], phrases: readonly string[]): readonly string[] {
  let text = ` ${all.join(' ')} `;
  for (const phrase of phrases) text = text.replaceAll(` ${phrase} `, ' ');
  return text.trim().split(' ');
}

/** Names of arguments that say what a call is about. */
const NAMED = words(
  `id ids name names key keys title branch repo repository table tables collection database bucket user username users email emails to cc bcc
  recipient recipients channel account accountid customer customerid project projectid issue issuenumber ticket resource resources object
  item items target targets service host instance cluster namespace pod deployment index record records file path uri url label role policy
  group team queue topic`,
);
/** Further names count where they end with one of these: `orderid`, `repositoryname`. */
const ENDINGS = ['id', 'ids', 'name', 'key', 'number', 'arn', 'email', 'recipients', 'recipient'];
/** Who gets a copy. */
const COPY = /^b?cc(?:address|addresses|email|emails|list)?$/;
const LONGEST_ID = 512;

/** The ids and names in the arguments. */
export const namedTargets = ({ leaves }: ReadCall): readonly string[] =>
  leaves.flatMap(({ name, value }) => {
    if (typeof value === 'boolean') return [];
    const says = NAMED.has(name) || COPY.test(name) || ENDINGS.some((ending) => name.endsWith(ending));
    const text = String(value);
    return says && text.trim() !== '' && text.length <= LONGEST_ID ? [text] : [];
  });

const ALL = words('* all everything everyone any @all @everyone @channel @here');
export const isOn = (value: unknown): boolean =>
  value === true || value === 1 || (typeof value === 'string' && /^(?:true|yes)$/i.test(value.trim()));

/** Whether the arguments ask for everything, or for all that is below. */
export function reachOf({ leaves }: ReadCall): { readonly wildcards: boolean; readonly recursive: boolean } {
  let [wildcards, recursive] = [false, false];
  for (const { name, value } of leaves) {
    if (/^(?:all|everything|selectall|deleteall)$/.test(name) && isOn(value)) wildcards = true;
    if (/^(?:recursive|recursively|recurse|cascade)$/.test(name) && isOn(value)) recursive = true;
    if (typeof value === 'string' && value.length <= LONGEST_ID && ALL.has(value.trim().toLowerCase()))
      wildcards ||= NAMED.has(name) || /(?:filter|selector|scope|pattern|glob)$/.test(name);
  }
  return { wildcards, recursive };
}

const TOLD = 96;
/** The call by the words of its name alone. */
export function byName(call: ReadCall, verb: Verb): Finding {
  const targets = namedTargets(call);
  const reach = reachOf(call);
  const told = quoted(call.words.join(' ') || 'call', TOLD);
  const common = { act: `${told}:`, targets, ...reach };
  switch (verb) {
    case 'destroy':
      return {
        ...common,
        operation_class: 'delete',
        severity: 'destructive',
        kind: 'delete',
        reversible: 'no',
        reasons: ['the name of the tool says that it destroys'],
      };
    case 'remove':
      return {
        ...common,
        operation_class: 'delete',
        severity: reach.wildcards || reach.recursive ? 'destructive' : 'risky',
        kind: 'delete',
        reversible: 'unknown',
        reasons: ['the name of the tool says that it removes something'],
      };
    case 'write':
    case 'copy':
      return {
        ...common,
        operation_class: 'write',
        severity: 'risky',
        kind: verb === 'copy' || call.words.some((word) => CREATES.has(word)) ? 'create' : 'modify',
        reversible: 'unknown',
        reasons: ['the name of the tool says that it changes something'],
      };
    case 'send':
      return {
        ...common,
        operation_class: 'network',
        severity: 'risky',
        kind: 'send',
        reversible: 'no',
        reasons: ['what is sent cannot be called back'],
      };
    case 'read':
      return {
        ...common,
        operation_class: 'read',
        severity: 'safe',
        kind: 'read',
        reversible: 'yes',
        reasons: ['the name of the tool says that it only looks'],
      };
    default:
      return {
        ...common,
        act: `${told}, effect unknown:`,
        operation_class: 'unknown',
        severity: 'risky',
        kind: null,
        reversible: 'unknown',
        reasons: ['nothing in the name or the arguments says what the tool does'],
      };
  }
}
const CREATES = words('create add insert make mkdir upload import');
