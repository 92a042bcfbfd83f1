import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type {
  ListedTenantOperation,
  TenantOperation,
  TenantOperationKind,
  TenantStep,
} from '../contracts/tenant-lifecycle.js';
import { sha256Hex } from '../domain/crypto/digest.js';
import { oneLine } from '../domain/printable.js';
import { registryOf, type StandingFlags, tenantTyped } from './agent-standing.js';
import { CliError } from './errors.js';
import { gateCommand, json, print } from './output.js';
import type { StackTarget } from './stack-target.js';
import { table } from './table.js';
import { whileWaiting } from './while-waiting.js';

interface TenantFlags extends StandingFlags {
  readonly wait?: boolean;
}
interface BeginFlags extends TenantFlags {
  readonly reason: string;
  readonly confirm?: string;
}

const LOOK_MS = 1_000;

const HELP = `
Identity leads the operation and Gate's worker has its steps done, so it goes on when this command ends: typed again with
the same reason, the command shows the same operation. A step that fails is tried again after 1, 2, 4 and 8 s; after the
fifth time, or where trying again helps nobody, a person looks: gate tenant status <name>, then gate tenant retry <name>.`;

const asPerson = (command: Command, name: '<name>' | '[name]' = '<name>'): Command =>
  command
    .argument(name, name === '<name>' ? 'the tenant' : 'the tenant; without it that of the running stack')
    .option('--as <operator>', 'as another operator of the development stack (`second`)')
    .addOption(json());

/** `gate tenant`: a tenant comes, or goes for good. */
export function registerTenant(program: Command): void {
  const tenant = program
    .command('tenant')
    .description('have a tenant come, or go for good, and see how far that is; gate contain tenant suspends one');
  const begins = (kind: TenantOperationKind, description: string): Command =>
    asPerson(tenant.command(kind))
      .description(description)
      .requiredOption('--reason <text>', 'why; recorded in the ledger')
      .option('--no-wait', 'begin, and do not wait for the end')
      .addHelpText('after', HELP);
  begins('provision', 'have a tenant come: its record, its policies, its reviews, its first row').action(
    (name: string, flags: BeginFlags) => begin('provision', name, flags),
  );
  begins(
    'offboard',
    'have a tenant go, for good: stopped at once, its agents ended, its waiting calls denied, its rows exported and hidden',
  )
    .requiredOption('--confirm <name>', 'the tenant, typed out once more: nothing lets it come back')
    .action((name: string, flags: BeginFlags) => begin('offboard', name, flags));
  asPerson(tenant.command('status'), '[name]')
    .description('what was begun with a tenant, newest first, and how far it is')
    .action(async (typed: string | undefined, { json: asJson, ...given }: TenantFlags) => {
      const name = typed ?? tenantTyped({});
      const operations = await operationsOf(targetOf(name, given), name);
      if (asJson) return print(operations);
      if (operations.length === 0)
        return void process.stdout.write(`(nothing was begun with ${oneLine(name)}; it may do what policy lets it)\n`);
      process.stdout.write(`${operations.map(toldOperation).join('\n\n')}\n`);
    });
  asPerson(tenant.command('retry'), '[name]')
    .description('have a step taken up again that failed, once more where a person had to look')
    .option('--no-wait', 'do not wait for the end')
    .addHelpText('after', HELP)
    .action(async (typed: string | undefined, { json: asJson, wait, ...given }: TenantFlags) => {
      const name = typed ?? tenantTyped({});
      const target = targetOf(name, given);
      const failed = (await operationsOf(target, name)).find(
        (one): one is TenantOperation => !('tampered' in one) && one.state !== 'succeeded',
      );
      const step = failed?.steps.find(({ state }) => state === 'manual_recovery' || state === 'retryable');
      if (!failed || !step) throw new CliError(`no step of an operation on ${oneLine(name)} has failed`, 4);
      const path = `${pathOf(name)}/${failed.id}/steps/${step.id}/retry`;
      const operation = await target.ask<TenantOperation>('identity', 'POST', path, {});
      if (!asJson) process.stdout.write(`${oneLine(step.id)} is taken up again\n`);
      await follow(target, operation, { asJson, wait });
    });
}

const targetOf = (name: string, given: StandingFlags): Pick<StackTarget, 'ask'> =>
  registryOf({ ...given, tenant: name }).target;
const pathOf = (name: string): string => `/tenants/${encodeURIComponent(name)}/lifecycle`;
const operationsOf = (target: Pick<StackTarget, 'ask'>, name: string): Promise<readonly ListedTenantOperation[]> =>
  target.ask('identity', 'GET', pathOf(name));

