import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { trustDomainName } from '../contracts/actor-tokens.js';
import { toolName } from '../contracts/storable.js';
import { LONGEST_PREFIX, lookOf, ownNameOf, PREFIX, prefixedName } from '../domain/mcp/prefixed-names.js';
import { parseStrictJson } from '../domain/mcp/strict-json.js';
import { isLoopback } from '../domain/outbound/loopback.js';
import { errorText } from '../domain/errors.js';
import { setting } from './env.js';
import { parsedBy } from './shared.js';

/** Where a secret is. A file is read again whenever the secret is used, so that it may be rotated. */
export type SecretPlace = { readonly env: string } | { readonly file: string };

const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be the name of an environment variable')
  .refine((name) => !name.toUpperCase().startsWith('GATE_'), "Gate's own variables are never handed on");
const secret = z
  .strictObject({ env: variableName.optional(), file: z.string().min(1).max(4_096).optional() })
  .refine(hasOne, 'has either `env` or `file`')
  .transform((place) => place as SecretPlace);
const variableValue = z
  .strictObject({
    env: variableName.optional(),
    file: z.string().min(1).max(4_096).optional(),
    value: z.string().max(32_768).optional(),
  })
  .refine(hasOne, 'has one of `env`, `file` and `value`')
  .transform((place) => place as SecretPlace | { readonly value: string });

function hasOne(object: object): boolean {
  return Object.keys(object).length === 1;
}

/** Headers that belong to the connection or to the protocol. */
const NOT_CREDENTIALS: ReadonlySet<string> = new Set([
  'accept',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'host',
  'keep-alive',
  'last-event-id',
  'mcp-protocol-version',
  'mcp-session-id',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const headerName = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a header')
  .transform((name) => name.toLowerCase())
  .refine((name) => !NOT_CREDENTIALS.has(name), 'is a header of the connection or of MCP');

const httpUrl = z.url({ protocol: /^https?$/, message: 'must be an http(s):// URL' }).refine((text) => {
  const { username, password, hash } = new URL(text);
  return username === '' && password === '' && hash === '';
}, 'must not carry user info or a fragment; `credentials` says who Gate is');
/** A secret goes there, so it must be encrypted wherever others could listen. */
const tokenUrl = httpUrl.refine((text) => {
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || isLoopback(hostname);
}, 'must be https, unless it is on this machine');

const text = (longest: number) => z.string().min(1).max(longest);
const oauthClient = {
  issuer: tokenUrl,
  token_endpoint: tokenUrl.optional(),
  client_id: text(512),
  client_secret: secret,
  client_auth: z.enum(['basic', 'post']).default('basic'),
  scope: text(2_048).optional(),
  audience: text(2_048).optional(),
  resource: httpUrl.optional(),
};
const credentials = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('header'),
    header: headerName.default('authorization'),
    scheme: z
      .string()
      .regex(/^[A-Za-z0-9-]{1,32}$/)
      .optional(),
    value: secret,
  }),
  z.strictObject({ kind: z.literal('client_credentials'), ...oauthClient }),
  z.strictObject({
    kind: z.literal('token_exchange'),
    ...oauthClient,
    subject_token: secret,
    subject_token_type: text(256).default('urn:ietf:params:oauth:token-type:jwt'),
  }),
]);
export type CredentialEntry = z.infer<typeof credentials>;

/** Files that are read for each connection, so that they may be renewed. */
const tlsFiles = z
  .strictObject({
    ca_file: text(4_096).optional(),
    cert_file: text(4_096).optional(),
    key_file: text(4_096).optional(),
  })
  .refine(
    ({ cert_file: cert, key_file: key }) => (cert === undefined) === (key === undefined),
    'has both of `cert_file` and `key_file`, or neither',
  )
  .refine((files) => Object.keys(files).length > 0, 'names no file');
export type TlsEntry = z.infer<typeof tlsFiles>;

const label = z
  .string()
  .max(LONGEST_PREFIX)
  .regex(PREFIX, 'must be lower-case letters and digits, with single hyphens between them');
/** A call of a tool costs less than a million of the currency. */
const price = z.number().int().min(0).max(1_000_000_000_000);
const entry = z
  .strictObject({
    name: label,
    prefix: label.optional(),
    url: httpUrl.optional(),
    command: z.array(text(4_096)).min(1).max(128).optional(),
    env: z.record(variableName, variableValue).optional(),
    credentials: credentials.optional(),
    /** What proves the upstream, and Gate to it, by certificates. */
    tls: tlsFiles.optional(),
    /** The upstream is another Gate, of this trust domain: it is told which agent asks. */
    gate: z.strictObject({ trust_domain: trustDomainName }).optional(),
    timeout_seconds: z.number().int().min(1).max(600).optional(),
    /** What a call of each of its tools costs, in micro-units. */
    price_micros: price.optional(),
    /** The same of single tools, by the upstream's own names for them. */
    tool_prices_micros: z.record(toolName, price).optional(),
  })
  .transform(({ name, prefix = name, url, command, env, credentials: own, ...said }, context) => {
    const { timeout_seconds: seconds, price_micros: priceMicros = 0, tool_prices_micros: toolPrices = {} } = said;
    const timeoutMs = seconds === undefined ? undefined : seconds * 1000;
    const common = { name, prefix, timeoutMs, priceMicros, toolPrices };
    const { tls, gate } = said;
    if (url !== undefined && command === undefined) {
      if (env !== undefined) context.addIssue({ code: 'custom', path: ['env'], message: 'is only for a `command`' });
      if (!url.startsWith('https:') && (tls !== undefined || gate !== undefined))
        context.addIssue({ code: 'custom', path: ['url'], message: 'must be https with `tls` or `gate`' });
      return { ...common, url, credentials: own, tls, gate };
    }
    if (command !== undefined && url === undefined) {
      for (const [member, value] of Object.entries({ tls, gate }))
        if (value !== undefined) context.addIssue({ code: 'custom', path: [member], message: 'is only for a `url`' });
      if (own !== undefined)
        context.addIssue({
          code: 'custom',
          path: ['credentials'],
          message: 'is only for a `url`; a command has `env`',
        });
      return { ...common, command: command as readonly string[], env: env ?? {} };
    }
    context.addIssue({ code: 'custom', message: 'has either `url` or `command`' });
    return z.NEVER;
  });

