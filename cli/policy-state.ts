import { userInfo } from 'node:os';
import type { Command } from 'commander';
import type { MutatedPolicy } from '../contracts/policy-library.js';
import type { PolicyFileShown, PolicyList } from '../contracts/policy.js';
import { sha256Hex } from '../domain/crypto/digest.js';
import { withoutFence } from '../domain/policy/mining/fence.js';
import { unifiedDiff } from '../domain/policy/unified-diff.js';
import { oneLine } from '../domain/printable.js';
import { CliError } from './errors.js';
import { json, print } from './output.js';
import { diffLine, warningLines } from './lab-report.js';
import { type AskPolicies, behindCopies } from './policy-plan.js';
import type { PolicyCommands } from './policy-studies.js';

interface Asked {
  readonly reason: string;
  readonly tenant?: string;
  readonly json?: boolean;
}

const ACTS = {
  off: { does: 'switch a policy off; its text stays', done: 'is switched off' },
  on: { does: 'put a policy in force again, with the text that it has', done: 'is in force' },
  delete: { does: 'delete a policy; its versions stay, and its name may come back behind them', done: 'is deleted' },
} as const;
type Act = keyof typeof ACTS;

/** `gate policy off`, `on` and `delete`: of one policy, whoever wrote it, for everybody or for a tenant. */
export function registerPolicyState(policy: Command, { engine }: Pick<PolicyCommands, 'engine'>): void {
  for (const act of Object.keys(ACTS) as Act[])
    policy
      .command(act)
      .description(ACTS[act].does)
      .argument('<name>')
      .requiredOption('--reason <text>', 'recorded with the version')
      .option('--tenant <name>', 'for this tenant alone: of its copy, which `off` and `on` make where it has none')
      .addOption(json())
      .action(async (name: string, { json: asJson, ...asked }: Asked) => {
        // What comes back is told before anything is done, also where the change is refused or its answer is lost.
        const tell = asJson ? () => {} : (line: string) => void process.stdout.write(`${line}\n`);
        const made = await policyStateSet(await engine(), act, name, asked, tell);
        if (asJson) return print(made);
        const whose = asked.tenant === undefined ? '' : ` for ${oneLine(asked.tenant)}`;
        process.stdout.write(`${oneLine(made.name)} ${ACTS[act].done}${whose}, version ${made.version}\n`);
        for (const line of warningLines(made)) process.stdout.write(`${line}\n`);
      });
}

/**
 * Does it to the version that Gate has now; refused where somebody changes it in between, or what holds for everybody and comes back where a tenant's
 * copy is deleted. A rule may be named without its ending. `tell` is given what comes back, line by line; what else follows is a
 * warning of the answer.
 */
export async function policyStateSet(
  ask: AskPolicies,
  act: Act,
  name: string,
  { reason, tenant }: Pick<Asked, 'reason' | 'tenant'>,
  tell: (line: string) => void,
): Promise<MutatedPolicy> {
  const scope = tenant === undefined ? '' : `?tenant=${encodeURIComponent(tenant)}`;
  const { policies } = await ask<PolicyList>('GET', `/policies${scope}`);
  const called = (one: string) => policies.filter((policy) => policy.name === one);
  const found = [...called(name), ...called(`${name}.rego`)];
  const now = found.find((policy) => !policy.protected);
  if (!now)
    throw new CliError(
      found.length > 0
        ? `${oneLine(name)} is one of the rules that ship, which a release alone changes`
        : `there is no policy ${oneLine(name)}`,
      4,
    );
  if (act !== 'delete' && now.active === (act === 'on'))
    throw new CliError(`${oneLine(now.name)} ${ACTS[act].done} already`, 4);
  const path = `/policies/${encodeURIComponent(now.name)}`;
  const [method, what] = act === 'delete' ? ['DELETE', ''] : ['POST', act === 'on' ? '/activate' : '/deactivate'];
  const made = await ask<MutatedPolicy>(method, `${path}${what}${scope}`, {
    expected_current_version: now.current_version,
    expected_body_sha256: now.body_sha256,
    ...(act === 'delete' && tenant !== undefined && { expected_back_sha256: await comesBack(ask, now, tenant, tell) }),
    reason,
    actor_sub: userInfo().username,
    actor_idp: 'command line',
  });
  const opened = act === 'on' ? null : withoutFence(now);
  return opened === null ? made : { ...made, warnings: [...(made.warnings ?? []), opened] };
}

/** The SHA-256 of the text for everybody that holds for the tenant without its copy, which is told; `null` where nothing comes back. */
async function comesBack(
  ask: AskPolicies,
  { name }: { readonly name: string },
  tenant: string,
  tell: (line: string) => void,
): Promise<string | null> {
  const back = await (await behindCopies(ask, tenant))(name);
  if (back === null) return null;
  const { current_body: own } = await ask<PolicyFileShown>(
    'GET',
    `/policies/${encodeURIComponent(name)}?tenant=${encodeURIComponent(tenant)}`,
  );
  tell(`without its copy ${oneLine(tenant)} has ${oneLine(name)} as it holds for everybody, in force at once:`);
  const diff = unifiedDiff(own, back.body, { from: `${tenant}/${name}`, to: `everybody/${name}` });
  for (const line of diff.split('\n').filter((text) => text !== '')) tell(`  ${diffLine(line)}`);
  if (diff === '') tell('  the same text');
  return sha256Hex(back.body);
}
