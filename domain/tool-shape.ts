import { LRUCache } from 'lru-cache';
import { skeletonWords } from './skeleton.js';
import { words } from './text.js';

/** What a tool does, judged by its name. `unknown` when no word of it is known. */
export type ToolShape = 'retrieve' | 'modify' | 'delete' | 'money' | 'identity' | 'deploy' | 'execute' | 'unknown';

const RETRIEVE = words(
  'read list get search fetch find query lookup look view show describe count check inspect browse scan preview summarize summarise head stat status select poll download open tail diff compare validate verify ping monitor',
);
const MODIFY = words(
  'write create edit append put commit update set add insert upload patch save modify replace rename move copy make post send publish submit push merge sync import upsert store book schedule cancel close assign tag label restore mark draft reply',
);
const DELETE = words('delete remove purge truncate wipe erase destroy unlink rm rmdir');
const MONEY = words(
  'wire transfer pay payment payout refund charge withdraw withdrawal deposit buy sell purchase invoice credit debit money funds remit',
);
const IDENTITY = words(
  'grant revoke permission role iam acl credential password secret token privilege sudo impersonate rotate user account policy mfa',
);
const DEPLOY = words(
  'deploy release rollback provision install uninstall migrate restart reboot scale terraform kubectl helm enable disable shutdown',
);
const EXECUTE = words('exec execute run shell bash terminal command cmd powershell eval script invoke spawn ssh');
/** Nouns with which `drop` means deletion; dropping a connection deletes nothing. */
const DROPPED = words('table database schema index collection column view bucket db');
/** Nouns that decide nothing when there is a verb. */
const NOUNS = words(
  'file document directory folder record row page item message mail email note report customer order balance ticket task job repo repository branch issue event calendar contact image video log config setting backup data content object',
);

const KNOWN: ReadonlySet<string> = new Set(
  [RETRIEVE, MODIFY, DELETE, MONEY, IDENTITY, DEPLOY, EXECUTE, DROPPED, NOUNS].flatMap((set) => [...set]),
);

const singular = (word: string): string => {
  if (KNOWN.has(word) || !word.endsWith('s')) return word;
  for (const stem of [word.slice(0, -1), word.slice(0, -2), `${word.slice(0, -3)}y`]) if (KNOWN.has(stem)) return stem;
  return word;
};

/** Splits `deletefile` into `delete` and `file` when both are known words; anything else stays whole. */
function split(word: string): string[] {
  const whole = singular(word);
  if (KNOWN.has(whole)) return [whole];
  for (let at = 3; at <= word.length - 3; at += 1) {
    const tail = singular(word.slice(at));
    if (KNOWN.has(word.slice(0, at)) && KNOWN.has(tail)) return [word.slice(0, at), tail];
  }
  return [whole];
}

/**
 * The words of a tool name, independent of its spelling: `deleteFile`, `delete-file`, `files.delete`, `DELETE_FILE` and `deletefile` all
 * contain `delete` and `file`. Plain like any text, singular, in order, without repetition.
 */
export function toolTokens(name: string): readonly string[] {
  const looked = name.slice(0, LONGEST_NAME);
  const kept = tokensOf.get(looked);
  if (kept) return kept;
  const tokens = readTokens(looked);
  tokensOf.set(looked, tokens);
  return tokens;
}

const LONGEST_NAME = 256;
/** Each lane reads the same few names, also for recent calls. */
const tokensOf = new LRUCache<string, readonly string[]>({ max: 2_000 });

function readTokens(name: string): readonly string[] {
  const separated = name.replace(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2').replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2');
  const parts = skeletonWords(separated).split(' ');
  return [...new Set(parts.filter((part) => part !== '').flatMap(split))];
}

const holds = (tokens: readonly string[], set: ReadonlySet<string>): boolean => tokens.some((token) => set.has(token));

/**
 * What a tool does, by the words of its name. Deleting and changing take precedence over reading (`fetch_and_delete`,
 * `get_or_create_user`); a reading verb in front makes nouns harmless (`get_payment_status`, `list_users`).
 */
export function toolShape(tokens: readonly string[]): ToolShape {
  if (holds(tokens, DELETE) || (tokens.includes('drop') && holds(tokens, DROPPED))) return 'delete';
  const reads = tokens[0] !== undefined && RETRIEVE.has(tokens[0]);
  if (reads) return holds(tokens, MODIFY) ? 'modify' : 'retrieve';
  if (holds(tokens, MONEY)) return 'money';
  if (holds(tokens, EXECUTE)) return 'execute';
  if (holds(tokens, DEPLOY)) return 'deploy';
  if (holds(tokens, MODIFY)) return holds(tokens, IDENTITY) ? 'identity' : 'modify';
  if (holds(tokens, RETRIEVE)) return 'retrieve';
  if (holds(tokens, IDENTITY)) return 'identity';
  return 'unknown';
}

const WRITTEN = words('file document object script code page content text note config source module page patch commit');
const WRITES = words('write create edit append put commit update upload patch save modify replace insert store make');

/** Tools that store a text somewhere (`write_file`, `putObject`, `commit_file`). */
export const isWriteShaped = (tokens: readonly string[]): boolean => holds(tokens, WRITES) && holds(tokens, WRITTEN);

/** Tools that take a command line (`execute_command`, `bash`, `runTerminal`). */
export const isShellShaped = (tokens: readonly string[]): boolean =>
  holds(tokens, words('shell bash terminal powershell cmd ssh zsh console')) ||
  (holds(tokens, words('execute exec run eval invoke spawn')) &&
    holds(tokens, words('command script code shell process sh'))) ||
  (tokens.length === 1 && holds(tokens, words('exec execute run eval command')));
