import type { Command } from 'commander';
import { oneLine } from '../domain/printable.js';
import { errorText } from '../domain/errors.js';
import { revokeToken } from './device-sign-in.js';
import { CliError } from './errors.js';
import { forget, signInHere } from './kept-sign-in.js';
import { consoleAt } from './target.js';

/** `gate logout`: ends what `gate login` began, here and at the console. */
export function registerLogout(program: Command): void {
  program
    .command('logout')
    .description('end the sign-in of this command line, here and at the console')
    .addOption(consoleAt())
    .action(async ({ console: named }: { console?: string }) => {
      const kept = signInHere(named);
      if (kept === null) throw new CliError('nobody is signed in here', 4);
      forget(kept.console);
      try {
        await revokeToken(kept.console, kept.token);
      } catch (error) {
        throw new CliError(
          `forgotten here, but the console was not told: end it on its page /me, or it ends at ${kept.ends_at} (${errorText(error)})`,
          5,
        );
      }
      process.stdout.write(`${oneLine(`signed out at ${kept.console}: ${kept.subject}`)}\n`);
    });
}
