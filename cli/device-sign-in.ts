import { z } from 'zod';
import { oneLine } from '../domain/printable.js';
import { refusalText } from './answers.js';
import { type Answer, askConsole, ConsoleAway } from './console-http.js';
import { CliError } from './errors.js';
import { gateCommand } from './output.js';

const CLIENT = 'gate-operator-cli';
const SCOPE = 'gate.operator';
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';
const METADATA_BYTES = 65_536;
const REPLY_BYTES = 32_768;
const TIMEOUT_MS = 10_000;
const MOST_POLLS = 180;
/** What `slow_down` asks for (RFC 8628, section 3.5). */
const SLOWER_SECS = 5;

const metadata = z.object({
  issuer: z.string(),
  device_authorization_endpoint: z.string(),
  token_endpoint: z.string(),
  revocation_endpoint: z.string(),
});
type Metadata = z.infer<typeof metadata>;
const begun = z.object({
  device_code: z.string().min(1).max(512),
  user_code: z.string().regex(/^[A-Z0-9-]{4,32}$/),
  verification_uri: z.string(),
  verification_uri_complete: z.string(),
  expires_in: z.number().int().min(1).max(900),
  interval: z.number().int().min(1).max(15),
});
const given = z.object({
  access_token: z.string().regex(/^[\x21-\x7e]{16,512}$/),
  token_type: z.string().regex(/^bearer$/i),
  scope: z.string(),
});
const refused = z.object({ error: z.string().max(64) });

/** What the person is shown. */
export interface Shown {
  readonly code: string;
  readonly page: string;
  readonly pageWithCode: string;
  readonly untilMs: number;
}

export interface Waiting {
  /** Called once, with where to agree. */
  readonly show: (shown: Shown) => void;
  /** Waits; throws when the person does not want to wait any more. */
  readonly pause: (ms: number) => Promise<void>;
  /** Something to know while it goes on. */
  readonly note: (words: string) => void;
  readonly now: () => number;
}

/**
 * A token for whoever agrees at the console (RFC 8628). Throws CliError with the code of what went wrong: what the console said, or
 * `issuer_mismatch`, `scope_mismatch`, `malformed_response`, `oversized_response`, `poll_limit`, `unknown_oauth_error`.
 */
export async function signInByDevice(origin: string, { show, pause, note, now }: Waiting): Promise<string> {
  const at = await readMetadata(origin);
  const answer = await post(at.device_authorization_endpoint, { client_id: CLIENT, scope: SCOPE });
  if (answer.status !== 200) throw terminal(origin, answer);
  const grant = read(begun, answer.text, 'how to sign in');
  for (const page of [grant.verification_uri, grant.verification_uri_complete]) assertOwn(origin, page);
  const untilMs = now() + grant.expires_in * 1_000;
  show({
    code: grant.user_code,
    page: grant.verification_uri,
    pageWithCode: grant.verification_uri_complete,
    untilMs,
  });
  let everySecs = grant.interval;
  for (let polls = 0; polls < MOST_POLLS; polls += 1) {
    await pause(everySecs * 1_000);
    if (now() >= untilMs) throw new CliError(`expired_token: ${WORDS['expired_token']}`, 3);
    const polled = await poll(at.token_endpoint, grant.device_code);
    if (polled instanceof ConsoleAway) note(`${polled.message}; asked again`);
    else if (polled.status === 200) {
      const { access_token, scope } = read(given, polled.text, 'a token');
      if (scope === SCOPE) return access_token;
      await revoke(at, access_token);
      throw new CliError(`scope_mismatch: ${origin} gave a token for ${oneLine(scope)}, and ${SCOPE} was asked for`, 5);
    } else {
      const error = codeIn(polled);
      if (error === 'slow_down') everySecs += SLOWER_SECS;
      else if (polled.status >= 500 || polled.status === 429) note(`${origin} answered ${error}; asked again`);
      else if (error !== 'authorization_pending') throw terminal(origin, polled);
    }
  }
  throw new CliError(`poll_limit: asked ${MOST_POLLS} times, and nobody agreed; sign in again`, 3);
}

/** Ends a token at the console. Throws where it cannot be told so. */
export async function revokeToken(origin: string, token: string): Promise<void> {
  await revoke(await readMetadata(origin), token);
}

async function revoke({ revocation_endpoint: to }: Metadata, token: string): Promise<void> {
  const answer = await post(to, { client_id: CLIENT, token });
  if (answer.status !== 200) throw new CliError(refusalText(answer.status, answer.text), 5);
}

async function readMetadata(origin: string): Promise<Metadata> {
  const answer = await askConsole(origin, '/.well-known/oauth-authorization-server', {
    method: 'GET',
    timeoutMs: TIMEOUT_MS,
    maxBytes: METADATA_BYTES,
  });
  if (answer.status !== 200) throw new CliError(`${origin} is no console of Gate: it answers HTTP ${answer.status}`, 5);
  const said = read(metadata, answer.text, 'how to sign in');
  if (said.issuer !== origin)
    throw new CliError(
      `issuer_mismatch: the console at ${origin} calls itself ${oneLine(said.issuer)}; sign in there: ${gateCommand()} login --console ${oneLine(said.issuer)}`,
      5,
    );
  const { issuer: _, ...endpoints } = said;
  for (const endpoint of Object.values(endpoints)) assertOwn(origin, endpoint);
  return said;
}

/** The person is sent, and codes and tokens are, to no other place than the one that was named. */
function assertOwn(origin: string, address: string): void {
  if (URL.canParse(address) && new URL(address).origin === origin) return;
  throw new CliError(`issuer_mismatch: ${origin} leads to ${oneLine(address)}, which is another place`, 5);
}

const post = (to: string, form: Readonly<Record<string, string>>): Promise<Answer> =>
  askConsole(to, to, { method: 'POST', form, timeoutMs: TIMEOUT_MS, maxBytes: REPLY_BYTES });

async function poll(to: string, deviceCode: string): Promise<Answer | ConsoleAway> {
  try {
    return await post(to, { client_id: CLIENT, grant_type: GRANT_TYPE, device_code: deviceCode });
  } catch (error) {
    if (error instanceof ConsoleAway) return error;
    throw error;
  }
}

function read<Type>(type: z.ZodType<Type>, text: string, what: string): Type {
  const said = type.safeParse(parsed(text));
  if (said.success) return said.data;
  const [issue] = said.error.issues;
  throw new CliError(
    `malformed_response: the console does not say ${what} (${[...(issue?.path ?? []), issue?.message].join(' ')})`,
    5,
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The code of a refusal. */
const codeIn = ({ text, status }: Answer): string => refused.safeParse(parsed(text)).data?.error ?? `HTTP ${status}`;

const WORDS: Readonly<Record<string, string>> = {
  access_denied: 'refused at the console, or whoever agreed is not signed in there any more; nobody is signed in here',
  expired_token: 'nobody agreed in time; sign in again',
  invalid_grant: 'the code was used by somebody else, and what was given for it has ended; sign in again',
};

/** What ends a sign-in. */
function terminal(origin: string, answer: Answer): CliError {
  const code = codeIn(answer);
  const words = Object.hasOwn(WORDS, code) ? WORDS[code] : undefined;
  if (words !== undefined) return new CliError(`${code}: ${words}`, 3);
  if (answer.status === 429) return new CliError(refusalText(answer.status, answer.text), 5);
  return new CliError(`unknown_oauth_error: ${origin} answered ${refusalText(answer.status, answer.text)}`, 5);
}
