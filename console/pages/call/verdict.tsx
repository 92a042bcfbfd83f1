import { Fragment } from 'preact';
import { delegation } from '../../../contracts/call-grant.js';
import type { Json, JsonObject } from '../../../contracts/json.js';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import { endTold, isExecutedHere, isLook } from '../../../domain/evidence/ended.js';
import { isRehearsal, judgedBy, outcomeOf } from '../../../domain/evidence/reports/outcome.js';
import { reportRowOf } from '../../../domain/evidence/reports/report-rows.js';
import { summaryOf } from '../../../domain/evidence/reports/summaries.js';
import { REHEARSAL } from '../../../domain/review/rehearsal.js';
import { WITHDRAWN_BY_AGENT } from '../../../domain/decision/transitions.js';
import { shortened } from '../../../domain/text.js';
import type { Settled } from '../../services.js';
import { Outcome } from '../../ui/entries.js';
import { Empty, Facts, Foreign, Id, OrAway, Said, Time } from '../../ui/parts.js';
import { OnBehalf } from '../../ui/on-behalf.js';
import { policyAddress } from '../policies/address.js';
import type { RulePlace } from '../policies/rules-that-say.js';
import { suspicionsIn } from './evidence.js';
import { changedIn, newest, spokenIn, textOf } from './rows.js';

const NONE_OF_REHEARSAL = `None: this is a ${REHEARSAL}, a review without a call.`;

/** Of what one rule said; it may quote arguments, and the row has more of it. */
const LONGEST_REASON = 2_000;

