import type { Command } from 'commander';
import { oneLine } from '../domain/printable.js';
import { CliError } from './errors.js';
import { gateCommand, json, print } from './output.js';
import { type ConsoleFlags, consoleAt, endpoint } from './target.js';

/** `gate whoami`: as whom the command line acts, asked of the console now. */
export function registerWhoami(program: Command): void {
  program
    .command('whoami')
    .description('say as whom pending, decide and approvals act here')
    .addOption(consoleAt())
    .addOption(endpoint())
    .addOption(json())
    .action(async ({ json: asJson, ...given }: { endpoint?: string; json?: boolean } & ConsoleFlags) => {
      const { reviewTarget } = await import('./review-target.js');
      const target = reviewTarget(given);
      if (target.kind !== 'person')
        throw new CliError(
          `nobody is signed in: commands act here ${target.kind === 'lite' ? `at ${target.url}, by its decide token` : 'by the token of the operator of this stack'}; ${gateCommand()} login signs you in at a console`,
          3,
        );
      const { subject, tenant, role, mode, ends_at } = await target.me();
      if (asJson) return print({ console: target.console, subject, tenant, role, mode, ends_at });
      process.stdout.write(`${oneLine(`${subject} (${role}, ${tenant}) at ${target.console}`)} until ${ends_at}\n`);
    });
}
