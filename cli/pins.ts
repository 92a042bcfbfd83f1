import type { Command } from 'commander';
import type { PinDiff, PinnedAgents } from '../contracts/tool-pins.js';
import { sha256Hex } from '../domain/crypto/digest.js';
import { oneLine } from '../domain/printable.js';
import { CliError } from './errors.js';
import { readable, withLock } from './ledger-file.js';
import { json, print } from './output.js';
import { ledgerFile, ledgerPath } from './target.js';
import { stackTarget } from './stack-target.js';

/** Pins of the full edition are the running stack's. */
const stack = stackTarget();

interface Asked {
  readonly json?: boolean;
  readonly reason?: string;
}

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
    .option('--forget <tenant/agent>', 'in a lite file: stop the server first; leaves a row in the ledger')
    .addOption(json())
    .action(async ({ ledger, forget, json: asJson }: Asked & { ledger?: string; forget?: string }) => {
      const file = ledgerPath(ledger);
      if (forget !== undefined) return forgetInFile(file, forget);
      const owners =
        file === null
          ? (await stack.ask<PinnedAgents>('proxy', 'GET', '/pins')).agents
          : await readable(file, async () => (await import('../lite/tool-pins.js')).pinOwners(file));
      if (asJson) return print(owners);
      if (owners.length === 0) return void process.stdout.write('(no tools are pinned)\n');
      for (const { tenant, agent, tools, since } of owners)
        process.stdout.write(`${oneLine(`${tenant}/${agent}`)}  ${tools} tools since ${since}\n`);
    });

  pins
    .command('diff')
    .description("how what an agent's tools say now differs from what it saw first")
    .argument('<agent>')
    .addOption(json())
    .action(async (agent: string, { json: asJson }: Asked) => {
      const diff = await diffOf(agent);
      if (asJson) return print(diff);
      if (diff.tampered) process.stdout.write('the pins were not written by Gate: let them go\n');
      if (diff.tools.length === 0) return void process.stdout.write('(nothing differs)\n');
      for (const { change, tool, pinned_sha256: pinned, seen_sha256: seen } of diff.tools)
        process.stdout.write(
          `${change.padEnd(8)} ${oneLine(tool)}  ${pinned?.slice(0, 12) ?? 'none'} -> ${seen?.slice(0, 12) ?? 'none'}\n`,
        );
      process.stdout.write(`to accept exactly this: gate pins accept ${oneLine(agent)} --shown ${shownDigest(diff)}\n`);
    });

  pins
    .command('accept')
    .description('pin what `gate pins diff` showed: of these tools, or of all; leaves a row in the ledger')
    .argument('<agent>')
    .argument('[tools...]')
    .requiredOption(
      '--shown <digest>',
      'what `gate pins diff` printed: nothing is accepted if something else differs by now',
    )
    .option('--reason <text>', 'recorded with it')
    .addOption(json())
    .action(async (agent: string, tools: string[], { shown, reason, json: asJson }: Asked & { shown: string }) => {
      const diff = await diffOf(agent);
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
      const said = await stack.ask<{ accepted: string[] }>('proxy', 'POST', '/pins/accept', {
        agent: nameOf(agent),
        seen: Object.fromEntries(named.map(({ tool, seen_sha256 }) => [tool, seen_sha256])),
        ...(reason && { reason }),
      });
      if (asJson) return print(said);
      process.stdout.write(`accepted for ${oneLine(agent)}: ${said.accepted.map(oneLine).join(', ')}\n`);
    });

  pins
    .command('forget')
    .description("let an agent's pins go: its next list is pinned; leaves a row in the ledger")
    .argument('<agent>')
    .option('--reason <text>', 'recorded with it')
    .addOption(json())
    .action(async (agent: string, { reason, json: asJson }: Asked) => {
      const said = await stack.ask<{ forgotten: number }>('proxy', 'POST', '/pins/forget', {
        agent: nameOf(agent),
        ...(reason && { reason }),
      });
      if (asJson) return print(said);
      if (said.forgotten === 0) throw new CliError(`no tools of ${oneLine(agent)} are pinned`);
      process.stdout.write(`forgot ${said.forgotten} tools of ${oneLine(agent)}; the next list is pinned\n`);
    });
}

/** A digest, shortened so that a person can copy it. */
const shownDigest = ({ tools }: PinDiff): string => sha256Hex(JSON.stringify(tools)).slice(0, 16);

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
async function diffOf(agent: string): Promise<PinDiff> {
  const { agents } = await stack.ask<PinnedAgents>('proxy', 'GET', '/pins');
  if (!agents.some(({ tenant, agent: name }) => agent === name || agent === `${tenant}/${name}`))
    throw new CliError(`no tools of ${oneLine(agent)} are pinned; \`gate pins\` lists whose are`, 4);
  return stack.ask<PinDiff>('proxy', 'GET', `/pins/${encodeURIComponent(nameOf(agent))}`);
}
