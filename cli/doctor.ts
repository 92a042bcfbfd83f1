import Table from 'cli-table3';
import type { Command } from 'commander';
import { oneLine } from '../domain/printable.js';
import { json, print } from './output.js';

const SIGNS = { ok: 'ok', warning: 'look', fault: 'FAULT' } as const;

/** `gate doctor`: reports what this machine lacks, before anything starts. */
export function registerDoctor(program: Command): void {
  program
    .command('doctor')
    .description(
      'look for everything `gate start` needs, and change nothing; exits 1 where something keeps it from starting',
    )
    .addOption(json())
    .action(async ({ json: asJson }: { json?: boolean }) => {
      const { examine } = await import('../stack/doctor.js');
      const findings = await examine(process.env);
      const faults = findings.filter(({ state }) => state === 'fault');
      if (faults.length > 0) process.exitCode = 1;
      if (asJson) return print(findings);
      const table = new Table({ style: { head: [], border: [] }, colWidths: [null, null, 90], wordWrap: true });
      for (const { what, state, detail } of findings) table.push([SIGNS[state], what, oneLine(detail)]);
      process.stdout.write(`${table.toString()}\n`);
      process.stdout.write(
        faults.length === 0
          ? 'nothing keeps Gate from starting\n'
          : `${faults.length === 1 ? 'one thing keeps' : `${faults.length} things keep`} Gate from starting: ${faults.map(({ what }) => what).join(', ')}\n`,
      );
    });
}
