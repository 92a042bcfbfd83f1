import type { Command } from 'commander';
import { CliError } from './errors.js';
import { ledgerOption, readable, withLock } from './ledger-file.js';

/** `gate pins`: whose tools are pinned, and to forget them. */
export function registerPins(program: Command): void {
  program
    .command('pins')
    .description("list whose tools are pinned; --forget accepts an agent's new definitions: its next list is pinned")
    .addOption(ledgerOption())
    .option('--forget <tenant/agent>', 'stop the server first; leaves a row in the ledger')
    .option('--json', 'print JSON instead of text')
    .action(async ({ ledger, forget, json }: { ledger: string; forget?: string; json?: boolean }) => {
      const { forgetPins, pinOwners } = await import('../lite/tool-pins.js');
      if (forget !== undefined) {
        const [tenant, agent, more] = forget.split('/');
        if (!tenant || !agent || more !== undefined) throw new CliError('--forget takes tenant/agent', 2);
        const forgotten = await readable(ledger, () => withLock(ledger, () => forgetPins(ledger, { tenant, agent })));
        if (forgotten === 0) throw new CliError(`no tools of ${forget} are pinned`);
        return void process.stdout.write(`forgot ${forgotten} tools of ${forget}; the next list is pinned\n`);
      }
      const owners = await readable(ledger, () => pinOwners(ledger));
      if (json) return void process.stdout.write(`${JSON.stringify(owners, null, 2)}\n`);
      if (owners.length === 0) return void process.stdout.write('(no tools are pinned)\n');
      for (const { tenant, agent, tools, since } of owners)
        process.stdout.write(`${tenant}/${agent}  ${tools} tools since ${since}\n`);
    });
}
