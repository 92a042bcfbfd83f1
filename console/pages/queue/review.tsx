import type { PendingRequest, SinceLastCall } from '../../../contracts/review.js';
import { toolOf } from '../../../contracts/call-methods.js';
import { canonicalDigest } from '../../../domain/crypto/digest.js';
import { isRehearsal } from '../../../domain/review/rehearsal.js';
import { changesTold, comparedTold, endedTold, NONE_SINCE } from '../../../domain/review/since-last.js';
import { deadlineOf } from '../../../domain/decision/transitions.js';
import { isPersonsName } from '../../../domain/review/vouching.js';
import { whyItWaits } from '../../../domain/review/why-it-waits.js';
import { DEFINITION, definitionIn, OF_ITSELF } from '../../../domain/tool-definitions/definition-lines.js';
import { AS_ASKED, predictedOf, reasonsOf, wasChanged } from '../../../domain/sandbox/told.js';
import type { QueueQuery, Settled } from '../../services.js';
import { callAddress, reviewAddress } from '../../ui/addresses.js';
import { Decided } from '../../ui/decided.js';
import { Facts, Foreign, Id, Said, Time } from '../../ui/parts.js';
import { OnBehalf } from '../../ui/on-behalf.js';
import { Rehearsal, RehearsalTold } from '../../ui/rehearsal.js';
import type { SigningVisit } from '../../visit.js';
import { Arguments, Changed } from './arguments.js';
import type { SaidOfIt } from './came-of-it.js';
import { Forms, fresh } from './forms.js';
import { Similar } from './similar.js';
import { besideApproval, standingOf } from '../../../domain/decision/quorum.js';

export const Severity = ({ of }: { readonly of: string | null }) =>
  of === null ? <span class="tag unscored">no report</span> : <span class={`tag ${of}`}>{of}</span>;

/** Everything about a decision. */
export function Review({
  row,
  lately,
  said,
  keyless,
  visit,
  query,
  reason,
  assignee,
}: {
  readonly row: PendingRequest;
  readonly lately: Settled<readonly PendingRequest[]>;
  /** `null`: of a call that was decided. */
  readonly said: SaidOfIt | null;
  /** An approval takes a passkey, and the person has none. */
  readonly keyless: boolean;
  readonly visit: SigningVisit;
  readonly query: QueueQuery;
  readonly reason: string;
  readonly assignee: string;
}) {
  const { nowMs } = visit;
  const due = deadlineOf(row);
  return (
    <article data-review={row.id}>
      <h2>
        {isRehearsal(row) && (
          <>
            <Rehearsal />{' '}
          </>
        )}
        <Foreign text={row.agent_id} /> {isRehearsal(row) ? 'would ask' : row.status === 'pending' ? 'asks' : 'asked'}{' '}
        for <Foreign text={toolOf(row)} />
      </h2>
      {isRehearsal(row) && <RehearsalTold />}
      {row.status === 'pending' ? (
        <p class="deadline">
          <meter
            min={0}
            max={row.ttl_seconds}
            value={Math.max(0, (due - nowMs) / 1000)}
            aria-label="Time left"
            data-due={due}
          />{' '}
          expires <Time iso={new Date(due).toISOString()} nowMs={nowMs} />
        </p>
      ) : (
        <p>
          <Decided row={row} nowMs={nowMs} />
        </p>
      )}
      <section aria-labelledby="why">
        <h3 id="why">{row.status === 'pending' ? 'Why it waits' : 'Why it waited'}</h3>
        <ul>
          {whyItWaits(row).map((line) => (
            <li key={line}>
              <Why line={line} />
            </li>
          ))}
        </ul>
        {said !== null && said.inspected !== null && (
          <p>
            Inspection: <Said text={said.inspected} />
          </p>
        )}
      </section>
      <section aria-labelledby="effect">
        <h3 id="effect">Predicted effect</h3>
        <p data-predicted>
          <Severity of={row.sandbox_report?.severity ?? null} /> <Said text={predictedOf(row) ?? ''} />
        </p>
        {row.sandbox_report && typeof row.sandbox_report['summary'] !== 'string' && (
          <p class="dim">What exactly, is shown to who may decide: something of the call is masked here.</p>
        )}
        {wasChanged(row) && <p class="standing">Of what runs nobody predicted anything: {AS_ASKED}.</p>}
        {reasonsOf(row).length > 0 && (
          <ul>
            {reasonsOf(row).map((line) => (
              <li key={line}>
                <Said text={line} />
              </li>
            ))}
          </ul>
        )}
      </section>
      <Arguments row={row} />
      {row.modification_diff && <Changed row={row} />}
      {row.status === 'pending' && (
        <Forms
          row={row}
          effect={said?.effect ?? null}
          keyless={keyless}
          visit={visit}
          query={query}
          reason={reason}
          assignee={assignee}
          deciders={decidersOf(lately)}
        />
      )}
      <div {...fresh('similar', lately.ok && canonicalDigest(lately.value.map(({ id }) => id)))}>
        <Similar row={row} lately={lately} visit={visit} />
      </div>
      {row.since_last_call !== undefined && (
        <section aria-labelledby="since">
          <h3 id="since">Since this agent's last such call that waited</h3>
          <ul>
            <li>{row.since_last_call ? <LastCall last={row.since_last_call} nowMs={nowMs} /> : NONE_SINCE}</li>
            {row.since_last_call &&
              changesTold(row.since_last_call).map((line) => (
                <li key={line}>
                  <Foreign text={line} />
                </li>
              ))}
          </ul>
        </section>
      )}
      <div {...fresh('facts', [row.assigned_to, row.approvals])}>
        <Facts
          of={[
            ...((row.required_approvers ?? 1) > 1 ? [['Approvals', approvalsTold(row, nowMs)] as const] : []),
            ...(visit.person.tenant === null ? [['Tenant', <Foreign text={row.tenant} />] as const] : []),
            ['Assigned to', assignedTold(row)],
            ['Asked', <Time iso={row.created_at} nowMs={nowMs} />],
            ['Identity', row.agent_spiffe ? <Id id={row.agent_spiffe} /> : 'none'],
            ...(row.delegation ? [['On behalf of', <OnBehalf of={row.delegation} />] as const] : []),
            ['Tier of approval', row.approval_tier ?? 'standard'],
            ['Review', <Id id={row.id} />],
            [
              'Call',
              <>
                <Id id={row.correlation_id} /> <a href={callAddress(row.correlation_id)}>its story</a>
              </>,
            ],
            ['Digest', <Id id={row.original_payload_digest} />],
          ]}
        />
      </div>
    </article>
  );
}

