import type { ClientCapability } from '../../../contracts/call.js';
import type { Json, JsonObject } from '../../../contracts/json.js';
import { parseStrictJson, StrictJsonError } from '../../../domain/mcp/strict-json.js';
import { quoted } from '../../../domain/printable.js';
import { shortened } from '../../../domain/text.js';
import { withoutClaim } from '../../../domain/review/told-change.js';
import { ASKED_OF_CLIENTS, Unaskable } from '../../../domain/upstream/call-talks.js';
import { askedForm, passesFor } from './asked-form.js';

/** What a client said that it can be asked. */
export interface Askable {
  readonly can: readonly ClientCapability[];
  /** Whether it opens an address for its user. */
  readonly opensUrls: boolean;
}

/** What MCP gives a question, by its method, and an elicitation by its mode. */
const ELICITED = ['_meta', 'task', 'mode', 'message'];
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  form: [...ELICITED, 'requestedSchema'],
  url: [...ELICITED, 'url', 'elicitationId'],
  'sampling/createMessage': [
    '_meta',
    'task',
    'messages',
    'modelPreferences',
    'systemPrompt',
    'includeContext',
    'temperature',
    'maxTokens',
    'stopSequences',
    'metadata',
    'tools',
    'toolChoice',
  ],
  'roots/list': ['_meta'],
};
const passesForAnother = passesFor(Object.values(MEMBERS).flat());

/** A longer question is not handed on. */
const MAX_TEXT = 65_536;
const NOT_HANDED_ON = 'the request cannot be handed on to the client';
const NOT_DECLARED = 'the client cannot be asked that';
const LONGEST_MESSAGE = 2_000;
const LONGEST_NAME = 128;

/**
 * The parameters of an upstream's question as its client is asked it: read strictly, compared with what the client declared, and written anew from
 * what was compared: members that MCP gives it and no others, so that no client reads another question than that. What people read says that a tool's server
 * asks, `from` where it has a name. Throws Unaskable.
 */
export function askedAs({ can, opensUrls }: Askable, method: string, params: string, from?: string): string {
  const capability = ASKED_OF_CLIENTS.get(method);
  if (capability === undefined) throw new Unaskable(NOT_DECLARED);
  const asked = params.length > MAX_TEXT ? null : strictly(params);
  if (asked === null || typeof asked !== 'object' || Array.isArray(asked)) throw new Unaskable(NOT_HANDED_ON);
  if (Object.keys(asked).some(passesForAnother)) throw new Unaskable(NOT_HANDED_ON);
  const mode = method === 'elicitation/create' ? (asked['mode'] ?? 'form') : undefined;
  if (mode === 'url' ? !opensUrls : !can.includes(capability) || (mode !== undefined && mode !== 'form'))
    throw new Unaskable(NOT_DECLARED);
  const given = MEMBERS[mode === 'url' || mode === 'form' ? mode : method] ?? [];
  const kept = Object.fromEntries(Object.entries(asked).filter(([name]) => given.includes(name)));
  const told = mode === 'url' ? toOpen(kept, from) : mode === 'form' ? toFill(kept, from) : kept;
  const text = withoutClaim(JSON.stringify(told));
  if (text.length > MAX_TEXT) throw new Unaskable(NOT_HANDED_ON);
  return text;
}

function strictly(text: string): Json {
  try {
    return parseStrictJson(text);
  } catch (error) {
    if (error instanceof StrictJsonError) throw new Unaskable(`${NOT_HANDED_ON}: ${error.message}`);
    throw error;
  }
}

/** Gate asks clients to open an address too: so one of an upstream is named as that, and its words are in quotes that nothing in them ends. */
function toOpen(asked: JsonObject, from: string | undefined): JsonObject {
  const { url, message } = asked;
  const address = typeof url === 'string' && URL.canParse(url) ? new URL(url) : null;
  if (address === null || !/^https?:$/.test(address.protocol)) throw new Unaskable(NOT_HANDED_ON);
  const said = typeof message === 'string' && message !== '' ? ` It says: ${quoted(message, LONGEST_MESSAGE)}` : '';
  return {
    ...asked,
    url: address.href,
    message: `${whoAsks(from)} asks to open an address at ${quoted(address.host)}.${said}`,
  };
}

/** A form says the same of itself, each line of it in quotes, and has the schema that MCP gives a form. */
function toFill({ message, requestedSchema, ...asked }: JsonObject, from: string | undefined): JsonObject {
  const schema = requestedSchema === undefined ? undefined : askedForm(requestedSchema);
  if (schema === null) throw new Unaskable(`${NOT_HANDED_ON}: its schema is not one of a form`);
  const lines = typeof message === 'string' ? shortened(message, LONGEST_MESSAGE).split(/\r\n|[\r\n]/) : [];
  const said = lines.flatMap((line) => (line === '' ? [] : [quoted(line, LONGEST_MESSAGE)]));
  const asks = `${whoAsks(from)} asks${said.length > 1 ? ':\n' : said.length > 0 ? ': ' : '.'}`;
  return { ...asked, message: `${asks}${said.join('\n')}`, ...(schema && { requestedSchema: schema }) };
}

const whoAsks = (from: string | undefined): string =>
  `The server of a tool${from === undefined ? '' : ` (${quoted(from, LONGEST_NAME)})`}, and not Gate,`;
