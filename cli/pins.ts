import type { Command } from 'commander';
import type { PinDiff, PinnedAgents } from '../contracts/tool-pins.js';
import { sha256Hex } from '../domain/crypto/digest.js';
import { oneLine } from '../domain/printable.js';
import { clipped } from '../domain/text.js';
import { CliError } from './errors.js';
import { readable, withLock } from './ledger-file.js';
import { type Asked, askProxy, withTarget } from './operators-command.js';
import { gateCommand, json, print } from './output.js';
import type { LiteFlags } from './lite-target.js';
import { decideToken, endpoint, ledgerFile, ledgerPath, operatorTarget } from './target.js';

interface AskedOfPins extends Asked {
  readonly reason?: string;
}

/** The proxy keeps the pins in the full edition; in lite its one process does. An agent may be typed with its tenant, as the list prints it. */
function ask<T>(given: LiteFlags, agent: string, method: string, path: string, body?: object): Promise<T> {
  const target = operatorTarget(given);
  const [tenant, name] = agent.split('/');
  const ofTenant =
    target.kind === 'lite' && given.tenant === undefined && name !== undefined ? { ...given, tenant } : given;
  return askProxy<T>(ofTenant as LiteFlags, method, path, body);
}

/** As it is typed in this folder, at the same lite process. */
export const acceptCommand = (agent: string, shown: string, at: string | undefined): string =>
  `${gateCommand()} pins accept ${oneLine(agent)} --shown ${shown}${at === undefined ? '' : ` --endpoint ${oneLine(at)}`}`;

/** `gate pins`: lists pinned tools, shows how they differ now, and accepts or forgets them. */
export function registerPins(program: Command): void {
  const pins = program
    .command('pins')
    .description('list whose tools are pinned; see what differs, accept it, or let the pins go');
  pins
    .command('list', { isDefault: true })
    .description(
      "whose tools are pinned; in a lite file --forget accepts an agent's new definitions: its next list is pinned",
    )
    .addOption(ledgerFile())
    .addOption(endpoint())
    .addOption(decideToken())
    .option('--forget <tenant/agent>', 'in a lite file: stop the server first; leaves a row in the ledger')
    .addOption(json())
    .action(async ({ ledger, forget, json: asJson, ...given }: AskedOfPins & { ledger?: string; forget?: string }) => {
      const file = given.endpoint === undefined ? ledgerPath(ledger) : null;
      if (forget !== undefined) return forgetInFile(file, forget);
      const owners =
        file === null
          ? (await askProxy<PinnedAgents>(given, 'GET', '/pins')).agents
          : await readable(file, async () => (await import('../lite/tool-pins.js')).pinOwners(file));
      if (asJson) return print(owners);
      if (owners.length === 0) return void process.stdout.write('(no tools are pinned)\n');
      for (const { tenant, agent, tools, since } of owners)
        process.stdout.write(`${oneLine(`${tenant}/${agent}`)}  ${tools} tools since ${since}\n`);
    });

  withTarget(pins.command('diff'), 'agent')
    .description("how what an agent's tools say now differs from what it saw first")
    .argument('<agent>')
    .action(async (agent: string, { json: asJson, ...given }: AskedOfPins) => {
      const diff = await diffOf(given, agent);
      if (asJson) return print(diff);
      if (diff.tampered) process.stdout.write('the pins were not written by Gate: let them go\n');
      if (diff.tools.length === 0) return void process.stdout.write('(nothing differs)\n');
      for (const {
        change,
        tool,
        pinned_sha256: pinned,
        seen_sha256: seen,
        pinned_definition: before,
        seen_definition: after,
      } of diff.tools)
        process.stdout.write(
          `${change.padEnd(8)} ${oneLine(tool)}  ${pinned?.slice(0, 12) ?? 'none'} -> ${seen?.slice(0, 12) ?? 'none'}\n${changesIn(before, after)}`,
        );
      process.stdout.write(`to accept exactly this: ${acceptCommand(agent, shownDigest(diff), given.endpoint)}\n`);
    });

  withTarget(pins.command('accept'), 'agent')
    .description('pin what `gate pins diff` showed: of these tools, or of all; leaves a row in the ledger')
    .argument('<agent>')
    .argument('[tools...]')
    .requiredOption(
      '--shown <digest>',
      'what `gate pins diff` printed: nothing is accepted if something else differs by now',
    )
    .option('--reason <text>', 'recorded with it')
    .action(
      async (
        agent: string,
        tools: string[],
        { shown, reason, json: asJson, ...given }: AskedOfPins & { shown: string },
      ) => {
        const diff = await diffOf(given, agent);
        if (shownDigest(diff) !== shown)
          throw new CliError(
            `pins_changed_meanwhile: what differs is not what was shown; \`gate pins diff ${oneLine(agent)}\` shows it now`,
            4,
          );
        const missing = tools.find((name) => !diff.tools.some(({ tool }) => tool === name));
        if (missing !== undefined)
          throw new CliError(`${oneLine(missing)} of ${oneLine(agent)} does not differ from what is pinned`);
        const named = diff.tools.filter(({ tool }) => tools.length === 0 || tools.includes(tool));
        if (named.length === 0) throw new CliError(`nothing of ${oneLine(agent)} differs from what is pinned`);
        const said = await ask<{ accepted: string[] }>(given, agent, 'POST', '/pins/accept', {
          agent: nameOf(agent),
          seen: Object.fromEntries(named.map(({ tool, seen_sha256 }) => [tool, seen_sha256])),
          ...(reason && { reason }),
        });
        if (asJson) return print(said);
        process.stdout.write(`accepted for ${oneLine(agent)}: ${said.accepted.map(oneLine).join(', ')}\n`);
      },
    );

  withTarget(pins.command('forget'), 'agent')
    .description("let an agent's pins go: its next list is pinned; leaves a row in the ledger")
    .argument('<agent>')
    .option('--reason <text>', 'recorded with it')
    .action(async (agent: string, { reason, json: asJson, ...given }: AskedOfPins) => {
      const said = await ask<{ forgotten: number }>(given, agent, 'POST', '/pins/forget', {
        agent: nameOf(agent),
        ...(reason && { reason }),
      });
      if (asJson) return print(said);
      if (said.forgotten === 0) throw new CliError(`no tools of ${oneLine(agent)} are pinned`);
      process.stdout.write(`forgot ${said.forgotten} tools of ${oneLine(agent)}; the next list is pinned\n`);
    });
}

