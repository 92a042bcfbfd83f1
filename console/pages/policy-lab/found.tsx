import type { VNode } from 'preact';
import type { batchDiff } from '../../../contracts/policy-library.js';
import type { LabLine, LabResult } from '../../../contracts/policy-studies.js';
import type { z } from 'zod';
import { costTold } from '../../../domain/policy/lab-cost.js';
import { CallLink } from '../../ui/call-link.js';
import { Shares } from '../../ui/charts.js';
import { type Flow, FlowChart, type Stop } from '../../ui/flow.js';
import { Empty, Foreign, Table, Time } from '../../ui/parts.js';
import { bitByBit } from './bit-by-bit.js';

type Diff = z.infer<typeof batchDiff>;
type Tier = 'green' | 'yellow' | 'red';

const STOPS: readonly Stop[] = [
  { key: 'allow', words: 'runs', tone: 'allow' },
  { key: 'yellow', words: 'waits', tone: 'park' },
  { key: 'deny', words: 'denied', tone: 'deny' },
];
const WOULD = { green: 'would run', yellow: 'would wait', red: 'would be denied' } as const;
const TIERS = { green: ['allow', 'runs'], yellow: ['park', 'waits'], red: ['deny', 'denied'] } as const;
/** Each change, the gravest first: what runs or is asked less often, then what is stopped or asked more often. */
const CHANGES = [
  ['deny_to_allow', 'denied now, would run', 'milder'],
  ['yellow_to_allow', 'waits now, would run', 'milder'],
  ['deny_to_yellow', 'denied now, would wait', 'milder'],
  ['allow_to_yellow', 'runs now, would wait', 'stricter'],
  ['allow_to_deny', 'runs now, would be denied', 'stricter'],
  ['yellow_to_deny', 'waits now, would be denied', 'stricter'],
] as const satisfies readonly (readonly [Exclude<Diff, 'unchanged'>, string, 'milder' | 'stricter'])[];

/** A lab as it comes; `then` is what can be done about what it found, below. */
export const labShown = (
  lines: AsyncIterable<LabLine>,
  { nowMs, then }: { readonly nowMs: number; readonly then?: VNode | undefined },
): AsyncGenerator<VNode> =>
  bitByBit(lines, {
    first: 'The rules are compiled.',
    progress: ({ judged, at }) => (
      <>
        {judged} calls so far, to <Time iso={at} nowMs={nowMs} />.
      </>
    ),
    result: (found) => (
      <>
        <Found of={found} nowMs={nowMs} />
        {then}
      </>
    ),
  });

const Found = ({ of, nowMs }: { readonly of: LabResult; readonly nowMs: number }) => {
  const { judged, counts } = of;
  const countOf = (which: 'milder' | 'stricter'): number =>
    CHANGES.reduce((sum, [diff, , kind]) => sum + (kind === which ? (counts[diff] ?? 0) : 0), 0);
  const [milder, stricter] = [countOf('milder'), countOf('stricter')];
  return (
    <section class="lab" aria-labelledby="found">
      <h2 id="found">What it would have decided</h2>
      {/* Shown by the editor's script once somebody typed on. */}
      <p class="standing earlier" role="status">
        This is of the text as it was tried, which was changed since: try it again for the text above.
      </p>
      {judged === 0 ? (
        <Empty>No call of this window can be judged again. A longer window may have some.</Empty>
      ) : (
        <>
          <p class="headline">
            Of {judged} recorded {judged === 1 ? 'call' : 'calls'} {milder + stricter} would be judged otherwise:{' '}
            {milder} more mildly, {stricter} more strictly.
          </p>
          <Shares
            label={`${milder} more mildly, ${stricter} more strictly, ${counts.unchanged ?? 0} the same`}
            of={[
              { tone: 'park', count: milder },
              { tone: 'deny', count: stricter },
              { tone: 'allow', count: counts.unchanged ?? 0 },
            ]}
          />
          {milder + stricter > 0 && <Changes counts={counts} />}
          <People of={of.people} />
        </>
      )}
      <Besides of={of} />
      {of.rows.length > 0 && <Rows of={of} nowMs={nowMs} />}
    </section>
  );
};