async function begin(
  kind: TenantOperationKind,
  name: string,
  { reason, confirm = name, json: asJson, wait, ...given }: BeginFlags,
): Promise<void> {
  const target = targetOf(name, given);
  // The same words are the same operation, however often they are typed.
  const key = `gate-${kind}-${sha256Hex(reason).slice(0, 16)}`;
  const asked = { kind, confirm, reason };
  const ask = () => target.ask<TenantOperation>('identity', 'POST', pathOf(name), asked, { 'idempotency-key': key });
  const operation = await (asJson ? ask() : whileWaiting(() => 'waiting for identity to begin the operation', ask));
  if (!asJson) process.stdout.write(`${kind} ${oneLine(name)}: operation ${operation.id}\n`);
  await follow(target, operation, { asJson, wait });
}

/** Says each step as it ends, until the operation does, or waits for a person; in between, on stderr, what it waits for. */
async function follow(
  target: Pick<StackTarget, 'ask'>,
  begun: TenantOperation,
  { asJson, wait }: { readonly asJson: boolean | undefined; readonly wait: boolean | undefined },
): Promise<void> {
  const say = (line: string): void => void (asJson || process.stdout.write(`${line}\n`));
  const name = begun.tenant;
  const again = `${gateCommand()} tenant status ${oneLine(name)}`;
  if (wait === false) return asJson ? print(begun) : say(`it goes on by itself: ${again}`);
  const interrupted = (): void => {
    process.stderr.write(`\nit goes on by itself: ${again}\n`);
    process.exit(130);
  };
  let operation = begun;
  const followed = async (): Promise<void> => {
    const said = new Set<string>();
    for (;;) {
      for (const step of operation.steps) {
        const line = toldStep(step, operation.steps.length);
        if (step.state === 'pending' || said.has(line)) continue;
        said.add(line);
        say(line);
      }
      if (operation.state === 'succeeded' || operation.state === 'manual_recovery') return;
      await sleep(LOOK_MS);
      operation = await now(target, operation);
    }
  };
  process.once('SIGINT', interrupted);
  try {
    await (asJson ? followed() : whileWaiting(() => awaited(operation), followed));
  } finally {
    process.off('SIGINT', interrupted);
  }
  if (asJson) print(operation);
  if (operation.state === 'succeeded') return say(`${operation.kind} ${oneLine(name)}: done`);
  throw new CliError(
    `a person has to look: ${oneLine(operation.steps.find(({ state }) => state === 'manual_recovery')?.last_error ?? '')}; then ${gateCommand()} tenant retry ${oneLine(name)}`,
    1,
  );
}

/** The step that is done now, or that somebody takes up next. */
function awaited({ steps }: TenantOperation): string {
  const step = steps.find(({ state }) => state !== 'succeeded');
  return step ? `waiting for ${step.order}/${steps.length} ${step.id} (${step.owner})` : 'waiting for the end';
}

/** How far it is now. Identity may be away for a while, as where it is started again: the operation stands in its store. */
async function now(target: Pick<StackTarget, 'ask'>, operation: TenantOperation): Promise<TenantOperation> {
  try {
    return await target.ask<TenantOperation>('identity', 'GET', `${pathOf(operation.tenant)}/${operation.id}`);
  } catch (error) {
    if (error instanceof CliError && error.exitCode === 5) return operation;
    throw error;
  }
}

function toldStep(
  { order, id, owner, state, attempts, last_error: error, receipt_sha256: receipt }: TenantStep,
  of: number,
): string {
  const what = `${order}/${of} ${id} (${owner})`;
  if (state === 'succeeded') return `${what}: done, receipt ${receipt}`;
  const tried = attempts > 1 ? `, attempt ${attempts}` : '';
  return `${what}: ${state.replaceAll('_', ' ')}${tried}${error === null ? '' : `: ${oneLine(error)}`}`;
}

function toldOperation(operation: ListedTenantOperation): string {
  if ('tampered' in operation) return `${oneLine(operation.tampered)}; nobody does anything by it`;
  const head = ['step', 'owner', 'state', 'attempts', 'receipt or error'].map((name) => ({ head: name }));
  const rows = operation.steps.map((step) => [
    `${step.order} ${step.id}`,
    step.owner,
    step.state,
    String(step.attempts),
    step.receipt_sha256 ?? step.last_error ?? '',
  ]);
  return (
    `${operation.kind} ${oneLine(operation.tenant)}: ${operation.state}, begun ${operation.created_at} by ${oneLine(operation.actor_sub)}: ${oneLine(operation.reason)}\n` +
    `operation ${operation.id}\n${table(head, rows)}`
  );
}