/** A digest, shortened so that a person can copy it. */
const shownDigest = ({ tools }: PinDiff): string =>
  sha256Hex(
    JSON.stringify(
      tools.map(({ tool, change, pinned_sha256, seen_sha256 }) => [tool, change, pinned_sha256, seen_sha256]),
    ),
  ).slice(0, 16);

const SHOWN = 400;

/** Each member of a definition that differs, as it was and as it is, on a line of its own. */
function changesIn(before: string | null, after: string | null): string {
  const membersOf = (text: string | null) => (text === null ? {} : (JSON.parse(text) as Record<string, unknown>));
  const [was, is] = [membersOf(before), membersOf(after)];
  const line = (sign: string, name: string, value: unknown) =>
    value === undefined ? '' : `    ${sign} ${oneLine(clipped(`${name}: ${JSON.stringify(value)}`, SHOWN))}\n`;
  return [...new Set([...Object.keys(was), ...Object.keys(is)])]
    .toSorted()
    .filter((name) => JSON.stringify(was[name]) !== JSON.stringify(is[name]))
    .map((name) => line('-', name, was[name]) + line('+', name, is[name]))
    .join('');
}

async function forgetInFile(file: string | null, forget: string): Promise<void> {
  const [tenant, agent, more] = forget.split('/');
  if (!tenant || !agent || more !== undefined) throw new CliError('--forget takes tenant/agent', 2);
  if (file === null) throw new CliError(`of the running stack: gate pins forget ${oneLine(agent)}`, 2);
  const { forgetPins } = await import('../lite/tool-pins.js');
  const forgotten = await readable(file, () => withLock(file, () => forgetPins(file, { tenant, agent })));
  if (forgotten === 0) throw new CliError(`no tools of ${oneLine(forget)} are pinned`);
  process.stdout.write(`forgot ${forgotten} tools of ${oneLine(forget)}; the next list is pinned\n`);
}

/** The agent's name, whether it was typed alone or with its tenant as the list prints it. */
const nameOf = (agent: string): string => agent.split('/').at(-1) ?? agent;

/** What differs for an agent. Throws when nothing is pinned for it, because "no differences" would mislead. */
async function diffOf(given: LiteFlags, agent: string): Promise<PinDiff> {
  const { agents } = await ask<PinnedAgents>(given, agent, 'GET', '/pins');
  if (!agents.some(({ tenant, agent: name }) => agent === name || agent === `${tenant}/${name}`))
    throw new CliError(`no tools of ${oneLine(agent)} are pinned; \`gate pins\` lists whose are`, 4);
  return ask<PinDiff>(given, agent, 'GET', `/pins/${encodeURIComponent(nameOf(agent))}`);
}
