import { randomUUID } from 'node:crypto';
import { type Command, Argument, Option } from 'commander';
import { type IdentityKeyRecord, keyUse } from '../contracts/identity.js';
import { type ListedUse, listedUse } from '../domain/identity/key-list.js';
import { oneLine } from '../domain/printable.js';
import { administratorToken } from './administrator-token.js';
import { tenantTyped } from './agent-standing.js';
import { CliError } from './errors.js';
import { registerKeyCeremony } from './key-ceremony.js';
import { announceOption, fileOption, registerWithdrawal, rotateListed, showListed } from './listed-keys.js';
import { gateCommand, json, print } from './output.js';
import { administratorTarget, type StackTarget } from './stack-target.js';
import { table } from './table.js';

interface KeyFlags {
  readonly tenant?: string;
  readonly json?: boolean;
}
interface RotateFlags extends KeyFlags {
  readonly oldUntil?: string;
  readonly reason?: string;
  readonly request?: string;
  readonly announce: number;
  readonly file?: string;
}
interface FileFlag {
  readonly file?: string;
}

const ROTATE_HELP = `
The new key is published first, signs when everybody has heard of it, and the one before is withdrawn when everything
that it signed is over. Identity does each stage by itself; nothing has to be restarted (docs/how-to/rotate-keys.md).
The first time, say until when certificates count that the CA of the settings signed elsewhere, as of agents of
development: --old-until. It is asked for with the administrator's token: GATE_IDENTITY_ADMIN_TOKEN, or what the running
stack made itself.
Keys of the proxy (authorizations) and the ledger (checkpoints, exports) lie in the file of their setting, which becomes a
list: the service reads it while it runs, publishes the new key within a second, and signs with it from its time on. The key is
made where the one that signs lies: in the file, in its token, or in KMS. Bring copies of the file to every process before.`;

/** `gate keys`: the keys with which identity signs. */
export function registerKeys(program: Command): void {
  const keys = program.command('keys').description('the keys with which identity, the proxy and the ledger sign');
  withFlags(keys.command('status', { isDefault: true }))
    .description('each key, its stage, and when the next one comes')
    .addArgument(
      new Argument('[use]', 'of the proxy or the ledger; without it those of identity').choices(listedUse.options),
    )
    .addOption(fileOption())
    .action(async (use: ListedUse | undefined, { json: asJson, file, ...given }: KeyFlags & FileFlag) => {
      if (use !== undefined)
        return showListed(use, { ...(file !== undefined && { file }), ...(asJson !== undefined && { json: asJson }) });
      const { keys: known } = await target(given).ask<{ keys: IdentityKeyRecord[] }>('identity', 'GET', '/keys');
      if (asJson) return print({ keys: known });
      process.stdout.write(known.length === 0 ? NEVER : `${told(known)}\n`);
    });
  registerKeyCeremony(keys);
  registerWithdrawal(keys);
  withFlags(keys.command('rotate'))
    .description('put a new key in the place of the one that signs')
    .addArgument(new Argument('<use>', 'what it signs').choices([...keyUse.options, ...listedUse.options]))
    .option('--old-until <time>', 'until when the key before stays at least, as 2027-01-31T00:00:00Z')
    .option('--reason <text>', 'why; recorded in the ledger')
    .addOption(new Option('--request <uuid>', 'the same again is the same rotation, where an answer was lost'))
    .addOption(announceOption())
    .addOption(fileOption())
    .addHelpText('after', ROTATE_HELP)
    .action(async (use: string, flags: RotateFlags) => {
      const listed = listedUse.safeParse(use);
      if (listed.success) return rotateListed(listed.data, flags);
      const { oldUntil, reason, request, json: asJson, ...given } = flags;
      const untilMs = oldUntil === undefined ? undefined : Date.parse(oldUntil);
      if (untilMs !== undefined && Number.isNaN(untilMs))
        throw new CliError(`--old-until is a time as 2027-01-31T00:00:00Z; not ${oneLine(oldUntil ?? '')}`, 2);
      const requestId = request ?? randomUUID();
      const key = await target(given)
        .ask<IdentityKeyRecord>('identity', 'POST', '/keys/rotations', {
          request_id: requestId,
          use,
          ...(untilMs !== undefined && { old_until: new Date(untilMs).toISOString() }),
          ...(reason !== undefined && { reason }),
        })
        .catch((error: unknown) => {
          if (!(error instanceof CliError) || error.code !== undefined) throw error;
          throw new CliError(`${error.message}; ask again with --request ${requestId}`, error.exitCode);
        });
      if (asJson) return print(key);
      process.stdout.write(
        `${key.state}: the key ${key.id} of ${key.use}, which signs from ${key.signs_from}\n` +
          `how far it is: ${gateCommand()} keys status\n`,
      );
    });
}

const NEVER = 'the keys of the settings sign; none was ever replaced\n';

const withFlags = (command: Command): Command =>
  command
    .option('--tenant <name>', 'the tenant of the administrator; without it that of the running stack')
    .addOption(json());

const target = (given: Pick<KeyFlags, 'tenant'>): Pick<StackTarget, 'ask'> =>
  administratorTarget(tenantTyped(given), administratorToken());

const NEXT: Readonly<Record<IdentityKeyRecord['state'], (key: IdentityKeyRecord) => string>> = {
  announced: (key) => `signs from ${key.signs_from}`,
  // Its row was made when another key was asked for; it signed before.
  signing: (key) => (key.configured ? 'from the start' : `since ${key.signs_from}`),
  retiring: (key) => `withdrawn from ${key.withdrawn_from ?? ''}`,
  withdrawn: (key) => `since ${key.withdrawn_from ?? ''}`,
};

export const told = (keys: readonly IdentityKeyRecord[]): string =>
  table(
    ['use', 'key', 'stage', 'when', 'by'].map((head) => ({ head, whole: head === 'when' })),
    keys.map((key) => [
      key.use,
      key.id.slice(0, 16),
      key.state,
      NEXT[key.state](key),
      key.configured ? 'the settings' : key.by,
    ]),
  );