const Changes = ({ counts }: Pick<LabResult, 'counts'>) => {
  const flows = CHANGES.map(([diff]): Flow => {
    const [from = '', to = ''] = diff.split('_to_');
    return { from, to, count: counts[diff] ?? 0 };
  });
  return (
    <>
      <h3>What changes</h3>
      <div class="scrolls" tabIndex={0} role="region" aria-label="Picture of the change">
        <FlowChart
          of={flows}
          stops={STOPS}
          label="The calls that change: on the left how they are judged now, on the right how they would be"
        />
      </div>
      <Table label="What changes" heads={['Change', 'Which way', { number: 'Calls' }]}>
        {CHANGES.map(([diff, words, way]) => (
          <tr key={diff}>
            <td>{words}</td>
            <td>
              <span class={`tag ${way === 'milder' ? 'risky' : 'none'}`}>{way}</span>
            </td>
            <td class="number">{counts[diff] ?? 0}</td>
          </tr>
        ))}
        <tr>
          <td>judged the same</td>
          <td></td>
          <td class="number">{counts.unchanged ?? 0}</td>
        </tr>
      </Table>
    </>
  );
};

/** What the candidate says of calls that people decided. Where it says the opposite, the cell is marked. */
const People = ({ of }: { readonly of: LabResult['people'] }) => {
  const decided = (
    [
      ['approved', 'red'],
      ['denied', 'green'],
      ['expired', null],
    ] as const
  ).filter(([what]) => of[what].green + of[what].yellow + of[what].red > 0);
  if (decided.length === 0) return <p class="dim">People decided none of these calls.</p>;
  return (
    <>
      <h3>What people decided of these calls</h3>
      <Table
        label="What people decided"
        heads={['People', { number: WOULD.green }, { number: WOULD.yellow }, { number: WOULD.red }]}
      >
        {decided.map(([what, opposite]) => (
          <tr key={what}>
            <th scope="row">{what === 'expired' ? 'nobody in time' : what}</th>
            {(['green', 'yellow', 'red'] as const).map((tier) => (
              <td key={tier} class="number">
                {of[what][tier]}
                {tier === opposite && of[what][tier] > 0 && <strong> against them</strong>}
              </td>
            ))}
          </tr>
        ))}
      </Table>
    </>
  );
};

const Besides = ({
  of: { judged, purged, unreadable, not_as_recorded: other, cost, warnings },
}: {
  readonly of: LabResult;
}) => (
  <ul class="dim">
    {warnings.map((warning) => (
      <li key={warning}>
        Would never hold: <Foreign text={warning} />.
      </li>
    ))}
    {purged > 0 && <li>Not judged, because their inputs were purged: {purged}.</li>}
    {unreadable > 0 && <li>Not judged, because the rules of now cannot read their inputs: {unreadable}.</li>}
    {other > 0 && <li>Of which the rules of now already say something else than was said then: {other}.</li>}
    {judged > 0 && <li>Cost: {costTold(cost)}.</li>}
  </ul>
);

const Rows = ({ of: { rows, rows_left: left }, nowMs }: { readonly of: LabResult; readonly nowMs: number }) => (
  <>
    <h3>Calls that change</h3>
    <Table label="Calls that change" heads={['Call', 'Agent', 'Now', 'Would be', 'People', 'Why']}>
      {rows.map((row) => (
        <tr key={row.seq}>
          <td>
            <CallLink id={row.correlation_id}>
              <Foreign text={row.tool ?? 'a call'} />
            </CallLink>{' '}
            <Time iso={row.at} nowMs={nowMs} />
          </td>
          <td>
            <Foreign text={row.agent_id} />
          </td>
          <td>
            <Said tier={row.before.tier} />
          </td>
          <td>
            <Said tier={row.after.tier} />
          </td>
          <td>{row.people ?? ''}</td>
          <td>
            <Foreign text={whyOf(row)} />
          </td>
        </tr>
      ))}
    </Table>
    {left > 0 && (
      <p class="dim">
        The first of each kind; {left} more. <code>gate policy lab</code> says the same in a terminal.
      </p>
    )}
  </>
);

const Said = ({ tier }: { readonly tier: Tier }) => <span class={`tag ${TIERS[tier][0]}`}>{TIERS[tier][1]}</span>;

/** What only one of both says of it. */
function whyOf({ before, after }: LabResult['rows'][number]): string {
  const [was, is] = [before, after].map(({ reasons, review_reasons }) => [...reasons, ...review_reasons]);
  const added = is?.filter((reason) => !was?.includes(reason)) ?? [];
  const gone = was?.filter((reason) => !is?.includes(reason)) ?? [];
  return added.length > 0 ? added.join(' ') : gone.map((reason) => `no more: ${reason}`).join(' ');
}
