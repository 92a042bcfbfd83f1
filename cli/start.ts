import { join, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import type { DevelopmentFile, Stack } from '../stack/development-file.js';
import { signInLink, signInWith } from './console.js';
import { errorText } from '../domain/errors.js';
import { oneLine } from '../domain/printable.js';
import { addedOrSignedIn, consoleOf } from './stack-target.js';
import { gateCommand, observed, settingsHelp } from './output.js';
import { begun, givenUpStart, leave, STOPPED_AT_ONCE, type StopSignals, stopSignals } from './stop-signals.js';

const PORTS = `Agents call on port 8443 (GATE_PROXY_PORT), the console is on 8085 (GATE_CONSOLE_PORT). gate doctor lists every port and which one
is taken; each has a variable, in which 0 takes a free port.`;

/** `gate start`: runs the whole stack on this machine. */
export function registerStart(program: Command): void {
  program
    .command('start')
    .description('bring up the whole stack on this machine, with what it needs; Ctrl-C stops it tidily')
    .option('--quiet', 'print nothing but errors')
    .addHelpText('after', `\n${PORTS}${settingsHelp('gate start', '')}`)
    .action(async ({ quiet }: { quiet?: boolean }) => {
      const say = (line: string) => (quiet ? undefined : process.stdout.write(`${line}\n`));
      const started = Date.now();
      const signals = stopSignals();
      const givenUp = new AbortController();
      void signals.asked.then(() => givenUp.abort(new Error('the stop has begun')));
      const { startDevelopment } = await import('../stack/development.js');
      const { DEMONSTRATION } = await import('../demo/demonstration.js');
      const bringUp = startDevelopment({
        demonstration: DEMONSTRATION,
        env: process.env,
        progress: (line) => say(`  ${line}`),
        signal: givenUp.signal,
      });
      const first = await Promise.race([begun(bringUp), signals.asked]);
      if (typeof first === 'string') {
        say(`\n${first}: stopping before the start was done`);
        await givenUpStart(bringUp, signals);
        say('stopped');
        return leave();
      }
      const stateDir = resolve(process.env.GATE_STATE_DIR ?? '.gate');
      const took = Date.now() - started;
      // A link that is printed where nobody looks would only lie in a log.
      const signIn = quiet ? null : await linkOrWhy(first);
      say(readyPage(first.development, stateDir, took, first.toolsFound, signIn, first.isOperatorKnown));
      await untilStopped(first, signals, say);
      leave();
    });
}

/** A link that signs in at the console, or with what people sign in there, or why there is no link. */
export type SignIn = { readonly link: string } | { readonly by: string } | { readonly why: string };

async function linkOrWhy({ development: stack, isOperatorKnown }: Stack): Promise<SignIn> {
  const by = signInWith(stack) ?? (isOperatorKnown ? null : 'a token of GATE_HIL_OPERATORS');
  if (by !== null) return { by };
  try {
    return { link: await signInLink(stack) };
  } catch (error) {
    return { why: errorText(error) };
  }
}

async function untilStopped(stack: Stack, signals: StopSignals, say: (line: string) => void): Promise<void> {
  let failed: unknown;
  const ended = stack.stopped.catch((error: unknown) => {
    failed = error;
  });
  const why = await Promise.race([signals.asked, ended.then(() => 'a part cannot be kept up')]);
  say(`\n${why}: finishing calls under way, then stopping (again: stop at once)`);
  const last = await Promise.race([
    stack.stop().then(() => 'stopped; parked calls stay parked until the next start'),
    signals.again.then(() => stack.stopNow()).then(() => STOPPED_AT_ONCE),
  ]);
  if (failed) {
    leave();
    throw failed;
  }
  say(last);
}

/** The first page for a new user: addresses, and three commands that work as printed. */
export function readyPage(
  stack: DevelopmentFile,
  stateDir: string,
  tookMs: number,
  toolsFound: Stack['toolsFound'] = null,
  signIn: SignIn | null = null,
  isOperatorKnown = true,
): string {
  const here = (file: string) => {
    const path = relative(process.cwd(), file);
    // Paths outside this folder are printed absolute, so that they work anywhere.
    return path === '' || path.startsWith('..') ? file : path;
  };
  // Another terminal does not have this one's GATE_STATE_DIR.
  const gate = here(stateDir) === '.gate' ? gateCommand() : `GATE_STATE_DIR=${here(stateDir)} ${gateCommand()}`;
  const { url, ca } = stack.proxy;
  const curl = (who: { readonly cert: string; readonly key: string }, header: string, body: string) =>
    [
      `  curl -sS --cacert ${here(ca)} --cert ${here(who.cert)} --key ${here(who.key)} ${url}/mcp \\`,
      `    -H 'Content-Type: application/json' ${header}\\`,
      `    -d '{"jsonrpc":"2.0","id":1,${body}}'`,
    ].join('\n');
  const execution = `-H 'X-Gate-Server-Execution-Contract: gate.server-execution/v1' \\
    -H "X-Gate-Idempotency-Id: $(node -p 'crypto.randomUUID()')" `;
  const call = (who: { readonly cert: string; readonly key: string }, tool: string, args: string) =>
    curl(who, execution, `"method":"tools/call","params":{"name":"${tool}","arguments":${args}}`);
  const client = stack.token_issuer
    ? `  An MCP client needs the address ${stack.token_issuer.audience} and a token, ${gate} token dev-agent (docs/how-to/call-from-an-mcp-client.md)\n`
    : '';
  // The persona of support-bot describes only the demonstration tools; dev-agent has none.
  const own = stack.agents['dev-agent'] ?? stack.proxy;
  const first = stack.upstream.demonstration
    ? `An allow, a deny, and a call that waits for you:

${call(stack.proxy, 'list_files', '{}')}

${call(stack.proxy, 'delete_file', '{"path":"notes.txt"}')}

${call(stack.proxy, 'wire_transfer', '{"from":"operating","to":"vendor","amount":25}')}
  ${gate} pending
  ${gate} decide <id> approve`
    : `Your tools through Gate, as dev-agent: the list of them, then a call (put one of their names for TOOL):

${curl(own, '', '"method":"tools/list"')}

${call(own, 'TOOL', '{}')}
${client}  ${gate} pending                a tool that may change something waits until you class it (${gate} tools)
  ${gate} decide <id> approve`;
  return `
Gate is ready (${(tookMs / 1000).toFixed(1)} s, ${stack.mode ?? 'enforce'})${stack.mode === 'observe' ? observed('GATE_MODE') : ''}

  proxy      ${url}/mcp   agents call here, with their certificate${stack.token_issuer ? `, or a token (${gate} token prints one)` : ''}
  console    ${consoleShown(consoleOf(stack), gate, signIn)}
  review     ${stack.hil.url}   for ${gate} pending and decide${isOperatorKnown ? '' : strange(here(join(stateDir, 'dev.json')), gate)}
  ledger     ${stack.ledger.url}
  workflows  ${stack.temporal.pages_url ? `${stack.temporal.pages_url}   sign in with ${gate} history --link` : stack.temporal.address}
  tools      ${stack.upstream.url}${foundShown(toolsFound)}
  all of it  ${here(join(stateDir, 'dev.json'))}
  log        ${here(join(stateDir, 'logs', 'gate.log'))}

${first}

Ctrl-C stops everything.
`;
}

function consoleShown(url: string, gate: string, signIn: SignIn | null): string {
  if (signIn === null) return `${url}   ${gate} console prints a link that signs you in`;
  if ('link' in signIn) return signIn.link;
  if ('by' in signIn) return `${url}   people sign in there with ${signIn.by}`;
  return `${url}${BENEATH}no link that signs you in: ${oneLine(signIn.why)}; ${gate} console asks again`;
}

/** Another line of the same entry. */
const BENEATH = '\n             ';

/** Commands ask with the token of `dev.json`, and every one of them would be refused. */
const strange = (file: string, gate: string): string =>
  `${BENEATH}COMMANDS ARE REFUSED: they ask with the token of ${file}, which is not among your GATE_HIL_OPERATORS;${BENEATH}${addedOrSignedIn(gate)}`;

function foundShown(found: Stack['toolsFound']): string {
  if (found === null) return '';
  if (found.kind === 'mcp') return ` (${oneLine(found.words)})`;
  return found.kind === 'unclear'
    ? `${BENEATH}NOTHING ANSWERS THERE YET: ${oneLine(found.words)}. Is it started? Until it answers, calls are answered with 502`
    : `${BENEATH}NO MCP SERVER ANSWERS THERE: ${oneLine(found.words.split(';')[0] ?? '')}. Is the path right?`;
}
