import Table from 'cli-table3';
import type { Narrative } from '../contracts/ledger-reports.js';
import { oneLine, printable } from '../domain/printable.js';

const EIGHTHS = '▁▂▃▄▅▆▇█';

/** A narrative as a page to read: the headline, the sentences with the rows they rest on, what is notable. */
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
