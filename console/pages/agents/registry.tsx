import { agentRegistration, type AgentRecord } from '../../../contracts/identity.js';
import { GateError } from '../../../domain/errors.js';
import { Csrf, Foreign, Time } from '../../ui/parts.js';
import type { Form, Shown, Visit } from '../../visit.js';
import { OrUnknown } from '../stops/known.js';
import { reasonOr, Why } from '../stops/release.js';
import { agentFormAddress } from './address.js';
import { agentForm, type Refused } from './form.js';
import { type AgentStands, changedAgentOf } from './standing.js';

/** The forms by which people say whose an agent is, and end it; `shown` is its page. */
export const registryForms = (shown: (visit: Visit, refused: Refused) => Promise<Shown>) => ({
  GIVE_AGENT: agentForm(
    {
      path: '/agents/:agent/team',
      does: 'give an agent to a team',
      of: 'team',
      written: { owner_team: 'Team' },
      shown,
    },
    async (visit, filled) => {
      const { id } = await changedAgentOf(visit);
      const team = agentRegistration.shape.owner_team.unwrap().safeParse(filled.get('owner_team').trim());
      if (!team.success)
        throw new GateError(
          'invalid_request',
          'A team has 1 to 64 printable characters, and no comma: nothing was done.',
        );
      await visit.services.identity.transfer(id, team.data, reasonOr(filled));
      return {};
    },
  ),
  DESCRIBE_AGENT: agentForm(
    {
      path: '/agents/:agent/describe',
      does: 'say what an agent is for',
      of: 'describe',
      written: { agent_description: 'What it is for' },
      shown,
    },
    async (visit, filled) => {
      const { id } = await changedAgentOf(visit);
      await visit.services.identity.describe(id, filled.get('agent_description').trim() || null, reasonOr(filled));
      return {};
    },
  ),
  NARROW_AGENT: agentForm(
    {
      path: '/agents/:agent/narrow',
      does: 'let people delegate less to an agent',
      of: 'narrow',
      written: { scopes: 'Scopes' },
      shown,
    },
    async (visit, filled) => {
      const agent = await changedAgentOf(visit);
      const taken = scopesIn(filled);
      const left = (all: readonly string[]) => all.filter((scope) => !taken.includes(scope));
      await visit.services.identity.narrow(
        agent.id,
        { scope: left(agent.scope_envelope), yellow: left(agent.yellow_envelope) },
        reasonOr(filled),
      );
      return {};
    },
  ),
  END_AGENT: agentForm(
    {
      path: '/agents/:agent/decommission',
      does: 'end an agent for good',
      of: 'decommission',
      written: { agent_typed: 'The name of the agent' },
      shown,
    },
    async (visit, filled) => {
      const agent = await changedAgentOf(visit);
      if (filled.get('agent_typed').trim() !== agent.agent_name)
        throw new GateError('invalid_request', 'Type the name of the agent: nothing was done.');
      await visit.services.identity.decommission(agent.id, reasonOr(filled));
      return {};
    },
  ),
});

const scopesIn = (filled: Form): readonly string[] => filled.get('scopes').split(' ').filter(Boolean);

/** Whose an agent is, what it is for, what it passed and what may be delegated to it; for an administrator with the forms that change it. */
export const RegistryOf = ({
  of,
  agent,
  visit,
  refused,
}: {
  readonly of: AgentStands;
  readonly agent: string;
  readonly visit: Visit;
  readonly refused: Refused | undefined;
}) =>
  of === 'elsewhere' || of === 'nameless' || of === 'nobody' || !of.ok || of.value.record === null ? null : (
    <section aria-labelledby="registry">
      <h2 id="registry">What is said of it</h2>
      <OrUnknown of={of}>
        {({ record }) => record && <Said of={record} agent={agent} visit={visit} refused={refused} />}
      </OrUnknown>
    </section>
  );

function Said({
  of: record,
  agent,
  visit,
  refused,
}: {
  readonly of: AgentRecord;
  readonly agent: string;
  readonly visit: Visit;
  readonly refused: Refused | undefined;
}) {
  const { owner_team: team, description, certified_at: certifiedAt, certified_at_version: version } = record;
  const scopes = [...record.scope_envelope, ...record.yellow_envelope];
  const typed = (form: Refused['of'], field: string, otherwise = ''): string =>
    refused?.of === form ? refused.form.get(field) : otherwise;
  const mayChange = visit.mayPost('/agents/:agent/decommission') && record.state !== 'decommissioned';
  const form = (of: 'decommission' | 'describe' | 'narrow' | 'team') => ({
    method: 'post',
    action: agentFormAddress(agent, of),
    class: 'sheet',
  });
  return (
    <>
      <p>{description === null ? 'Nobody said what it is for.' : <Foreign text={description} />}</p>
      <p>
        {team === null ? 'It is of no team.' : 'It is of the team '}
        {team !== null && <Foreign text={team} />}
      </p>
      <p>
        {certifiedAt === null ? (
          'Nobody certified it.'
        ) : (
          <>
            Certified <Time iso={certifiedAt} nowMs={visit.nowMs} /> with <Foreign text={version ?? ''} />.
          </>
        )}
      </p>
      <p>
        {scopes.length === 0 ? 'People may delegate nothing to it.' : 'People may delegate to it: '}
        {scopes.length > 0 && <Foreign text={scopes.join(' ')} />}
      </p>
      {mayChange && (
        <>
          <details open={refused?.of === 'describe'}>
            <summary>Say what it is for</summary>
            <form {...form('describe')}>
              <Csrf token={visit.csrf} />
              <label>
                What it is for now; empty for nothing{' '}
                <input name="agent_description" maxLength={1_024} value={typed('describe', 'agent_description')} />
              </label>
              <Why typed={typed('describe', 'reason')} optional />
              <button type="submit">Say so</button>
            </form>
          </details>
          <details open={refused?.of === 'team'}>
            <summary>Give it to a team</summary>
            <form {...form('team')}>
              <Csrf token={visit.csrf} />
              <p>Who decides about calls and is of the team may narrow, describe and stop it.</p>
              <label>
                Team <input name="owner_team" required maxLength={64} value={typed('team', 'owner_team', team ?? '')} />
              </label>
              <Why typed={typed('team', 'reason')} optional />
              <button type="submit">Give it</button>
            </form>
          </details>
          {scopes.length > 0 && (
            <details open={refused?.of === 'narrow'}>
              <summary>Let people delegate less to it</summary>
              <form {...form('narrow')}>
                <Csrf token={visit.csrf} />
                <p>Grants that hold more are taken back at once.</p>
                <label>
                  Scopes to be taken away, with spaces between them{' '}
                  <input name="scopes" required autocomplete="off" value={typed('narrow', 'scopes')} />
                </label>
                <Why typed={typed('narrow', 'reason')} optional />
                <button type="submit">Take them away</button>
              </form>
            </details>
          )}
          <details open={refused?.of === 'decommission'}>
            <summary>End it for good</summary>
            <form {...form('decommission')}>
              <Csrf token={visit.csrf} />
              <p>
                It does nothing any more, whoever wants it to. Its certificates are taken back, and its name is never
                used again.
              </p>
              <label>
                The name of the agent, typed out{' '}
                <input name="agent_typed" required autocomplete="off" value={typed('decommission', 'agent_typed')} />
              </label>
              <Why typed={typed('decommission', 'reason')} optional />
              <button class="destroy" type="submit">
                End it for good
              </button>
            </form>
          </details>
        </>
      )}
    </>
  );
}
