import { readFileSync } from 'node:fs';
import { ConfigError, type Env } from '../config/env.js';
import type { CredentialEntry, SecretPlace, TlsEntry, UpstreamEntry } from '../config/upstreams.js';
import { errorText } from '../domain/errors.js';
import type { ExpectedServer } from '../domain/identity/revocation-mirror.js';
import type { Upstream } from '../domain/upstream/upstream.js';
import {
  type Credentials,
  CredentialsMissing,
  headerCredentials,
  type Secret,
} from '../activities/upstream-credentials.js';
import { hidingSecrets } from '../activities/hidden-secrets.js';
import type { TlsFiles } from '../activities/clients/expected-server.js';
import { type ActorTokenOf, createMcpUpstream } from '../activities/mcp-upstream.js';
import { type NamedUpstream, severalUpstreams, type SeveralOptions } from '../activities/several-upstreams.js';
import { createStdioUpstream } from '../activities/stdio-upstream.js';
import type { UpstreamSessions } from '../activities/upstream-sessions.js';

export interface OpenUpstreams extends SeveralOptions {
  /** Where secrets named by a variable are. */
  readonly env: Env;
  /** In memory, unless several processes talk to the same upstream. */
  readonly sessionsWith?: ((upstream: string) => UpstreamSessions) | undefined;
  /** Makes the token by which an upstream that is another Gate, of this trust domain, is told which agent asks; absent where nobody does. */
  readonly actorTokens?: ((trustDomain: string) => ActorTokenOf) | undefined;
  /** What the connection to an address has to show now; nothing by default. */
  readonly expectedAt?: ((url: string) => ExpectedServer | null) | undefined;
  /** Called with what the server at an address calls itself. */
  readonly onIntroduced?: ((url: string, name: string) => void) | undefined;
  /** Called when a child process ended, or did not start. */
  readonly onChild?: (name: string, what: string) => void;
}

/**
 * The upstreams of a file as one. Every secret that it names is read once, so that a start without one is refused: throws ConfigError with
 * the path of each fault. Children are started at once; nothing waits for them.
 */
export async function openUpstreams(entries: readonly UpstreamEntry[], options: OpenUpstreams): Promise<Upstream> {
  const faults: string[] = [];
  const sure = <Value>(path: string, read: () => Value): Value | null => {
    try {
      return read();
    } catch (error) {
      faults.push(`GATE_UPSTREAMS: ${path}: ${errorText(error)}`);
      return null;
    }
  };
  const ready = entries.map((entry, at) => {
    const path = `upstreams[${at}]`;
    if ('command' in entry) {
      const env = Object.entries(entry.env).map(([name, place]) => {
        const value = 'value' in place ? place.value : sure(`${path}.env.${name}`, secretAt(place, options.env));
        return [name, value ?? '', !('value' in place)] as const;
      });
      return { entry, env };
    }
    const { credentials } = entry;
    for (const [member, place] of secretsOf(credentials))
      sure(`${path}.credentials.${member}`, secretAt(place, options.env));
    if (entry.tls) sure(`${path}.tls`, filesOf(entry.tls));
    if (entry.gate && !options.actorTokens)
      faults.push(`GATE_UPSTREAMS: ${path}.gate: nobody here makes tokens for another Gate: lite has no identity`);
    return { entry };
  });
  if (faults.length > 0) throw new ConfigError('gate', faults);
  const members: NamedUpstream[] = [];
  for (const { entry, env = [] } of ready) {
    const { name, prefix, timeoutMs } = entry;
    const common = { name, prefix, timeoutMs };
    if ('command' in entry) {
      const [command = '', ...args] = entry.command;
      const upstream = createStdioUpstream({
        command,
        args,
        env: Object.fromEntries(env),
        onRestart: (reason) => options.onChild?.(name, reason),
      });
      upstream.start().catch((error: unknown) => options.onChild?.(name, `does not start: ${errorText(error)}`));
      const secrets = env.filter(([, , secret]) => secret).map(([, value]) => value);
      members.push({ ...common, upstream: hidingSecrets(upstream, () => secrets) });
      continue;
    }
    const { url, tls, gate } = entry;
    const actorToken = gate && options.actorTokens?.(gate.trust_domain);
    const credentials = entry.credentials && (await credentialsOf(entry.credentials, options.env));
    const upstream = createMcpUpstream({
      url,
      ...(credentials && { credentials }),
      ...(tls && { tls: filesOf(tls) }),
      ...(actorToken && { actorToken }),
      expected: () => options.expectedAt?.(url) ?? null,
      onIntroduced: (said) => options.onIntroduced?.(url, said),
      ...(options.sessionsWith && { sessions: options.sessionsWith(`${name} ${url}`) }),
    });
    members.push({
      ...common,
      upstream: credentials ? hidingSecrets(upstream, () => credentials.secrets()) : upstream,
    });
  }
  return severalUpstreams(members, options);
}

/** As they are now. Throws where one cannot be read. */
const filesOf =
  ({ ca_file: ca, cert_file: cert, key_file: key }: TlsEntry) =>
  (): TlsFiles => {
    const read = (file: string): string => {
      try {
        return readFileSync(file, 'utf8');
      } catch (error) {
        throw new Error(`the file ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})`, {
          cause: error,
        });
      }
    };
    return {
      ...(ca !== undefined && { ca: read(ca) }),
      ...(cert !== undefined && key !== undefined && { cert: read(cert), key: read(key) }),
    };
  };

function secretsOf(entry: CredentialEntry | undefined) {
  if (!entry) return [];
  if (entry.kind === 'header') return [['value', entry.value]] as const;
  const client = [['client_secret', entry.client_secret]] as const;
  return entry.kind === 'token_exchange' ? ([...client, ['subject_token', entry.subject_token]] as const) : client;
}

async function credentialsOf(entry: CredentialEntry, env: Env): Promise<Credentials> {
  if (entry.kind === 'header') return headerCredentials(entry.header, schemeOf(entry), secretAt(entry.value, env));
  const { tokenCredentials } = await import('../activities/token-credentials.js');
  return tokenCredentials({
    issuer: entry.issuer,
    tokenEndpoint: entry.token_endpoint,
    clientId: entry.client_id,
    clientSecret: secretAt(entry.client_secret, env),
    clientAuth: entry.client_auth,
    scope: entry.scope,
    audience: entry.audience,
    resource: entry.resource,
    ...(entry.kind === 'token_exchange' && {
      subject: { token: secretAt(entry.subject_token, env), type: entry.subject_token_type },
    }),
  });
}

/** `Authorization` says how it is meant; another header is the secret alone. */
const schemeOf = ({ header, scheme }: CredentialEntry & { kind: 'header' }): string | undefined =>
  scheme ?? (header === 'authorization' ? 'Bearer' : undefined);

/** What HTTP takes in the value of a header, and no line break (RFC 9110, section 5.5). */
const isHeaderText = (text: string): boolean => /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text);

/** A secret as it is now; a file is read at each use. What was found is never told. */
function secretAt(place: SecretPlace, env: Env): Secret {
  const read = 'env' in place ? () => env[place.env] : () => readFileSync(place.file, 'utf8').trim();
  const where = 'env' in place ? place.env : `the file ${place.file}`;
  return () => {
    let text: string | undefined;
    try {
      text = read();
    } catch (error) {
      throw new CredentialsMissing(`${where} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})`);
    }
    if (!text) throw new CredentialsMissing(`${where} is not set, or empty`);
    if (!isHeaderText(text)) throw new CredentialsMissing(`${where} is no single line of printable characters`);
    return text;
  };
}
