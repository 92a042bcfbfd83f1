import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { KeptStopReport, StopReportAnswer } from '../contracts/identity.js';
import { stopReportText } from '../domain/identity/stop-reports.js';
import { errorText } from '../domain/errors.js';
import { oneLine } from '../domain/printable.js';
import { isUuid } from '../domain/uuid.js';
import { type Registry, registryOf, type StandingFlags, withPerson } from './agent-standing.js';
import { CliError } from './errors.js';
import { gateCommand, print } from './output.js';
import { table } from './table.js';

interface ReportFlags extends StandingFlags {
  readonly out?: string;
}

/** Both stand at `gate stops` too, which takes them where they are typed behind its own name. */
interface Typed {
  optsWithGlobals(): ReportFlags;
}

/** `gate stops report`: what was running when something was stopped. */
export function registerStopReports(stops: Command): void {
  withPerson(stops.command('report'))
    .description('the signed report of what was running at a stop; without an id, the reports that there are')
    .argument('[id]', 'the report, as `gate contain` and this list name it')
    .option(
      '--out <file>',
      'write it into this file, to be checked offline: gate verify --bundle <file> --key <ca.crt>',
    )
    .action(async (id: string | undefined, _own: ReportFlags, command: Typed) => {
      const { out, json: asJson, ...given } = command.optsWithGlobals();
      const registry = registryOf(given);
      if (id === undefined) return listed(registry, asJson);
      if (!isUuid(id))
        throw new CliError(`${oneLine(id)} is no id of a report; \`${gateCommand()} stops report\` lists them`, 2);
      const { report, state } = await registry.target.ask<StopReportAnswer>(
        'identity',
        'GET',
        `/stops/reports/${id}?tenant=${encodeURIComponent(registry.tenant)}`,
      );
      if (report === null)
        throw new CliError(
          state === 'due'
            ? 'no proxy has said yet what was running: a few seconds after the stop one does, unless none runs that asks identity (GATE_PROXY_REVOCATIONS)'
            : 'the certificates of its agents are still being taken back; ask again in a moment',
          4,
        );
      if (out === undefined) return print(report);
      try {
        writeFileSync(out, `${stopReportText(report)}\n`, { flag: 'wx', mode: 0o600 });
      } catch (error) {
        throw new CliError(`${oneLine(out)} cannot be written: ${errorText(error)}`);
      }
      process.stdout.write(`${oneLine(out)}: ${countsTold(report.counts)}\n`);
      for (const { agent, rows } of report.not_taken_back ?? [])
        process.stdout.write(
          `not taken back${agent === '' ? '' : ` of ${oneLine(agent)}`}: ${oneLine(rows.join('; '))}\n`,
        );
    });
}

async function listed({ target, tenant }: Registry, asJson: boolean | undefined): Promise<void> {
  const query = new URLSearchParams({ tenant });
  const reports = await target.ask<readonly KeptStopReport[]>('identity', 'GET', `/stops/reports?${query.toString()}`);
  if (asJson) return print(reports);
  if (reports.length === 0) return void process.stdout.write(`(nothing of ${oneLine(tenant)} was ever stopped)\n`);
  const head = ['report', 'what', 'stopped', 'by', 'certificates', 'state'].map((name) => ({
    head: name,
    whole: name === 'report' || name === 'what',
  }));
  process.stdout.write(`${table(head, reports.map(rowOf))}\n`);
}

const rowOf = ({ id, tenant, stopped, ...report }: KeptStopReport): readonly string[] => [
  id,
  stopped.kind === 'tenant' ? `tenant ${tenant}` : `${stopped.kind} ${stopped.name}`,
  report.stopped_at,
  report.stopped_by,
  `${report.certificates_revoked} revoked`,
  report.state,
];

const countsTold = ({
  running,
  parked,
  judged,
  started,
  left_out: left,
}: NonNullable<StopReportAnswer['report']>['counts']) =>
  `${running} running, ${parked} parked, ${judged} being judged, ${started} started meanwhile${left > 0 ? `, ${left} not listed` : ''}`;
