import Table from 'cli-table3';
import { Option, type Command } from 'commander';
import { type Narrative, type NarrativeWindow, narrativeWindow } from '../contracts/ledger-reports.js';
import { nameInPath } from '../domain/name-in-path.js';
import { oneLine, printable } from '../domain/printable.js';
import { json, print } from './output.js';
import { ledgerFile, ledgerTarget } from './target.js';

const EIGHTHS = '▁▂▃▄▅▆▇█';

/** A narrative as text: the headline, the sentences with references to rows, and notable rows. */
export function narrativePage({ headline, story, sparkline, notable }: Narrative): string {
  const most = Math.max(...sparkline.points.map((point) => point.total));
  const line = sparkline.points
    .map(({ total }) => (total === 0 ? '·' : EIGHTHS[Math.ceil((total * 8) / most) - 1]))
    .join('');
  const lines = [oneLine(headline)];
  if (most > 0) lines.push(`${line}  requests by ${sparkline.bucket}, at most ${most}`);
  if (story.length > 0) lines.push('');
  for (const { text, seqs } of story)
    lines.push(`- ${printable(text)}${seqs.length > 0 ? ` [${seqs.map((seq) => `#${seq}`).join(' ')}]` : ''}`);
  if (notable.length > 0) {
    const table = new Table({ head: ['seq', 'time', 'what'], style: { head: [], border: [] }, wordWrap: true });
    for (const row of notable) table.push([row.seq, row.at, oneLine(row.summary)]);
    lines.push('', table.toString());
  }
  return `${lines.join('\n')}\n`;
}

/** Where the ledger tells it, also of an agent whose name no path can hold. */
export function narrativePath(agentId: string, window: NarrativeWindow): string {
  const { part, query } = nameInPath(agentId);
  return `/audit/agents/${part}/narrative?${new URLSearchParams({ ...(query && { agent_id: query }), window }).toString()}`;
}

/** `gate narrative`: prints what an agent did recently. */
export function registerNarrative(program: Command): void {
  program
    .command('narrative')
    .description('tell what an agent did lately, with the rows the story rests on')
    .argument('<agent>', 'the name of the agent')
    .addOption(
      new Option('--window <window>', 'how far back').choices(narrativeWindow.options).default('7d' as NarrativeWindow),
    )
    .addOption(ledgerFile())
    .addOption(json())
    .action(
      async (
        agentId: string,
        { ledger: given, window, json: asJson }: { ledger?: string; window: NarrativeWindow; json?: boolean },
      ) => {
        const target = ledgerTarget(given);
        const told =
          target.kind === 'file'
            ? await target.read(async ({ db }) => {
                const { narrativeOver } = await import('../adapters/evidence/reports/reports.js');
                return narrativeOver(db, Date.now)({ agentId, window });
              })
            : await target.ask<Narrative>('ledger', 'GET', narrativePath(agentId, window));
        if (asJson) print(told);
        else process.stdout.write(narrativePage(told));
      },
    );
}
