import { readFileSync } from 'node:fs';
import type { KeyObject } from 'node:crypto';
import { Option, type Command } from 'commander';
import { GateError } from '../domain/errors.js';
import type { GraduationReport } from '../lite/graduation.js';
import { meantLedger, readable } from './ledger-file.js';
import { oneLine } from '../domain/printable.js';
import { CliError } from './errors.js';
import { unreadable } from './named-file.js';
import { writeOut } from './output.js';
import { ledgerFile } from './target.js';

interface ReportOptions {
  readonly ledger?: string;
  readonly since?: string;
  readonly json?: boolean;
  readonly output?: string;
  readonly signingKey?: string;
}

const NOT_PROVED =
  'NOT PROVED: the report agrees with the key in it, and anybody can write one that does. Name the key you trust: --pubkey <file>';

const graduation = () => import('../lite/graduation.js');

/** `gate report`: counts what enforcement would have changed. `gate report verify` checks a signed report. */
export function registerReport(program: Command): void {
  const report = program
    .command('report')
    .description('from observe to enforce: what would have been denied or parked, counted in calls')
    .addOption(ledgerFile())
    .option('--since <time>', 'RFC 3339, or 30m, 24h, 7d')
    .option('--json', 'print JSON instead of text')
    .option('--output <file>', 'write the JSON there')
    .addOption(
      new Option('--signing-key <file>', 'sign it with this Ed25519 key (PKCS #8 PEM); prints JSON').env(
        'GATE_LITE_SIGNING_KEY_PATH',
      ),
    )
    .action(async ({ ledger: named, since, json, output, signingKey }: ReportOptions) => {
      const ledger = meantLedger(named);
      const { graduationOf, signingKeyOf, signReport, sinceOf } = await graduation();
      const from = since === undefined ? null : sinceOf(since);
      if (since !== undefined && from === null)
        throw new CliError(`--since takes RFC 3339 or <n>m|h|d, not ${since}`, 2);
      const key = signingKey === undefined ? null : keyFrom('--signing-key', signingKey, signingKeyOf);
      const found = await readable(ledger, () => graduationOf(ledger, from));
      const text = `${JSON.stringify(key || output ? signReport(found, key) : found, null, 2)}\n`;
      if (output !== undefined) {
        writeOut(output, text);
        return void process.stderr.write(`${key ? 'signed report' : 'report'} written to ${output}\n`);
      }
      if (json || key) return void process.stdout.write(text);
      await print(found, ledger);
    });

  report
    .command('verify')
    .description('check a signed report; 0 is signed by the key you name, 2 is anything else')
    .requiredOption('--report <file>', 'the report, as `gate report --signing-key` wrote it')
    .option(
      '--pubkey <file>',
      'the key you trust (PEM), from elsewhere; without it nothing is proved: whoever forges a report puts his own in',
    )
    .action(async ({ report: file, pubkey }: { report: string; pubkey?: string }) => {
      const { publicKeyOf, verifyReport } = await graduation();
      const key = pubkey === undefined ? null : keyFrom('--pubkey', pubkey, publicKeyOf);
      let text: string;
      try {
        text = readFileSync(file, 'utf8');
      } catch (error) {
        throw new CliError(`${file} cannot be read: ${unreadable(error)}`, 2);
      }
      try {
        const { key_id, report: found } = verifyReport(text, key);
        if (key === null) {
          process.stdout.write(`${NOT_PROVED}\n`);
          process.exitCode = 2;
          return;
        }
        process.stdout.write(`OK - signature valid (${key_id}); chain_valid=${found.ledger_chain_valid}\n`);
      } catch (error) {
        throw error instanceof GateError ? new CliError(`${file}: ${error.message}`, 2) : error;
      }
    });
}

function keyFrom(flag: string, file: string, read: (pem: string) => KeyObject): KeyObject {
  try {
    return read(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new CliError(`${flag} ${file}: ${error instanceof GateError ? error.message : unreadable(error)}`, 2);
  }
}

async function print(report: GraduationReport, ledger: string): Promise<void> {
  const { default: Table } = await import('cli-table3');
  process.stdout.write(
    `ledger ${oneLine(ledger)}\ncalls ${report.total_requests}: enforce allows ${report.allowed}, denies ${report.would_deny}, parks ${report.would_pend}\n`,
  );
  if (report.by_tool.length > 0) {
    const table = new Table({
      head: ['tool', 'denied', 'parked', 'why'],
      style: { head: [], border: [] },
      wordWrap: true,
    });
    for (const row of report.by_tool)
      table.push([oneLine(row.tool), row.would_deny, row.would_pend, oneLine(row.reasons.join('; ').slice(0, 120))]);
    process.stdout.write(`${table.toString()}\n`);
  }
  process.stdout.write(`${report.recommendation}\n`);
}
