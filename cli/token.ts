import { createPrivateKey, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { isLabel } from '../domain/identity/spiffe.js';
import type { DevelopmentFile } from '../stack/development-file.js';
import { CliError } from './errors.js';
import { developmentFile } from './stack-target.js';

const HOUR_SECS = 3_600;
const LONGEST_HOURS = 720;

/** `gate token`: an access token of this stack's development issuer, for a client that shows no certificate. */
export function registerToken(program: Command): void {
  program
    .command('token')
    .description('print an access token for an agent of the running stack, for clients without a certificate')
    .argument('[agent]', 'who the token says calls; without it the agent that the first page shows calls of', nameOf)
    .option('--tenant <tenant>', 'whose agent that is', nameOf, 'acme')
    .option('--hours <hours>', `how long it counts, ${LONGEST_HOURS} at most`, hoursOf, 8)
    .action(async (agent: string | undefined, { tenant, hours }: { tenant: string; hours: number }) => {
      const stack = developmentFile(['token_issuer', 'upstream', 'agents']);
      const shown = stack.upstream.demonstration ? 'support-bot' : 'dev-agent';
      const strange = agent === undefined ? null : strangeAgent(stack, tenant, agent);
      process.stdout.write(`${await accessToken(stack, { tenant, agent: agent ?? shown, hours })}\n`);
      if (strange !== null) process.stderr.write(`gate: ${strange}\n`);
    });
}

/** What is said to somebody who may have mistyped a name; `null` where the start made an agent of this name. */
export function strangeAgent(
  { agents }: Pick<DevelopmentFile, 'agents'>,
  tenant: string,
  agent: string,
): string | null {
  const made = Object.entries(agents)
    .filter(([, { spiffe }]) => spiffe.includes(`/tenant/${tenant}/`))
    .map(([name]) => name);
  if (made.includes(agent)) return null;
  return `the start made no agent ${agent} of ${tenant}${made.length > 0 ? ` (it made ${made.join(', ')})` : ''}: with this token Gate takes its caller for one more agent, which has no persona unless you wrote one`;
}

/** Throws CliError where the stack takes tokens of another issuer. */
export async function accessToken(
  { token_issuer: by }: Pick<DevelopmentFile, 'token_issuer'>,
  { tenant, agent, hours }: { readonly tenant: string; readonly agent: string; readonly hours: number },
): Promise<string> {
  if (!by)
    throw new CliError('this stack takes the tokens of the issuer that GATE_PROXY_OAUTH_ISSUER names: ask that one', 1);
  const { SignJWT } = await import('jose');
  return new SignJWT({ tenant, client_id: agent })
    .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid: by.key_id })
    .setIssuer(by.issuer)
    .setAudience(by.audience)
    .setSubject(agent)
    .setJti(randomUUID())
    .setIssuedAt()
    .setExpirationTime(`${hours * HOUR_SECS} s`)
    .sign(createPrivateKey(readFileSync(by.key, 'utf8')));
}

function nameOf(text: string): string {
  if (isLabel(text)) return text;
  throw new InvalidArgumentError('a name is 1 to 63 characters of A-Z a-z 0-9 . _ -');
}

function hoursOf(text: string): number {
  const hours = Number(text);
  if (hours > 0 && hours <= LONGEST_HOURS) return hours;
  throw new InvalidArgumentError(`must be a number of hours, more than 0 and at most ${LONGEST_HOURS}`);
}
