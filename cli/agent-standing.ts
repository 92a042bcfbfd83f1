import type { Command } from 'commander';
import type { AgentRecord, StopRecord } from '../contracts/identity.js';
import { oneLine } from '../domain/printable.js';
import { CliError } from './errors.js';
import { gateCommand, json } from './output.js';
import { developmentFile, type StackTarget, stackTarget } from './stack-target.js';

/** What is said with each of these commands. */
export interface StandingFlags {
  readonly as?: string;
  readonly tenant?: string;
  readonly json?: boolean;
}

export const withPerson = (command: Command): Command =>
  command
    .option('--as <operator>', 'as another operator of the development stack (`second`)')
    .option('--tenant <name>', 'the tenant; without it that of the running stack')
    .addOption(json());

export interface Registry {
  readonly tenant: string;
  readonly target: Pick<StackTarget, 'ask' | 'each'>;
}

/** The registry of the running stack, asked as an operator; an agent that is typed as tenant/agent names the tenant. */
export function registryOf({ as, ...given }: StandingFlags, typed?: string): Registry {
  const tenant = tenantTyped(given, typed);
  return { tenant, target: stackTarget(tenant, as) };
}

/** The tenant that is said, or named with the agent; otherwise that of the running stack. */
export const tenantTyped = ({ tenant }: Pick<StandingFlags, 'tenant'>, typed?: string): string =>
  tenant ?? (typed?.includes('/') ? typed.slice(0, typed.indexOf('/')) : undefined) ?? tenantOfStack();

const tenantOfStack = (): string => {
  const { proxy } = developmentFile(['proxy']);
  const [, found] = /\/tenant\/([^/]+)\/agent\//.exec(proxy.agent_spiffe) ?? [];
  if (found === undefined) throw new CliError('say whose agent it is: --tenant <name>', 2);
  return found;
};

/** The name of an agent that is typed as tenant/agent, or as its name alone. */
export const bareName = (typed: string): string => typed.slice(typed.indexOf('/') + 1);

export const agentPath = ({ id, tenant }: Pick<AgentRecord, 'id' | 'tenant'>, what = ''): string =>
  `/agents/${id}${what}?tenant=${encodeURIComponent(tenant)}`;

/** The agent's record, or `null` where identity knows none of this name. */
export async function findAgent({ target, tenant }: Registry, typed: string): Promise<AgentRecord | null> {
  const query = new URLSearchParams({ tenant, agent_name: bareName(typed) });
  const [found] = await target.ask<AgentRecord[]>('identity', 'GET', `/agents?${query.toString()}`);
  return found ?? null;
}

export const unknownAgent = (tenant: string, typed: string, more = ''): CliError =>
  new CliError(
    `unknown_agent: identity knows no agent ${oneLine(typed)} of ${oneLine(tenant)}; \`${gateCommand()} agents\` lists those that it knows, \`${gateCommand()} agents enrol <name>\` makes one known${more}`,
    4,
  );

/** All rows of a list, page after page. */
export async function allOf<Row>(rows: AsyncIterable<Row>): Promise<readonly Row[]> {
  const all: Row[] = [];
  for await (const row of rows) all.push(row);
  return all;
}

/** An agent, a tool or a tenant: how it is called, what is typed to let it go, and who changed it last. */
interface Suspendable {
  readonly name: string;
  readonly typed: string;
  readonly by: string | null;
  readonly at: string | null;
  readonly release: AgentRecord['release'];
  /** Of what was running when it was stopped. */
  readonly report: string | null;
  /** What became of certificates, and what it needs once it is let go. */
  readonly certificates: { readonly stopped: string; readonly released: string } | null;
}

const releaseCommand = ({ typed }: Suspendable): string => `${gateCommand()} release ${typed}`;

/** What came of a stop, and who ends it. */
export const toldStop = (
  before: Pick<AgentRecord | StopRecord, 'state' | 'release'> | undefined,
  now: Suspendable,
): string =>
  (before?.state === 'suspended'
    ? `${now.name} was stopped before, at ${now.at} by ${oneLine(now.by ?? '')}${before.release ? `; what ${oneLine(before.release.requested_by)} asked for, its release, counts no more` : ''}\n`
    : `stopped: ${now.name}, by ${oneLine(now.by ?? '')}; within two seconds no proxy lets a call of it in, and none that waits runs\n`) +
  (now.certificates ? `${now.certificates.stopped}\n` : '') +
  (now.report === null ? '' : `what was running, in a few seconds: ${gateCommand()} stops report ${now.report}\n`) +
  `two people let it go again: ${releaseCommand(now)} --reason "…"\n`;

/** What came of a release, and who does what next. */
export function toldRelease(
  before: Pick<Suspendable, 'release'>,
  now: Suspendable,
  somebodyElse: boolean | undefined,
): string {
  const { name, by, release } = now;
  if (!release)
    return (
      `let go: ${name}; ${oneLine(before.release?.requested_by ?? '')} asked for it, and ${oneLine(by ?? '')} confirmed it\n` +
      (now.certificates ? `${now.certificates.released}\n` : '')
    );
  const again = before.release?.requested_at === release.requested_at;
  return (
    `${name} stays stopped: ${again ? 'you had asked for its release before, and one person counts once' : `${oneLine(release.requested_by)} asked for its release`}\n` +
    (somebodyElse === false
      ? 'nobody else is known here who could confirm it: add an operator to GATE_HIL_OPERATORS (name@tenant:token) and start Gate again\n'
      : `somebody else confirms it, until ${release.until}: ${releaseCommand(now)} (in the development stack: --as second)\n`)
  );
}

export const askedRelease = ({ requested_by: by, until }: NonNullable<AgentRecord['release']>): string =>
  `${by} asked for its release; somebody else confirms until ${until}`;

export const suspendableAgent = (agent: AgentRecord): Suspendable => ({
  name: fullName(agent),
  typed: `agent ${oneLine(agent.agent_name)}`,
  by: agent.state_changed_by,
  at: agent.state_changed_at,
  release: agent.release,
  report: agent.report_id,
  certificates: certificatesOf(agent),
});

function certificatesOf({ state, svid_bootstrap_state: bootstrap }: AgentRecord): Suspendable['certificates'] {
  if (bootstrap === 'recovery') return TAKEN_BACK;
  return state === 'suspended' && bootstrap === 'retired' ? LEFT : null;
}

const TAKEN_BACK = {
  stopped: 'its certificates are taken back: once it is let go, it needs a first one again',
  released:
    'its certificates stay taken back: a new token lets it have a first one again (`gate agents enrol`; docs/how-to/enrol-an-agent.md)',
};
/** Of an agent that had one and is stopped: its recovery opens with the last that is taken back. */
const LEFT = {
  ...TAKEN_BACK,
  stopped:
    'not all of its certificates could be taken back: somebody edited a row of the store, which the log of identity and the report name; it is not let go before that is put back',
};
/** Of all agents of a tenant. */
export const ALL_TAKEN_BACK = {
  stopped: 'the certificates of its agents are taken back: once it is let go, each needs a first one again',
  released:
    'the certificates of its agents stay taken back: a new token lets each have a first one again (`gate agents enrol`; docs/how-to/enrol-an-agent.md)',
};

export const fullName = ({ tenant, agent_name: agent }: AgentRecord): string => oneLine(`${tenant}/${agent}`);
