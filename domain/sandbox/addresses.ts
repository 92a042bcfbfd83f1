import { requestLine } from '../policy/request-line.js';
import { bareHost, isPublicAddress, literalAddress } from '../outbound/addresses.js';
import { isAddress } from '../shell/paths.js';
import { holdsName, plain } from '../argument-names.js';
import { toolTokens } from '../tool-shape.js';
import { decodeEscapes } from '../inspection/escapes.js';
import { words } from '../text.js';
import type { Leaf } from '../argument-values.js';
import type { Finding, ReadCall } from './finding.js';
import type { Verb } from './verbs.js';

const ADDRESSES = words(
  'url urls uri uris endpoint href link webhook webhookurl callbackurl baseurl targeturl requesturl address',
);
/** What an address is put together from. */
const PARTS = words('url uri endpoint host hostname site domain path pathname route resource');
const HOSTS = words('host hostname endpoint');
/** What else may be called so stands for an address only beside another part of one. */
const MAY_BE_HOSTS = words('site domain route');
const METHODS = words(
  'method httpmethod requestmethod httpverb verb methodoverride xmethodoverride xhttpmethod xhttpmethodoverride',
);
const BODIES = words('body data json payload form formdata postdata content');
const LOOKS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const KNOWN: ReadonlySet<string> = new Set([...LOOKS, 'POST', 'PUT', 'PATCH', 'DELETE']);
const LONGEST_URL = 8_192;
const LOCAL_NAME = /(?:^|\.)(?:localhost|local|internal|home\.arpa|localdomain)$/;

/** Whether an argument is named for an address. */
export const namesAddress = (name: string): boolean =>
  ADDRESSES.has(name) || name.endsWith('url') || name.endsWith('uri');

/** The request of a call over HTTP; nothing where no argument is an address or a method that changes something. */
export function readAddresses(call: ReadCall, verb: Verb): readonly Finding[] {
  const urls = call.leaves.flatMap(({ name, value }) => {
    if (typeof value !== 'string') return [];
    const line = SPEECH.has(name) ? null : requestLine(value);
    if (line !== null) return /^[a-z]/i.test(line.target) ? [line.target] : [];
    if (!namesAddress(name)) return [];
    const url = addressOf(asUrlParsersRead(value));
    return url === null ? [] : [url];
  });
  // Without a whole address a method that changes something still says what is asked for: host and path may stand apart.
  const apart = call.leaves.flatMap(({ name, value }) => (PARTS.has(name) && typeof value === 'string' ? [value] : []));
  const said = saidMethods(call, urls.length > 0 || isPutTogether(call));
  if (urls.length === 0 && !said.some((method) => KNOWN.has(method) && !LOOKS.has(method))) return [];
  const method = methodOf(call, verb, said);
  // A resource has an address of its server's own making.
  const isOwn = call.tool === 'resources/read';
  const inside = urls.flatMap((url) => {
    if (isStore(url)) return [];
    if (isOpened(url)) return insideOf(url);
    return isOwn ? [] : [OPENS_ANYTHING, ...insideOf(url)];
  });
  const common = { targets: (urls.length > 0 ? urls : apart).map((url) => withoutPassword(url.slice(0, LONGEST_URL))) };
  if (method === 'DELETE')
    return [
      {
        ...common,
        operation_class: 'delete',
        severity: 'destructive',
        act: 'DELETE',
        kind: 'delete',
        reversible: 'no',
        reasons: ['an HTTP DELETE removes what the address names', ...inside],
      },
    ];
  if (!LOOKS.has(method))
    return [
      {
        ...common,
        operation_class: 'network',
        severity: 'risky',
        act: `${method} to`,
        kind: 'send',
        reversible: 'unknown',
        reasons: [`an HTTP ${method} may change what it reaches`, ...inside],
      },
    ];
  return [
    {
      ...common,
      operation_class: 'network',
      severity: inside.length > 0 ? 'risky' : 'safe',
      act: method,
      kind: 'read',
      reversible: 'yes',
      reasons: inside.length > 0 ? inside : [`an HTTP ${method} only looks`],
    },
  ];
}

