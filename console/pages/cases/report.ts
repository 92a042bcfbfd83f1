import type { CaseWithEvidence } from '../../../contracts/cases.js';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import { oneLine } from '../../../domain/printable.js';

/** Names of one kind that are listed, and events of the timeline. */
const LISTED = 20;

/**
 * One page about a case, in Markdown. It is made of counts alone, anew each time it is asked for, and is no evidence: that is the rows, which
 * can be proved. What people and agents wrote stands in it as text, never as markup.
 */
export function caseReport({ case: of, evidence }: CaseWithEvidence, madeAt: string): string {
  return [
    `# ${text(of.title)}`,
    '',
    `Made ${madeAt} from the rows as they were then. This page is no evidence: the rows of the ledger are, and each can be proved.`,
    '',
    '| | |',
    '|---|---|',
    `| Case | ${of.id} |`,
    `| Status | ${of.status} |`,
    `| Severity | ${of.severity ?? 'not classified'} |`,
    `| To be reported by | ${of.regulatory_deadline ?? 'no deadline yet'} |`,
    `| Opened | ${of.created_at} |`,
    `| Agents | ${of.agent_ids.length} |`,
    `| Calls | ${of.correlation_ids.length} |`,
    '',
    '## What the ledger has',
    '',
    ...ledgerLines(evidence),
    '',
    '## What was done',
    '',
    ...of.timeline
      .slice(-LISTED)
      .map(
        ({ at, kind, actor, detail }) =>
          `- ${at} ${text(kind)} by ${text(actor)}${detail === '' ? '' : `: ${text(detail)}`}`,
      ),
    ...(of.timeline.length > LISTED ? [`- and ${of.timeline.length - LISTED} before these`] : []),
    '',
  ].join('\n');
}

function ledgerLines(rows: readonly LedgerEntry[]): readonly string[] {
  const [newest] = rows;
  const oldest = rows.at(-1);
  if (newest === undefined || oldest === undefined) return ['No row is about these agents and calls.'];
  return [
    `${rows.length} rows, from ${oldest.timestamp} to ${newest.timestamp} (rows ${oldest.seq} to ${newest.seq})${rows.length === 500 ? '; there may be older ones' : ''}.`,
    '',
    ...counted(
      'agent',
      rows.map(({ agent_id }) => agent_id),
    ),
    ...counted(
      'tool',
      rows.flatMap(({ tool_type }) => tool_type ?? []),
    ),
    ...counted(
      'event',
      rows.map(({ event_kind, method }) => event_kind ?? method),
    ),
    ...counted(
      'verdict',
      rows.flatMap(({ event_kind, policy_decision }) => {
        const outcome = policy_decision?.['outcome'];
        return event_kind === 'proxy.verdict' && typeof outcome === 'string' ? [outcome] : [];
      }),
    ),
  ];
}

function counted(what: string, names: readonly string[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  if (counts.size === 0) return [];
  const most = [...counts].toSorted((one, other) => other[1] - one[1] || (one[0] < other[0] ? -1 : 1));
  return [
    `- by ${what}: ${most
      .slice(0, LISTED)
      .map(([name, count]) => `${text(name)} ${count}`)
      .join(', ')}${most.length > LISTED ? `, and ${most.length - LISTED} more` : ''}`,
  ];
}

/** Text that no reader of Markdown takes for anything else. */
const text = (words: string): string =>
  oneLine(words.slice(0, 400))
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll(/[\\`*_{}[\]()#+\-.!|~>:@/]/g, '\\$&');
