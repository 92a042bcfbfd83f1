import type { LabResult } from '../contracts/policy-studies.js';
import { type Diff, WEAKER } from '../domain/policy/lab.js';
import { costTold } from '../domain/policy/lab-cost.js';
import { oneLine } from '../domain/printable.js';
import type { PlannedChange, PolicyPlan } from './policy-plan.js';

/** What was asked of a lab, for its report. */
export interface LabWindow {
  readonly since: string;
  readonly until: string | null;
  readonly tenant: string | null;
}

const WAS = { allow: 'ran', yellow: 'waited', deny: 'denied' } as const;
const WOULD = { allow: 'would run', yellow: 'would wait', deny: 'would be denied' } as const;
const IS = { green: WOULD.allow, yellow: WOULD.yellow, red: WOULD.deny } as const;

const toldDiff = (diff: Diff): string => {
  const [from, to] = diff.split('_to_') as [keyof typeof WAS, keyof typeof WOULD];
  return diff === 'unchanged' ? 'judged the same' : `${WAS[from]}, ${WOULD[to]}`;
};
const countsOf = ({ counts }: LabResult): readonly (readonly [Diff, number])[] =>
  (Object.entries(counts) as [Diff, number][]).filter(([diff, count]) => count > 0 || diff === 'unchanged');

/** How many calls would be treated less strictly than now: run or wait for a person, instead of waiting or being refused. */
export const weakerIn = ({ counts }: LabResult): number =>
  [...WEAKER].reduce((sum, diff) => sum + (counts[diff] ?? 0), 0);

const windowTold = ({ since, until, tenant }: LabWindow): string =>
  `since ${since}${until === null ? '' : ` until ${until}`}${tenant === null ? '' : ` of ${tenant}`}`;

/** What is not in the counts, in a few words each. */
function besides({ purged, unreadable, not_as_recorded: other }: LabResult): readonly string[] {
  return [
    ...(purged > 0 ? [`${purged} calls were not judged: their inputs were purged`] : []),
    ...(unreadable > 0 ? [`${unreadable} calls were not judged: the rules of now cannot read their inputs`] : []),
    ...(other > 0 ? [`of ${other} calls the rules of now already say something else than was said then`] : []),
  ];
}

function peopleTold({ people }: LabResult): readonly string[] {
  return Object.entries(people).flatMap(([decided, tiers]) => {
    const total = tiers.green + tiers.yellow + tiers.red;
    if (total === 0) return [];
    const parts = (['green', 'yellow', 'red'] as const).filter((tier) => tiers[tier] > 0);
    const what = decided === 'expired' ? 'of calls that nobody decided' : `of calls that people ${decided}`;
    return [`${what} (${total}): ${parts.map((tier) => `${tiers[tier]} ${IS[tier]}`).join(', ')}`];
  });
}

/** Nothing where no call was judged. */
const costOf = ({ judged, cost }: LabResult): readonly string[] => (judged === 0 ? [] : [costTold(cost)]);

const rowTold = (row: LabResult['rows'][number]): string => {
  const why = [
    ...row.after.reasons,
    ...row.after.review_reasons,
    ...row.before.reasons,
    ...row.before.review_reasons,
  ][0];
  const people = row.people === null ? '' : ` (people: ${row.people})`;
  return `${row.at} ${row.tool ?? ''} of ${row.agent_id}: ${toldDiff(row.diff)}${people}${why === undefined ? '' : `; ${why}`}${row.correlation_id ? ` [${row.correlation_id}]` : ''}`;
};

/** Rules that are or would be in force and can never match, one line each. */
export const warningLines = ({
  warnings = [],
}: {
  readonly warnings?: readonly string[] | undefined;
}): readonly string[] => warnings.map((warning) => `warning: ${oneLine(warning)}`);