/** Tools that send the request they are given, whatever it is, by the words of their names. */
function isClient(named: readonly string[]): boolean {
  const [first, ...others] = named;
  return (
    named.some((word, at) => CLIENTS.has(word) && !asksToMerge(named, at)) || (first === 'fetch' && others.every(isUrl))
  );
}
/** `pull_request_add_label`. */
const asksToMerge = (named: readonly string[], at: number): boolean =>
  named[at] === 'request' && /^(?:pull|merge)$/.test(named[at - 1] ?? '');
const CLIENTS = words('http https request api rest curl wget axios');
const isUrl = (word: string): boolean => word === 'url' || word === 'uri';

/** Whether the arguments hold what an address is put together from: `{"site": "a.example", "route": "/users/1"}`. */
function isPutTogether({ tool, leaves }: ReadCall): boolean {
  const parts = new Set(leaves.map(({ name }) => name).filter((name) => PARTS.has(name)));
  const isEnough = parts.size > 1 || isClient(toolTokens(tool));
  return [...parts].some((name) => HOSTS.has(name) || (isEnough && MAY_BE_HOSTS.has(name)));
}

const OPENS_ANYTHING = 'the address is of a kind that may be opened as anything';
const WEB = /^(?:https?|wss?|ftp):/i;
/** Nothing is opened for these, or only what they hold themselves. */
const HOLDS_ITSELF = /^(?:mailto|tel|data|about|urn|blob):/i;
const isOpened = (url: string): boolean => WEB.test(url) || isAddress(url);
/** What stands for a host there is the name of a bucket. */
const isStore = (url: string): boolean => /^(?:s3|gs):\/\//i.test(url) && isAddress(url);

