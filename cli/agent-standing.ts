import type { Command } from 'commander';
import type { AgentRecord } from '../contracts/identity.js';
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
    .option('--tenant <name>', 'whose agent; without it the tenant of the running stack')
    .addOption(json());

export interface Registry {
  readonly tenant: string;
  readonly target: Pick<StackTarget, 'ask'>;
}

/** The registry of the running stack, asked as an operator; an agent that is typed as tenant/agent names the tenant. */
export function registryOf({ as, tenant }: StandingFlags, typed?: string): Registry {
  const named = typed?.includes('/') ? typed.slice(0, typed.indexOf('/')) : undefined;
  const own = tenant ?? named ?? tenantOfStack();
  return { tenant: own, target: stackTarget(own, as) };
}

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
    `unknown_agent: identity knows no agent ${oneLine(typed)} of ${oneLine(tenant)}; \`${gateCommand()} agents\` lists those that it knows${more}`,
    4,
  );

export const fullName = ({ tenant, agent_name: agent }: AgentRecord): string => oneLine(`${tenant}/${agent}`);