/** Who asked for what, what was said of it, and what came of it. */
export function Call({
  rows,
  nowMs,
  rulesOf,
  facts,
}: {
  readonly rows: readonly LedgerEntry[];
  readonly nowMs: number;
  readonly facts: Settled<Json>;
  readonly rulesOf: (said: string) => readonly RulePlace[];
}) {
  const verdict = newest(rows, 'proxy.verdict');
  const inspection = newest(rows, 'brain.inspection');
  const policy = newest(rows, 'policy.evaluated');
  const ended = newest(
    rows.filter((row) => !isLook(row)),
    'upstream.outcome',
    'call.aborted',
    'call.abandoned',
  );
  const [first] = rows;
  const { data: delegated } = delegation.safeParse(verdict?.policy_decision?.['delegation']);
  const spoke = spokenIn(rows);
  const undelivered = rows.filter(
    (row) => row.event_kind === 'alarm.call_stuck' && row.policy_decision?.['duty'] === 'callback',
  );
  const delivered = rows.filter((row) => row.event_kind === 'callback.delivered');
  const told = ended?.policy_decision;
  const known = ended ? undefined : knownOf(rows);
  return (
    <>
      <p class="headline">
        <Foreign text={first?.agent_id ?? ''} /> asked for <Foreign text={first?.tool_type ?? 'nothing by name'} />{' '}
        {first && <Time iso={first.timestamp} nowMs={nowMs} />}. {verdict && <Outcome row={verdict} />}{' '}
        {ended && <Outcome row={ended} />} {changedIn(rows) && <span class="tag said park">arguments changed</span>}
        {known?.word && <span class="tag said deny">{known.word}</span>}
      </p>
      <section class="verdict" aria-labelledby="verdict">
        <h2 id="verdict">Verdict</h2>
        {verdict ? (
          <p>
            <Said text={summaryOf(reportRowOf(verdict))} />
          </p>
        ) : (
          <Empty>
            {rows.some(isRehearsal) ? (
              NONE_OF_REHEARSAL
            ) : rows.some((row) => row.event_kind?.startsWith('hil.')) ? (
              <>
                The row of its verdict is missing: a call waits for a person only after that is written. The ledger of
                now does not have it, because it is older than what the ledger keeps, or because somebody took it out:{' '}
                <code data-copy="npx gate verify">npx gate verify</code> says whether the chain holds.
              </>
            ) : (
              'No verdict is written yet: load the page again in a moment.'
            )}
          </Empty>
        )}
        {spoke.length > 0 ? (
          <>
            <h3>Rules that spoke</h3>
            <ul>
              {spoke.map((line) => (
                <li key={line}>
                  <Said text={shortened(line, LONGEST_REASON)} />
                  {rulesOf(line).map(({ name, line: at, title }) => (
                    <Fragment key={`${name} ${at}`}>
                      {' '}
                      <a href={policyAddress(name, at)}>{title ?? name}</a>
                    </Fragment>
                  ))}
                </li>
              ))}
            </ul>
          </>
        ) : (
          policy && <p class="dim">No rule spoke against it.</p>
        )}
        {verdict && (
          <Facts
            of={[
              ['Tier', <Foreign text={textOf(verdict.policy_decision?.['tier'])} />],
              ['Stopped by', <Foreign text={textOf(verdict.policy_decision?.['layer'])} />],
              ['Mode', <Foreign text={textOf(verdict.policy_decision?.['mode'])} />],
              ['Kind of call', <Foreign text={verdict.intent_category} />],
              ...(delegated ? [['On behalf of', <OnBehalf of={delegated} />] as const] : []),
              ['Rules', <Rules of={verdict.policy_decision?.['policy_bundle']} />],
            ]}
          />
        )}
        {inspection && <Scores row={inspection} />}
        <OrAway of={facts}>{(told) => <Suspected of={suspicionsIn(told)} />}</OrAway>
      </section>
      <section aria-labelledby="result">
        <h2 id="result">Result</h2>
        {ended && told ? (
          <>
            <p>
              <Said text={summaryOf(reportRowOf(ended))} />
            </p>
            <Facts
              of={[
                ['Status', <Foreign text={textOf(told['status_code'])} />],
                ['Took', typeof told['duration_ms'] === 'number' ? `${told['duration_ms']} ms` : 'not known'],
                [
                  'Digest of the result',
                  typeof told['result_sha256'] === 'string' ? <Id id={told['result_sha256']} short /> : 'none',
                ],
                ...(told['code'] ? [['Code', <Foreign text={textOf(told['code'])} />] as const] : []),
              ]}
            />
            <p class="dim">The ledger keeps the digest of a result, not the result.</p>
          </>
        ) : (
          <p class="dim">{known?.result ?? 'None yet: nothing ran, or it has not ended.'}</p>
        )}
        {delivered.map((row) => (
          <p key={row.id}>
            The caller's callback address was told <Time iso={row.timestamp} nowMs={nowMs} />:{' '}
            <Foreign text={textOf(row.policy_decision?.['status'])} />.
          </p>
        ))}
        {undelivered.map((row) => (
          <p key={row.id} class="notice bad">
            A message to the caller's callback address was given up <Time iso={row.timestamp} nowMs={nowMs} />:{' '}
            <Foreign text={row.reasoning} />
          </p>
        ))}
      </section>
    </>
  );
}

/** What inspection suspected, below what denies: classes, and no words of the request. */
const Suspected = ({ of }: { readonly of: readonly string[] }) =>
  of.length === 0 ? null : (
    <p>
      Suspected, which a person has to judge: <Foreign text={of.join(', ')} />.
    </p>
  );