/** What an argument for addresses leads to: its address, with the scheme that clients put before one without; null where it is none. */
function addressOf(text: string): string | null {
  if (/^file:/i.test(text) || HOLDS_ITSELF.test(text)) return null;
  if (/^[/\\]{2}/.test(text)) return `http:${text}`;
  if (/^(?:[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\]):\d{1,5}(?:[/?#]|$)/i.test(text)) return `http://${text}`;
  if (/^[a-z][a-z0-9+.-]{1,31}:/i.test(text)) return text;
  const [host = ''] = text.split(/[/?#]/, 1);
  return host.toLowerCase() === 'localhost' || (/[.:]/.test(host) && literalAddress(host) !== null)
    ? `http://${text}`
    : null;
}

const asMethod = (value: unknown): readonly string[] => {
  const method = typeof value === 'string' && value.length <= LONGEST_METHOD ? methodIn(value) : '';
  return KNOWN.has(method) ? [method] : [];
};
const LONGEST_METHOD = 64;
/** Servers take full-width letters for the plain ones. */
const methodIn = (text: string): string => text.normalize('NFKC').trim().toUpperCase();
const namesMethod = (value: unknown): boolean =>
  typeof value === 'string' && value.length <= LONGEST_NAME && METHODS.has(plain(value));
const LONGEST_NAME = 64;

/** In a pair beside an address: `{"name": "customRequest", "value": "delete"}`. */
const PAIRED = words('requesttype customrequest curloptcustomrequest xrewritemethod');
const namesPaired = (name: string, value: unknown): boolean =>
  holdsName(name) && typeof value === 'string' && value.length <= LONGEST_NAME && PAIRED.has(plain(value));

/** A method under a name that is a value itself: `{"name": "X-HTTP-Method-Override", "value": "DELETE"}`, `["X-HTTP-Method", "DELETE"]`. */
const methodsInPairs = ({ groups, leaves }: ReadCall, hasAddress: boolean): readonly string[] => [
  ...groups.flatMap(({ members, path }) =>
    members.some(
      ([name, value]) => namesMethod(value) || (hasAddress && !path.some(isBodyName) && namesPaired(name, value)),
    )
      ? members.flatMap(([, value]) => asMethod(value))
      : [],
  ),
  ...leaves.flatMap(({ value }, at) => {
    const next = leaves[at + 1];
    return next !== undefined &&
      namesMethod(value) &&
      /^(?:x-|_)/i.test(String(value)) &&
      next.group === leaves[at]?.group
      ? asMethod(next.value)
      : [];
  }),
];

/**
 * `X-HTTP-Method-Override: DELETE` as a line of headers, `?_method=delete` of an address or a form, `method: DELETE` and `-X DELETE` of options.
 * Each run of blanks is one where they are looked for.
 */
const IN_HEADERS = /(?:^|[\s"'{,;])x-[a-z_-]{0,24}method[a-z_-]{0,24}["']?\s?[:=]\s?["']?([a-z]{3,7})\b/gi;
const IN_FORMS =
  /(?:^|[?&;\s])(?:_method|x-(?:http-)?method(?:-override)?|http_?method|method_?override)(?:\[\w{0,16}\])?=([a-z]{3,7})\b/gi;
const IN_OPTIONS =
  /(?:^|[^a-z])(?:http|x|request|custom)?[_-]?(?:method|verb)(?:[_-]?type)?["']?\s?[:=]>?\s?["'`]?([a-z]{3,7})\b/gi;
const IN_REQUESTS = /(?:^|[\s"'{,;(])(?:custom)?request(?:[_-]?type)?["']?\s?[:=]>?\s?["'`]?([a-z]{3,7})\b/gi;
const IN_SWITCHES = /(?:^|[\s"'[,])(?:-X|--request|--method)[\s=]?["']?([a-z]{3,7})\b/gi;
const SWITCH = /^(?:-X|--request|--method)$/;
/** The name of a field of a form that is sent in parts. */
const IN_PARTS = /\bname=["']?_method\b/i;
const OPTIONS = words(
  'init options option opts config configuration request settings params parameters fetchoptions requestinit args arguments flags',
);
/** What is looked for, or a part of an address. */
const QUERIES = words('query q search');
function methodsIn({ name, path }: Leaf, text: string, hasAddress: boolean): readonly string[] {
  const isForm = QUERIES.has(name) && /^\S{1,64}=/.test(text);
  if (((SPEECH.has(name) && !isForm) || TEXTS.has(name)) && !isBody(name)) return [];
  // A body that goes to no address is for a reader.
  if (!hasAddress && isBody(name)) return [];
  const decoded = text.includes('%') ? decodeEscapes(text) : text;
  const read = decoded.normalize('NFKC').replaceAll(/\s+/g, ' ');
  const isOptions = hasAddress && !isForm && !namesAddress(name) && !isBody(name) && !path.some(isBodyName);
  const forms = [
    IN_HEADERS,
    IN_FORMS,
    ...(OPTIONS.has(name) || isOptions ? [IN_OPTIONS, IN_SWITCHES] : []),
    ...(OPTIONS.has(name) ? [IN_REQUESTS] : []),
  ];
  const inParts = IN_PARTS.test(read)
    ? read
        .split(IN_PARTS)
        .slice(1)
        .flatMap((part) => [.../\s(delete|put|patch|post)\b/gi[Symbol.matchAll](part.slice(0, 512))])
    : [];
  return [...forms.flatMap((form) => [...read.matchAll(form)]), ...inParts].flatMap(([, method]) => asMethod(method));
}

/** What is looked for on a page, pressed on it or told of it, or what a hook listens to. */
const SHOWN = words(
  `tag tags label labels element selector selectors keyword keywords section heading kind category word words filter term terms key button name value event
  events trigger topic topics anchor`,
);
/** Of these, what may be called so for a method in a tool that sends any request, also where it is not in capitals. */
const MAY_BE_METHODS = words('kind category name value key word');
/** Of tools that are named so, what is a word also in capitals: `create_webhook {"events": ["DELETE"]}`. */
const LISTENED_FOR = words('event events trigger topic topics');
const LISTENS = words('webhook webhooks');
const PRESSES = words('press keypress keyboard');
/** A word for a reader, and no method. */
function isWord(tool: readonly string[], { name, value }: Leaf): boolean {
  if (!SHOWN.has(name)) return isSpeech(name);
  const own = name === 'key' ? PRESSES : LISTENED_FOR.has(name) ? LISTENS : null;
  if (own !== null && tool.some((word) => own.has(word))) return true;
  return String(value) !== String(value).toUpperCase() && !(MAY_BE_METHODS.has(name) && isClient(tool));
}
/**
 * A value that is nothing but a method which changes something, whatever it is called, where it goes with an address: `{"m": "DELETE"}`. Not of a
 * header of another name, nor of a body.
 */
function wholeMethods({ tool, leaves }: ReadCall): readonly string[] {
  const named = toolTokens(tool);
  return leaves.flatMap((leaf, at) => {
    const { name, path, value, group } = leaf;
    const [method] = asMethod(value);
    if (method === undefined || LOOKS.has(method) || path.some(isBodyName)) return [];
    const before = leaves[at - 1];
    const isHeader = path.some((one) => /header|cookie/i.test(one));
    if (before?.group === group && SWITCH.test(String(before?.value))) return [method];
    if (isWord(named, leaf)) return [];
    return !isHeader || /method|verb/.test(name) ? [method] : [];
  });
}
const isBody = (name: string): boolean => BODIES.has(name);
const isBodyName = (name: string): boolean => BODIES.has(plain(name));

/** A `type` says a method where it has the name of one, and so does the first line of a request that is written out. */
const saidMethods = (call: ReadCall, hasAddress: boolean): readonly string[] => [
  ...methodsByName(call),
  ...methodsInPairs(call, hasAddress),
  ...(hasAddress ? wholeMethods(call) : []),
  ...call.leaves.flatMap((leaf) => (typeof leaf.value === 'string' ? methodsIn(leaf, leaf.value, hasAddress) : [])),
];
const methodsByName = ({ leaves }: ReadCall): readonly string[] =>
  leaves.flatMap(({ name, value }) => {
    const method = methodIn(String(value));
    if (METHODS.has(name) || (name === 'type' && KNOWN.has(method))) return [method];
    const line = typeof value === 'string' && !SPEECH.has(name) ? requestLine(value) : null;
    return line === null ? [] : [line.method];
  });
export const isPartOfAddress = (name: string): boolean => PARTS.has(name) || namesAddress(name);
export const isSpeech = (name: string): boolean => SPEECH.has(name) || BODIES.has(name) || TEXTS.has(name);
const TEXTS = words(
  'contents pattern patterns regex oldstring newstring oldtext newtext snippet command cmd script code sql',
);
/** Words for a reader, where a line of a request is what is looked for or told. */
const SPEECH = words(
  'query q search term text content message title description summary comment note notes prompt question reason',
);

/** Parsers of addresses skip controls and spaces before the scheme, and tabs and line ends anywhere (WHATWG URL, 4.4). */
export const asUrlParsersRead = (text: string): string => {
  const joined = text.replaceAll(/[\t\n\r]/g, '');
  let begin = 0;
  while (begin < joined.length && joined.charCodeAt(begin) <= 0x20) begin += 1;
  return joined.slice(begin).trimEnd();
};

/**
 * As the arguments or the tool's name say it; of several, the one that does most, because nobody knows which the tool obeys. A body without a
 * method is sent. A method that nobody knows may do anything.
 */
function methodOf(call: ReadCall, verb: Verb, all: readonly string[]): string {
  const { leaves, words: named } = call;
  const said = all.map((method) => (KNOWN.has(method) ? method : 'POST'));
  if (said.length > 0)
    return (
      said.find((method) => method === 'DELETE') ?? said.find((method) => !LOOKS.has(method)) ?? (said[0] as string)
    );
  const byName = named.map((word) => word.toUpperCase()).find((word) => KNOWN.has(word));
  if (byName !== undefined) return byName;
  const sends =
    verb === 'send' ||
    named.includes('webhook') ||
    leaves.some(({ name, path }) => BODIES.has(name) || path.some((one) => BODIES.has(one)));
  return sends ? 'POST' : 'GET';
}

const withoutPassword = (url: string): string => url.replace(/^([a-z]{2,5}:\/{0,2})[^/?#@]{1,512}@/i, '$1…@');

/** Why an address is worth a second look: it reaches inside, or carries a password. */
function insideOf(text: string): readonly string[] {
  if (text.length > LONGEST_URL) return ['the address is too long to be read'];
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return ['the address cannot be read'];
  }
  const host = bareHost(url.hostname);
  const literal = literalAddress(host);
  const isInside = literal === null ? !host.includes('.') || LOCAL_NAME.test(host) : !isPublicAddress(literal);
  return [
    ...(isInside ? ['the address is inside the network'] : []),
    ...(url.username !== '' || url.password !== '' ? ['the address carries a name or a password'] : []),
  ];
}
