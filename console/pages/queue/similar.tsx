import { toolOf } from '../../../contracts/call-methods.js';
import type { PendingRequest } from '../../../contracts/review.js';
import { isRehearsal } from '../../../domain/review/rehearsal.js';
import type { Settled } from '../../services.js';
import { reviewAddress } from '../../ui/addresses.js';
import { DecidedBy } from '../../ui/decided.js';
import { OrAway } from '../../ui/parts.js';
import type { Visit } from '../../visit.js';

/** How many are told. */
const MOST = 5;

/** What the same agent's calls of the same tool were decided lately, and by whom; what was decided last stands first. */
export const Similar = ({
  row,
  lately,
  visit,
}: {
  readonly row: PendingRequest;
  readonly lately: Settled<readonly PendingRequest[]>;
  readonly visit: Visit;
}) => (
  <section aria-labelledby="similar">
    <h3 id="similar">Its calls of this tool that were decided lately</h3>
    <OrAway of={lately}>
      {(decided) => {
        // Of a rehearsal nothing ran: it says nothing of how such calls are decided.
        const others = decided.filter((other) => other.id !== row.id && isRehearsal(other) === isRehearsal(row));
        const isOneOfThem = decided.some(({ id }) => id === row.id);
        const alike = others
          .filter((other) => toolOf(other) === toolOf(row))
          .toSorted((one, other) => decidedMs(other) - decidedMs(one));
        return alike.length === 0 ? (
          <p class="dim">{noneTold(others.length, isOneOfThem)}</p>
        ) : (
          <ul>
            {alike.slice(0, MOST).map((other) => (
              <li key={other.id}>
                <a href={reviewAddress(other.id)}>
                  {other.status}
                  {other.modification_diff && ' with changes'}
                </a>{' '}
                <DecidedBy row={other} nowMs={visit.nowMs} />
              </li>
            ))}
          </ul>
        );
      }}
    </OrAway>
  </section>
);

const decidedMs = ({ decided_at, created_at }: PendingRequest): number => Date.parse(decided_at ?? created_at);

/** That there are none, of so many calls; `isOneOfThem`: the call itself was decided too. */
function noneTold(count: number, isOneOfThem: boolean): string {
  const other = isOneOfThem ? 'other ' : '';
  if (count === 0) return `No ${other}call of this agent was decided yet.`;
  return count === 1
    ? `Its last ${other}decided call was not of this tool.`
    : `None of its last ${count} ${other}decided calls was of this tool.`;
}
