import type { Command } from 'commander';
import { z } from 'zod';
import type { DevelopmentFile } from '../stack/development-file.js';
import { why } from './answers.js';
import { CliError } from './errors.js';
import { consoleOf, developmentFile, operatorToken, refusedToken } from './stack-target.js';

const linkAnswer = z.object({ path: z.string().startsWith('/login?link='), expires_in_secs: z.number() });

/** `gate console`: a link that signs in at the console once, so that no token is typed into a browser. */
export function registerConsole(program: Command): void {
  program
    .command('console')
    .description('print a link that signs you in at the console of the running stack, once')
    .option('--as <operator>', 'sign in as this operator of the stack, instead of its first one')
    .action(async ({ as }: { as?: string }) => {
      process.stdout.write(`${await signInLink(developmentFile(['console', 'operator_token']), as)}\n`);
    });
}

/** With what people sign in at the console of a stack; `null` by an operator's token, for which there are links. */
export function signInWith({ console: { sign_in: mode } }: Pick<DevelopmentFile, 'console'>): string | null {
  if (mode === undefined || mode === 'operator-token') return null;
  return {
    'basic-admin': 'a name and a password',
    oidc: 'an OpenID provider',
    saml: 'a SAML identity provider',
    'operator-mtls': 'a certificate in the browser',
    webauthn: 'a passkey',
  }[mode];
}

/** The address of a new link. Throws CliError where the console does not answer, or has no links. */
export async function signInLink(stack: DevelopmentFile, operator?: string): Promise<string> {
  const { url } = stack.console;
  const by = signInWith(stack);
  if (by !== null)
    throw new CliError(
      `people sign in at this console with ${by}, and there are no links: open ${consoleOf(stack)}`,
      1,
    );
  const authorization = `Bearer ${operatorToken(stack, operator)}`;
  let response: Response;
  try {
    response = await fetch(new URL('/auth/links', url), { method: 'POST', headers: { authorization } });
  } catch (error) {
    throw new CliError(`the console does not answer at ${url} (${await why(error)}); is Gate started?`, 5);
  }
  if (response.status === 404)
    throw new CliError(`this console signs people in another way than by a token: open ${consoleOf(stack)}`, 1);
  const text = await response.text();
  if (!response.ok) throw await refusedToken(response.status, text);
  return new URL(linkAnswer.parse(JSON.parse(text)).path, consoleOf(stack)).href;
}
