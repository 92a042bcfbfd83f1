import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { PRIVATE_FILE, replaceFile } from '../adapters/store/durable-file.js';
import { isLoopback } from '../domain/outbound/loopback.js';
import { CliError } from './errors.js';
import { consoleOfStack } from './stack-target.js';

const keptSignIn = z.strictObject({
  console: z.string(),
  token: z.string(),
  subject: z.string(),
  tenant: z.string(),
  role: z.string(),
  ends_at: z.string(),
  signed_in_at: z.string(),
});
/** What `gate login` keeps of a person at one console. */
export type KeptSignIn = z.infer<typeof keptSignIn>;

/** The origin of a console. Throws CliError for anything but HTTPS, or HTTP on this machine. */
export function consoleOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new CliError(`--console: ${text} is no address; it begins with https://`, 2);
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    throw new CliError(`--console: ${text} is not https, so everybody on the way could act as you`, 2);
  const { username, password, pathname, search, hash } = url;
  if (username + password + search + hash !== '' || pathname !== '/')
    throw new CliError(`--console: ${text} is more than an address; ${url.origin} is the whole of it`, 2);
  return url.origin;
}

/** The console that is meant where none is named: that of the stack of this folder, otherwise the one that was signed in at last. */
export function signInHere(named: string | undefined): KeptSignIn | null {
  if (named !== undefined) return keptFor(consoleOrigin(named));
  const own = consoleOfStack();
  return own === null ? lastKept() : keptFor(own);
}

/** Who is signed in at a console; `null` for nobody. Throws CliError where somebody else could have read the file. */
export const keptFor = (origin: string): KeptSignIn | null => readKept(fileFor(origin));

/** The file is its owner's alone, and replaces the one before it at once. */
export function keep(signIn: KeptSignIn): string {
  const file = fileFor(signIn.console);
  try {
    replaceFile(file, `${JSON.stringify(signIn, null, 2)}\n`, PRIVATE_FILE);
  } catch (error) {
    throw new CliError(`${file} cannot be written (${codeOf(error)})`);
  }
  return file;
}

export const forget = (origin: string): void => rmSync(fileFor(origin), { force: true });

/** A stack's goes with its folder; every other is the user's. */
function fileFor(origin: string): string {
  const name = `${origin.replace('://', '_').replaceAll(/[^A-Za-z0-9.-]/g, '_')}.json`;
  return join(consoleOfStack() === origin ? stackFolder() : userFolder(), name);
}
const stackFolder = (): string => join(resolve(process.env.GATE_STATE_DIR ?? '.gate'), 'sign-in');
const userFolder = (): string => join(process.env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'gate', 'sign-in');

function lastKept(): KeptSignIn | null {
  let names: readonly string[];
  try {
    names = readdirSync(userFolder()).filter((name) => name.endsWith('.json'));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw new CliError(`${userFolder()} cannot be read (${codeOf(error)})`);
  }
  const kept = names.flatMap((name) => readKept(join(userFolder(), name)) ?? []);
  return kept.toSorted((one, other) => other.signed_in_at.localeCompare(one.signed_in_at))[0] ?? null;
}

function readKept(file: string): KeptSignIn | null {
  let descriptor: number;
  try {
    // A link would be somebody's choice of another file.
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw new CliError(`${file} cannot be read (${codeOf(error)})`, 3);
  }
  try {
    const { mode, uid } = fstatSync(descriptor);
    if ((mode & 0o077) !== 0)
      throw new CliError(
        `${file} can be read by others, so the sign-in in it is not used: end it on the console's page /me, remove the file, and sign in again`,
        3,
      );
    if (uid !== process.getuid?.()) throw new CliError(`${file} is another user's, and is not used`, 3);
    const read = keptSignIn.safeParse(JSON.parse(readFileSync(descriptor, 'utf8')));
    if (read.success && fileFor(read.data.console) === file) return read.data;
  } catch (error) {
    if (error instanceof CliError) throw error;
  } finally {
    closeSync(descriptor);
  }
  throw new CliError(`${file} is not what gate login wrote: remove it and sign in again`, 3);
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'error';
