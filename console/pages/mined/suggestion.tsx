import { escapedInPath } from '../../../domain/name-in-path.js';
import type {
  ApprovedPart,
  ArgumentBound,
  MinedEvidence,
  MinedExample,
  MinedSuggestion,
} from '../../../contracts/policy-mining.js';
import { CallLink } from '../../ui/call-link.js';
import { Csrf, Facts, Foreign, Table, Time } from '../../ui/parts.js';
import { Source } from '../../ui/source.js';
import type { Visit } from '../../visit.js';
import { policyAddress } from '../policies/address.js';
import { PolicyReason } from '../policies/told.js';

const STATES = {
  proposed: ['none', 'proposed'],
  unchecked: ['risky', 'not checked now'],
  withdrawn: ['deny', 'withdrawn'],
  installed: ['allow', 'in force'],
} as const;

/** One rule that was mined: what speaks for it and against it, which calls it names, and its text. */
export const Suggestion = ({
  of,
  visit: { csrf, nowMs },
  reason = '',
}: {
  readonly of: MinedSuggestion;
  readonly visit: Visit;
  /** What was typed, in a form that was refused. */
  readonly reason?: string | undefined;
}) => {
  const { approvals, denials, class_alone: alone, days, approvers, agents } = of.evidence;
  const [tone, state] = STATES[of.state];
  const isOver = of.state === 'withdrawn';
  return (
    <section class="suggestion" aria-labelledby={of.id}>
      <h3 id={of.id}>
        <Foreign text={of.tool} /> <span class={`tag ${tone}`}>{state}</span>
        {isOver && of.in_force && (
          <>
            {' '}
            <span class="tag risky">its rule is still in force</span>
          </>
        )}
      </h3>
      <p>
        <Foreign text={of.one_liner} />
      </p>
      {of.state_why !== null && (
        <p class="standing">
          <Foreign text={of.state_why} />
        </p>
      )}
      {isOver && of.in_force && <StillInForce of={of} />}
      <Facts
        of={[
          ['Approvals that would pass', `${approvals.passed} of ${approvals.of}`],
          ['Denials that would pass', `${denials.passed} of ${denials.of}`],
          ['Without the rule would pass', `${alone.approvals} approved, ${alone.denials} denied`],
          ['Of', `${days} days, ${approvers} people, ${agents} agents`],
          ['Mined', <Time iso={of.proposed_at} nowMs={nowMs} />],
        ]}
      />
      {of.parts.map((part, at) => (
        <Part key={at} of={part} />
      ))}
      {of.explained && (
        <blockquote class="words">
          <p>
            <Foreign text={of.explained.one_liner} /> <Foreign text={of.explained.rationale} />
          </p>
          <footer class="dim">
            In the words of a model, <Foreign text={of.explained.model} />. What counts stands above.
          </footer>
        </blockquote>
      )}
      <Examples
        label="Approved, and would still wait"
        count={waiting(approvals)}
        of={of.examples.waits}
        nowMs={nowMs}
      />
      <Examples label="Denied, and would still wait" count={waiting(denials)} of={of.examples.denied} nowMs={nowMs} />
      <details>
        <summary>
          The rule, <Foreign text={of.rule_name} />
        </summary>
        <Source text={of.rego_body} label={`The rule ${of.rule_name}`} isAlone={false} />
      </details>
      {of.state === 'proposed' && (
        <>
          <form method="post" action={`/policies/suggestions/${escapedInPath(of.id)}/try`}>
            <Csrf token={csrf} />
            <button type="submit">What it would have decided</button>
          </form>
          <form method="post" action={`/policies/suggestions/${escapedInPath(of.id)}/install`} class="sheet">
            <Csrf token={csrf} />
            <PolicyReason typed={reason} />
            <p>
              <button class="act" type="submit">
                Put it in force
              </button>
            </p>
          </form>
        </>
      )}
      {of.state !== 'proposed' && reason !== '' && (
        <p>
          The reason that you typed: <Foreign text={reason} />
        </p>
      )}
      {!isOver && of.in_force && (
        <p>
          <a href={policyAddress(of.rule_name)}>The policy</a>
        </p>
      )}
      {!isOver && (
        <p class="dim">
          Then, so that what it names runs: <Foreign text={of.next_step} />
        </p>
      )}
    </section>
  );
};

/** Withdrawn, it is still the rule that judges calls. Switched off before its tool is classed otherwise, it would let more of them run. */
const StillInForce = ({ of }: { readonly of: MinedSuggestion }) => (
  <p class="standing">
    Its rule is still in force: calls like these run where the tool is classed so. First have the tool looked at again:{' '}
    <Foreign text={of.next_step} />. Then switch the rule off on <a href={policyAddress(of.rule_name)}>its page</a>.
  </p>
);

const Part = ({ of: { upstream, agents, approvals, arguments: bounds } }: { readonly of: ApprovedPart }) => (
  <>
    <p>
      {approvals} approvals of calls by <Foreign text={agents.join(', ')} />
      {upstream !== null && (
        <>
          {' '}
          at <Foreign text={upstream} />
        </>
      )}
      :
    </p>
    <Table label="Arguments of such a call" heads={['Argument', 'Is']}>
      {bounds.map(({ pointer, is }) => (
        <tr key={pointer}>
          <th scope="row">
            <Foreign text={pointer} />
          </th>
          <td>
            <Foreign text={boundTold(is)} />
          </td>
        </tr>
      ))}
    </Table>
  </>
);

function boundTold(is: ArgumentBound['is']): string {
  if ('equals' in is) return JSON.stringify(is.equals);
  if ('one_of' in is) return `one of ${is.one_of.map((one) => JSON.stringify(one)).join(', ')}`;
  if ('like' in is) return `like ${is.like}`;
  const kind = is.text ? `, written as a text with ${is.decimals} decimals` : is.whole ? ', whole' : '';
  return `${is.from} to ${is.to}${kind}`;
}

const waiting = ({ passed, of }: MinedEvidence['approvals']): number => of - passed;

/** Calls of such a kind, the first of them, with how many there are. */
const Examples = ({
  label,
  count,
  of,
  nowMs,
}: {
  readonly label: string;
  readonly count: number;
  readonly of: readonly MinedExample[];
  readonly nowMs: number;
}) =>
  of.length === 0 ? null : (
    <details>
      <summary>
        {label}: {count}
        {of.length < count && `, the first ${of.length} here`}
      </summary>
      <ul>
        {of.map(({ correlation_id, at, agent_id }, index) => (
          <li key={index}>
            <CallLink id={correlation_id}>
              <Foreign text={agent_id} />
            </CallLink>{' '}
            <Time iso={at} nowMs={nowMs} />
          </li>
        ))}
      </ul>
    </details>
  );
