import type { Command } from 'commander';
import { type StopRecord, type StopReleased } from '../contracts/identity.js';
import type { ToolList } from '../contracts/tools.js';
import { nearestNames } from '../domain/nearest-names.js';
import { oneLine } from '../domain/printable.js';
import {
  ALL_TAKEN_BACK,
  allOf,
  askedRelease,
  type Registry,
  registryOf,
  type StandingFlags,
  toldRelease,
  toldStop,
  withPerson,
} from './agent-standing.js';
import { CliError } from './errors.js';
import { gateCommand, print } from './output.js';
import { registerStopReports } from './stop-reports.js';
import { table } from './table.js';

interface StopFlags extends StandingFlags {
  readonly reason: string;
  readonly unlisted?: boolean;
}
/** How far back a call makes a tool known. */
const KNOWN_HOURS = 720;

const STOP_HELP = `
No new call of it is let in, at every proxy within two seconds, whoever asks; and a call that waits does not run, whoever
approves it. What runs already is not torn off. Two people let it go again: gate release.`;

/** `gate contain tool`, `gate contain tenant`: stops a tool for everybody of a tenant, or the tenant whole. */
export function registerStops(contain: Command): void {
  withPerson(contain.command('tool'))
    .description('stop a tool: nobody of the tenant uses it any more')
    .argument('<name>', 'the name as agents are shown it')
    .requiredOption('--reason <text>', 'why; recorded in the ledger')
    .option('--unlisted', 'also a name that no list of the upstream has shown and nobody called: it must be right')
    .addHelpText('after', STOP_HELP)
    .action(async (tool: string, { reason, unlisted, json: asJson, ...given }: StopFlags) => {
      const registry = registryOf(given);
      if (!unlisted) await assertKnown(registry, tool);
      await stop(registry, { tool, reason }, asJson);
    });
  withPerson(contain.command('tenant'))
    .description('stop a tenant whole: none of its agents does anything any more')
    .argument('<name>', 'the tenant, typed out, although only its own can be stopped')
    .requiredOption('--reason <text>', 'why; recorded in the ledger')
    .addHelpText('after', STOP_HELP)
    .action(async (tenant: string, { reason, json: asJson, ...given }: StopFlags) => {
      if (given.tenant !== undefined && given.tenant !== tenant)
        throw new CliError(`which tenant: ${oneLine(tenant)}, or ${oneLine(given.tenant)}?`, 2);
      await stop(registryOf({ ...given, tenant }), { reason }, asJson);
    });
}

async function stop(
  { target, tenant }: Registry,
  body: { readonly tool?: string; readonly reason: string },
  asJson: boolean | undefined,
): Promise<void> {
  const before = await stopOf({ target, tenant }, body.tool ?? null);
  const stopped = await target.ask<StopRecord>('identity', 'POST', '/stops', { tenant, ...body });
  if (asJson) return print(stopped);
  process.stdout.write(toldStop(before, suspendable(stopped)));
}

/** `gate release tool`, `gate release tenant`: two people let go what was stopped. */
export function registerStopReleases(release: Command, help: string): void {
  const action = async (
    tool: string | null,
    { reason, json: asJson, ...given }: StandingFlags & { reason?: string },
  ) => {
    const registry = registryOf(given);
    const before = await stopOf(registry, tool);
    if (before?.state !== 'suspended')
      throw new CliError(
        `${tool === null ? `tenant ${oneLine(registry.tenant)}` : `the tool ${oneLine(tool)}`} is not stopped`,
        4,
      );
    const path = `/stops/${before.id}/release?tenant=${encodeURIComponent(registry.tenant)}`;
    const after = await registry.target.ask<StopReleased>('identity', 'POST', path, {
      ...(reason !== undefined && { reason }),
    });
    if (asJson) return print(after);
    process.stdout.write(toldRelease(before, suspendable(after), after.somebody_else));
  };
  withPerson(release.command('tool'))
    .description('ask for the end of the stop of a tool, or confirm what somebody else asked for')
    .argument('<name>', 'the tool')
    .option('--reason <text>', 'why; recorded in the ledger')
    .addHelpText('after', help)
    .action(action);
  withPerson(release.command('tenant'))
    .description('ask for the end of the stop of a tenant, or confirm what somebody else asked for')
    .argument('<name>', 'the tenant')
    .option('--reason <text>', 'why; recorded in the ledger')
    .addHelpText('after', help)
    .action((tenant: string, given: StandingFlags & { reason?: string }) => action(null, { ...given, tenant }));
}

/** `gate stops`: the tools and tenants that are stopped. */
export function registerStopList(program: Command): void {
  const stops = program.command('stops');
  registerStopReports(stops);
  withPerson(stops)
    .description('the tools that are stopped, and whether the tenant is')
    .option('--all', 'also those that were let go again')
    .action(async ({ all, json: asJson, ...given }: StandingFlags & { all?: boolean }) => {
      const registry = registryOf(given);
      const stops = await stopsOf(registry, all ? undefined : 'suspended');
      if (asJson) return print(stops);
      if (stops.length === 0)
        return void process.stdout.write(
          `(nothing of ${oneLine(registry.tenant)} is stopped; agents: ${gateCommand()} agents)\n`,
        );
      const head = ['what', 'state', 'since', 'by', 'why'].map((name) => ({ head: name, whole: name === 'what' }));
      process.stdout.write(`${table(head, stops.map(rowOf))}\n`);
    });
}

const stopsOf = (
  { target, tenant }: Registry,
  state: StopRecord['state'] | undefined,
): Promise<readonly StopRecord[]> => allOf(target.each('/stops', { query: { tenant, ...(state && { state }) } }));

const stopOf = async (registry: Registry, tool: string | null): Promise<StopRecord | undefined> =>
  (await stopsOf(registry, 'suspended')).find((one) => one.tool === tool);

/** So that a slip never looks like a stop. */
async function assertKnown({ target, tenant }: Registry, tool: string): Promise<void> {
  const { tools } = await target.ask<ToolList>('proxy', 'GET', `/tools?hours=${KNOWN_HOURS}`);
  if (tools.some((one) => one.tool === tool)) return;
  const near = nearestNames(
    tool,
    tools.map((one) => one.tool),
  );
  throw new CliError(
    `unknown_tool: no tool ${oneLine(tool)} of ${oneLine(tenant)} was listed or called in 30 days${near.length > 0 ? `; did you mean ${near.map(oneLine).join(', ')}?` : '.'} If the name is right all the same, add --unlisted`,
    4,
  );
}

const suspendable = ({ tenant, tool, changed_at: at, changed_by: by, release, report_id: report }: StopRecord) => ({
  name: oneLine(tool === null ? `tenant ${tenant}` : `the tool ${tool} of ${tenant}`),
  typed: tool === null ? `tenant ${oneLine(tenant)}` : `tool ${JSON.stringify(oneLine(tool))}`,
  at,
  by,
  release,
  report,
  certificates: tool === null ? ALL_TAKEN_BACK : null,
});

function rowOf(stop: StopRecord): readonly string[] {
  const asked = stop.release ? `; ${askedRelease(stop.release)}` : '';
  return [
    stop.tool === null ? `tenant ${stop.tenant}` : stop.tool,
    `${stop.state}${asked}`,
    stop.changed_at,
    stop.changed_by,
    stop.reason ?? '',
  ];
}
