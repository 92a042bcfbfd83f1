import type { Command } from 'commander';
import { asLite, decideToken, endpoint, type LiteTarget, liteAddress } from './target.js';

/** `gate lite link`: prints an address that signs an operator in to the page of a running lite, once. */
export function registerLiteLink(lite: Command): void {
  lite
    .command('link')
    .description('print an address that signs you in at the page of a running gate lite, once')
    .addOption(endpoint())
    .addOption(decideToken())
    .action(async (given: LiteTarget) => {
      const url = liteAddress(given);
      const { path, expires_in_secs: secs } = await asLite<{ path: string; expires_in_secs: number }>(
        { ...given, endpoint: url },
        'POST',
        '/login/link',
      );
      process.stdout.write(`${new URL(path, url).href}\n`);
      process.stderr.write(`good once, for ${Math.round(secs / 60)} minutes\n`);
    });
}
