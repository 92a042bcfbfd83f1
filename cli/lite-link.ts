import type { Command } from 'commander';
import { decideToken, endpoint } from './target.js';
import { type LiteFlags, liteHere, liteTarget } from './lite-target.js';

/** `gate lite link`: prints an address that signs an operator in at the console of a running lite, once. */
export function registerLiteLink(lite: Command): void {
  lite
    .command('link')
    .description('print an address that signs you in at the console of a running gate lite, once')
    .addOption(endpoint())
    .addOption(decideToken())
    .action(async (given: LiteFlags) => {
      const target = liteTarget({ ...given, endpoint: given.endpoint ?? liteHere() });
      const { path, expires_in_secs: secs } = await target.ask<{ path: string; expires_in_secs: number }>(
        'lite',
        'POST',
        '/auth/links',
      );
      process.stdout.write(`${new URL(path, target.url).href}\n`);
      process.stderr.write(`good once, for ${Math.round(secs / 60)} minutes\n`);
    });
}