/** One upstream as the file has it. */
export type UpstreamEntry = z.infer<typeof entry>;

const MAX_UPSTREAMS = 64;
const file = z.strictObject({ upstreams: z.array(entry).min(1).max(MAX_UPSTREAMS) });

/** Names and prefixes that are the same to somebody who reads quickly: each with the place of the first of its look. */
function twins(upstreams: readonly UpstreamEntry[]): (readonly ['name' | 'prefix', number, number])[] {
  return (['name', 'prefix'] as const).flatMap((of) => {
    const first = new Map<string, number>();
    return upstreams.flatMap((one, at) => {
      const look = lookOf(one[of]);
      const other = first.get(look);
      if (other === undefined) first.set(look, at);
      return other === undefined ? [] : [[of, at, other] as const];
    });
  });
}

/** Reads the file of upstreams. Throws with the path of the first fault in it; values are not repeated. */
export function readUpstreams(name: string): readonly UpstreamEntry[] {
  let content: string;
  try {
    content = readFileSync(name, 'utf8');
  } catch (error) {
    throw new Error(`the file cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})`, { cause: error });
  }
  let json: unknown;
  try {
    json = parseStrictJson(content);
  } catch (error) {
    throw new Error(`the file is not JSON: ${errorText(error)}`, { cause: error });
  }
  const read = file.safeParse(json);
  if (!read.success) {
    const [issue] = read.error.issues;
    throw new Error(`${pathOf(issue?.path ?? [])}: ${issue?.message ?? 'is not understood'}`);
  }
  const { upstreams } = read.data;
  const [twin] = twins(upstreams);
  if (!twin) return upstreams;
  const [of, at, other] = twin;
  throw new Error(
    `upstreams[${at}].${of}: looks like upstreams[${other}].${of}; people and models would take one for the other`,
  );
}

/** `upstreams[1].credentials.value`. */
const pathOf = (path: readonly PropertyKey[]): string =>
  path.length === 0
    ? 'the file'
    : path.reduce<string>(
        (before, part) =>
          typeof part === 'number' ? `${before}[${part}]` : `${before}${before === '' ? '' : '.'}${String(part)}`,
        '',
      );

export const upstreamsSetting = setting(
  'GATE_UPSTREAMS',
  parsedBy(readUpstreams).optional(),
  'A file of several upstreams, each with a prefix, an address or a command, and credentials of its own (docs/how-to/several-upstreams.md). Instead of the address of one.',
);

/** What a call of a tool costs, by the name that agents know; of a tool that no upstream of the file has, nothing. */
export const pricesOf = (upstreams: readonly UpstreamEntry[]): ((tool: string) => number) => {
  const of = new Map(upstreams.map((one) => [one.prefix, one]));
  const prices = new Map(
    upstreams.flatMap(({ prefix, toolPrices }) =>
      Object.entries(toolPrices).map(([own, micros]) => [prefixedName(prefix, own), micros] as const),
    ),
  );
  return (tool) => prices.get(tool) ?? of.get(ownNameOf(tool)?.prefix ?? '')?.priceMicros ?? 0;
};

/** The address of the upstream of a tool of several, by the name that agents know; `null` where it has none, as a command. */
export function addressesOf(upstreams: readonly UpstreamEntry[]): (tool: string) => string | null {
  const urls = new Map(upstreams.flatMap((one) => ('url' in one ? [[one.prefix, one.url] as const] : [])));
  return (tool) => urls.get(ownNameOf(tool)?.prefix ?? '') ?? null;
}

/** The upstreams for an operator's eyes: names and addresses without queries, and of a command its program alone. */
export const upstreamsShown = (upstreams: readonly UpstreamEntry[]): string =>
  upstreams
    .map((entry) => {
      if ('command' in entry) return `${entry.prefix}__* ${entry.command[0] ?? ''}`;
      const { origin, pathname } = new URL(entry.url);
      return `${entry.prefix}__* ${origin}${pathname}`;
    })
    .join(', ');

/** What is wrong with both forms set; `null` when one is. */
export const upstreamsFault = (given: {
  readonly upstreams?: readonly UpstreamEntry[] | undefined;
  readonly upstreamUrl?: string | undefined;
  readonly upstreamApiKey?: string | undefined;
}): string | null => {
  if (!given.upstreams) return null;
  if (given.upstreamUrl !== undefined)
    return 'GATE_UPSTREAMS: the address of one upstream is set too; leave one of them out';
  return given.upstreamApiKey === undefined
    ? null
    : 'GATE_UPSTREAMS: the key of one upstream is set too; each entry has `credentials` of its own';
};