/** To whom, and by whom where that is somebody else. */
function assignedTold({ assigned_to: to, assigned_by: by }: PendingRequest) {
  if (!to) return 'nobody';
  return (
    <>
      <Foreign text={to} />
      {by && by !== to && (
        <>
          , by <Foreign text={by} />
        </>
      )}
    </>
  );
}

/** The people who decided these calls, each once. */
const decidersOf = (lately: Settled<readonly PendingRequest[]>): readonly string[] =>
  lately.ok
    ? [
        ...new Set(
          lately.value
            .flatMap(({ decided_by, approvals }) => [decided_by ?? '', ...(approvals ?? []).map(({ by }) => by)])
            .filter(isPersonsName),
        ),
      ]
    : [];

/**
 * A line of why a call waits: a tool's name and its words about itself in their typeface, and what a definition is in words. A name is shown as
 * it is written in the line, where nothing of it ends its quote.
 */
export function Why({ line }: { readonly line: string }) {
  const read = definitionIn(line);
  if (read === null) return <Said text={line} />;
  const of = read.tool !== null && (
    <>
      <Foreign text={read.tool} />
      {': '}
    </>
  );
  if (read.kind === 'says')
    return (
      <>
        {of}
        {OF_ITSELF}
        <Foreign text={read.words} />
      </>
    );
  return (
    <>
      {of}
      {DEFINITION}
      {read.digest !== null && <Id id={read.digest} />}
      <Said text={read.words} />
      <span class="dim"> (how its server describes it: a pin holds the description that somebody read)</span>
    </>
  );
}

/** Which call that was, what became of it, and how it differs. */
const LastCall = ({ last, nowMs }: { readonly last: SinceLastCall; readonly nowMs: number }) => (
  <>
    <a href={reviewAddress(last.pending_id)}>
      <Time iso={last.created_at} nowMs={nowMs} />
    </a>
    , <Foreign text={endedTold(last)} /> (<Id id={last.pending_id} />
    ): {comparedTold(last)}
  </>
);

export function approvalsTold(
  { approvals = [], required_approvers: required = 1 }: Pick<PendingRequest, 'approvals' | 'required_approvers'>,
  nowMs: number,
) {
  return (
    <>
      {standingOf(approvals).length} of {required}
      {approvals.map((approval) => {
        const { by, at, reason } = approval;
        const mark = besideApproval(approval);
        return (
          <span key={by}>
            , <Foreign text={by} /> <Time iso={at} nowMs={nowMs} />
            {mark !== null && ` (${mark})`}
            {reason !== undefined && (
              <>
                : <Foreign text={reason} />
              </>
            )}
          </span>
        );
      })}
    </>
  );
}
