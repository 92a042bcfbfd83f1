import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { oneLine } from '../domain/printable.js';
import { signInByDevice, revokeToken, type Shown } from './device-sign-in.js';
import { CliError } from './errors.js';
import { consoleOrigin, keep, keptFor, signInHere } from './kept-sign-in.js';
import { gateCommand } from './output.js';
import { type Me, whoIs } from './person-target.js';
import { consoleOfStack } from './stack-target.js';
import { consoleAt } from './target.js';

/** `gate login`: lets this command line act as a person who agrees at the console. */
export function registerLogin(program: Command): void {
  program
    .command('login')
    .description('sign in at a console: pending, decide, approvals and audit then act as you')
    .addOption(consoleAt())
    .option('--no-browser', 'only print the address, open nothing')
    .addHelpText(
      'after',
      `
Prints an address and a code, and waits until you agree there, in any browser, signed in as you always do. What
it gets acts as you for as long as a session of the console, at most; \`gate logout\` ends it, and so does the
console's page /me. It is kept in a file that only you can read: below the state folder for a stack of this
folder, otherwise below $XDG_CONFIG_HOME/gate (~/.config/gate).

A console whose certificate a CA of your own signed: NODE_EXTRA_CA_CERTS=ca.pem gate login --console https://…`,
    )
    .action(async ({ console: named, browser }: { console?: string; browser: boolean }) => {
      const origin = named === undefined ? here() : consoleOrigin(named);
      // Whoever cannot keep it learns so before anybody agrees to anything.
      const before = keptFor(origin);
      const token = await waited(origin, browser);
      const { subject, tenant, role, ends_at } = await kept(origin, token);
      if (before) await revokeToken(origin, before.token).catch(() => undefined);
      process.stdout.write(
        `${oneLine(`signed in at ${origin} as ${subject} (${role}, ${tenant})`)} until ${ends_at}\n`,
      );
    });
}

/** Keeps the token, and says whose it is. One that cannot be kept is ended. */
async function kept(origin: string, token: string): Promise<Me> {
  try {
    const me = await whoIs({ console: origin, token });
    const { subject, tenant, role, ends_at } = me;
    keep({ console: origin, token, subject, tenant, role, ends_at, signed_in_at: new Date().toISOString() });
    return me;
  } catch (error) {
    await revokeToken(origin, token).catch(() => undefined);
    throw error;
  }
}

function here(): string {
  const origin = consoleOfStack() ?? signInHere(undefined)?.console;
  if (origin === undefined)
    throw new CliError(
      `no running stack is known here; say where the console is: ${gateCommand()} login --console https://…`,
      2,
    );
  return origin;
}

/** Signals that end the wait, with the exit code of each. */
const SIGNALS = [
  ['SIGHUP', 129],
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const;

/** The token; on a signal CliError, and no token is left at the console. */
async function waited(origin: string, opensBrowser: boolean): Promise<string> {
  const stopped = new AbortController();
  let code = 130;
  const ends = SIGNALS.map(([signal, exit]) => {
    const end = (): void => {
      code = exit;
      stopped.abort();
    };
    // A second one ends the process at once.
    process.once(signal, end);
    return () => process.off(signal, end);
  });
  const progress = process.stderr.isTTY ? (words: string) => void process.stderr.write(`\r\u001B[K${words}`) : null;
  const stop = () => new CliError('stopped: nobody is signed in, and the code is of no use any more', code);
  let untilMs = 0;
  try {
    const token = await signInByDevice(origin, {
      show(shown) {
        ({ untilMs } = shown);
        process.stdout.write(told(shown));
        if (opensBrowser && process.stdout.isTTY) open(shown.pageWithCode);
        if (!progress) process.stderr.write('waiting until you agree\n');
      },
      async pause(ms) {
        progress?.(`waiting until you agree, ${lasting(untilMs - Date.now())} left`);
        await sleep(ms, undefined, { signal: stopped.signal }).catch(() => {
          throw stop();
        });
      },
      note: (words) => void process.stderr.write(progress ? `\r\u001B[K${words}\n` : `${words}\n`),
      now: Date.now,
    });
    if (!stopped.signal.aborted) return token;
    await revokeToken(origin, token).catch(() => undefined);
    throw stop();
  } finally {
    progress?.('');
    for (const end of ends) end();
  }
}

const lasting = (ms: number): string => {
  const secs = Math.max(0, Math.ceil(ms / 1_000));
  return `${Math.floor(secs / 60)}:${String(secs % 60).padStart(2, '0')}`;
};

const told = ({ code, page, pageWithCode }: Shown): string => `Open ${page} and type the code

    ${code}

or open ${pageWithCode}
and compare the code. Agree only to a code that stands here, in your own terminal.
`;

const OPENERS: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  linux: ['xdg-open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Where that does not work, the address stands on the screen. */
function open(address: string): void {
  const [program, ...args] = OPENERS[process.platform] ?? [];
  if (program === undefined) return;
  const opener = spawn(program, [...args, address], { detached: true, stdio: 'ignore' });
  opener.on('error', () => undefined);
  opener.unref();
}