/** What is known of a call without an outcome; `undefined` where it may still end. There is no `word` where the verdict says it already. */
function knownOf(rows: readonly LedgerEntry[]): { readonly word?: string; readonly result: string } | undefined {
  const verdict = newest(rows, 'proxy.verdict');
  const outcome = verdict && outcomeOf(judgedBy(verdict));
  if (outcome === 'denied') return { result: 'None: the call was denied, and nothing ran.' };
  if (newest(rows, 'alarm.record_tampered'))
    return {
      word: 'tampered',
      result: 'Not known: its record is not what Gate wrote, and Gate goes no further with it.',
    };
  const decided = newest(rows, 'hil.approved', 'hil.denied', 'hil.expired');
  switch (decided?.event_kind) {
    case 'hil.denied':
      return decided.policy_decision?.['decided_by'] === WITHDRAWN_BY_AGENT
        ? { word: 'withdrawn', result: 'None: its agent took the call back, and nothing ran.' }
        : { word: 'denied', result: 'None: the call was denied, and nothing ran.' };
    case 'hil.expired':
      return { word: 'expired', result: 'None: nobody decided in time, and nothing ran.' };
  }
  if (rows.some(isRehearsal)) return decided && { result: NONE_OF_REHEARSAL };
  if (!verdict)
    return (
      decided && { result: 'Not known: it was approved, and the row of its verdict is missing, as may be others.' }
    );
  const isLeft = isExecutedHere(rows) === false && (outcome === 'allowed' || decided !== undefined);
  return isLeft ? { result: endTold({ stage: 'none', why: '' }).words } : undefined;
}

function Rules({ of }: { readonly of: Json | undefined }) {
  const bundle = (typeof of === 'object' && of !== null && !Array.isArray(of) ? of : {}) as JsonObject;
  const digest = bundle['hash_sha256'];
  if (typeof digest !== 'string') return <>none</>;
  return (
    <>
      {textOf(bundle['policy_count'])} of <Foreign text={textOf(bundle['version'])} />{' '}
      <Id id={digest.replace(/^sha256:/, '')} short />
    </>
  );
}

/** Not measured of an agent without a persona: its value says nothing then. */
const DRIFT = 'persona_drift_score';

/** What inspection made of the call. Scores are basis points in the row, and per cent here. */
function Scores({ row }: { readonly row: LedgerEntry }) {
  const scores = row['brain_scores'];
  const given =
    typeof scores === 'object' && scores !== null && !Array.isArray(scores)
      ? Object.entries(scores as JsonObject).filter(
          ([name]) => name !== DRIFT || (scores as JsonObject)['drift_available'] !== false,
        )
      : [];
  return (
    <>
      <h3>Inspection</h3>
      <p>
        <Said text={row.reasoning} />
      </p>
      {given.length > 0 && (
        <table class="values scores">
          <tbody>
            {given.map(([name, value]) => (
              <tr key={name}>
                <th scope="row">
                  <Foreign text={name.replaceAll('_', ' ')} />
                </th>
                <td>
                  {typeof value === 'number' ? (
                    <>
                      <meter min={0} max={10_000} value={value} /> {(value / 100).toFixed(value % 100 === 0 ? 0 : 2)} %
                    </>
                  ) : (
                    <Foreign text={value === true ? 'yes' : value === false ? 'no' : JSON.stringify(value)} />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <History of={row.policy_decision?.['behaviour']} />
    </>
  );
}

/** How the call compares with what its agent did before. A row of an earlier Gate says nothing of it. */
function History({ of }: { readonly of: Json | undefined }) {
  if (typeof of !== 'object' || of === null || Array.isArray(of)) return null;
  const { available, reasons, calls, days, profile_sha256: profile } = of;
  if (available !== true) return <p>Not compared with earlier calls of this agent: there are too few.</p>;
  const told = (Array.isArray(reasons) ? reasons : []).flatMap((reason) =>
    typeof reason === 'object' && reason !== null && !Array.isArray(reason) ? [textOf(reason['text'])] : [],
  );
  return (
    <>
      <p>
        {told.length === 0 ? 'Like' : 'Unlike'} what this agent did before ({textOf(calls)} calls of this tool,{' '}
        {textOf(days)} days; profile <Id id={textOf(profile)} short />){told.length === 0 ? '.' : ':'}
      </p>
      {told.length > 0 && (
        <ul>
          {told.map((text) => (
            <li key={text}>
              <Foreign text={text} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