/** A lab for a terminal. */
export function labText(result: LabResult, window: LabWindow): string {
  const width = String(result.judged).length;
  return [
    `${result.judged} recorded calls ${windowTold(window)}`,
    ...countsOf(result).map(([diff, count]) => `  ${String(count).padStart(width)}  ${toldDiff(diff)}`),
    ...besides(result),
    ...peopleTold(result),
    ...costOf(result),
    ...(result.rows.length > 0 ? ['calls that change:'] : []),
    ...result.rows.map((row) => `  ${oneLine(rowTold(row))}`),
    ...(result.rows_left > 0 ? [`  and ${result.rows_left} more`] : []),
    ...warningLines(result),
  ].join('\n');
}

/** Text of others in a table or a list of Markdown: nothing of it is markup, and it stays on its line. */
const cell = (text: string): string => `\`${oneLine(text).replaceAll('`', "'").replaceAll('|', '\\|')}\``;
/** A line of a policy's text: nothing of it is a control character but the tabs that it is indented with. */
export const diffLine = (line: string): string => line.split('\t').map(oneLine).join('\t');
/** A fence that no line of the text closes. */
const fenced = (text: string): string => {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longest + 1);
  const lines = text.split('\n').map(diffLine);
  return `${fence}diff\n${lines.join('\n').trimEnd()}\n${fence}`;
};

/** After the name of what is created: that it comes back; of a copy that is deleted: what holds then. Empty for everything else. */
export function behindTold(change: PlannedChange): string {
  if (change.what === 'create' && change.behind !== null)
    return `, behind version ${change.behind}, with which it was deleted`;
  return change.what === 'delete' && change.back !== null ? ', and what holds for everybody comes back' : '';
}

/** A plan, with what it would have decided otherwise, for a pull request. */
export function planMarkdown(
  plan: PolicyPlan,
  lab: { readonly result: LabResult; readonly window: LabWindow } | null,
): string {
  const named = plan.changes.map((change) => ({
    what: change.what,
    name: change.what === 'delete' ? change.name : change.policy.name,
    diff: change.diff,
    behind: behindTold(change),
  }));
  const parts =
    named.length === 0
      ? ['Gate has what the folder has: nothing would change.']
      : [
          `Applying would change ${named.length} ${named.length === 1 ? 'policy' : 'policies'}:`,
          named.map(({ what, name, behind }) => `- ${what} ${cell(name)}${behind}`).join('\n'),
          ...named
            .filter(({ diff }) => diff !== '')
            .map(
              ({ name, diff }) =>
                `<details><summary>${name.replaceAll(/[^\w.-]/g, '_')}</summary>\n\n${fenced(diff)}\n\n</details>`,
            ),
        ];
  return `${['## Policies', ...parts, ...(lab ? labMarkdown(lab.result, lab.window) : [])].join('\n\n')}\n`;
}

function labMarkdown(result: LabResult, window: LabWindow): readonly string[] {
  const weaker = weakerIn(result);
  return [
    `### On ${result.judged} recorded calls ${windowTold(window)}`,
    ...(weaker > 0 ? [`**${weaker} calls would be judged more mildly.**`] : []),
    ...(result.warnings.length > 0
      ? [['**Would be in force and never hold:**', '', ...result.warnings.map((one) => `- ${cell(one)}`)].join('\n')]
      : []),
    ['| Calls | |', '|---:|---|', ...countsOf(result).map(([diff, count]) => `| ${count} | ${toldDiff(diff)} |`)].join(
      '\n',
    ),
    [...besides(result), ...peopleTold(result), ...costOf(result)].map((line) => `- ${line}`).join('\n'),
    ...(result.rows.length > 0
      ? [
          `<details><summary>Calls that change${result.rows_left > 0 ? ` (${result.rows_left} more are not shown)` : ''}</summary>\n\n${result.rows.map((row) => `- ${cell(rowTold(row))}`).join('\n')}\n\n</details>`,
        ]
      : []),
  ];
}
