import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { PRIVATE_FILE } from '../adapters/store/durable-file.js';
import { enrollment } from '../contracts/identity.js';
import { isLabel } from '../domain/identity/spiffe.js';
import { oneLine } from '../domain/printable.js';
import { ADMIN_TOKEN, administratorToken } from './administrator-token.js';
import { bareName, tenantTyped } from './agent-standing.js';
import { CliError } from './errors.js';
import { print } from './output.js';
import { administratorTarget, type StackTarget } from './stack-target.js';

interface EnrolFlags {
  readonly tokenFile: string;
  readonly tenant?: string;
  readonly json?: boolean;
}

const HELP = `
The token counts once and for an hour, and the one before no more. Whoever runs the agent makes a key and sends a request
for a certificate with it (docs/how-to/enrol-an-agent.md). An agent that was stopped and let go is enrolled anew in the
same way. It is asked for with the administrator's token: ${ADMIN_TOKEN}, or what the running stack made itself.`;

/** `gate agents enrol`: a token by which an agent has its first certificate, in a file and nowhere else. */
export function registerEnrol(agents: Command): void {
  agents
    .command('enrol')
    .description('let an agent have its first certificate, or the first after a recovery: its token goes into a file')
    .argument('<name>', 'the agent, or tenant/agent')
    .addOption(
      new Option(
        '--token-file <file>',
        'where the token goes, readable for you alone; must not exist',
      ).makeOptionMandatory(),
    )
    .option('--tenant <name>', 'whose agent; without it the tenant of the running stack')
    .addOption(new Option('--json', 'print JSON, without the token'))
    .addHelpText('after', HELP)
    .action(async (typed: string, _own: EnrolFlags, command: { optsWithGlobals(): EnrolFlags }) => {
      const { tokenFile: file, json: asJson, ...given } = command.optsWithGlobals();
      const agent = bareName(typed);
      if (!isLabel(agent))
        throw new CliError(`${oneLine(agent)} is no name of an agent: 1 to 63 characters of A-Z a-z 0-9 . _ -`, 2);
      const tenant = tenantTyped(given, typed);
      const made = await enrolled(administratorTarget(tenant, administratorToken()), { tenant, agent, file });
      if (asJson) return print(made);
      process.stdout.write(
        `enrolled: ${oneLine(tenant)}/${agent}, with the id ${made.agent_id}\n` +
          `its token is in ${oneLine(file)}: once, until ${made.expires_at}\n` +
          'whoever runs it makes a key and asks for the certificate: docs/how-to/enrol-an-agent.md\n',
      );
    });
}

/** What is said of an enrolment: everything but its token. */
interface Enrolled {
  readonly tenant: string;
  readonly agent_name: string;
  readonly agent_id: string;
  readonly expires_at: string;
  readonly token_file: string;
}

/** Enrols an agent and puts its token into a new file. The file is there first: a token that cannot be kept is not asked for. */
export async function enrolled(
  target: Pick<StackTarget, 'ask'>,
  { tenant, agent, file }: { readonly tenant: string; readonly agent: string; readonly file: string },
): Promise<Enrolled> {
  const descriptor = opened(file);
  try {
    const body = { tenant, agent_name: agent };
    const { token, ...said } = enrollment.parse(await target.ask('identity', 'POST', '/enrollments', body));
    writeFileSync(descriptor, `${token}\n`);
    return { tenant, agent_name: agent, ...said, token_file: file };
  } catch (error) {
    rmSync(file, { force: true });
    throw error instanceof CliError
      ? explained(error, agent)
      : new CliError(
          'identity answered otherwise than this command knows, or the file cannot be written; enrol it again',
        );
  } finally {
    closeSync(descriptor);
  }
}

function opened(file: string): number {
  try {
    return openSync(file, 'wx', PRIVATE_FILE);
  } catch (error) {
    const { code = 'error' } = error as NodeJS.ErrnoException;
    throw new CliError(
      code === 'EEXIST'
        ? `--token-file ${oneLine(file)}: there is a file of this name already`
        : `--token-file ${oneLine(file)}: cannot be made (${code})`,
      2,
    );
  }
}

const MORE: Readonly<Record<string, (agent: string) => string>> = {
  bootstrap_not_available: (agent) =>
    `; ${agent} had its certificate: it renews that, or an administrator opens a recovery, which takes it back (docs/how-to/enrol-an-agent.md#when-one-is-lost)`,
  agent_suspended: (agent) => `; two people let ${agent} go first (gate release agent ${agent})`,
  invalid_token: () => `; it is the administrator's token that is asked with (${ADMIN_TOKEN}), not an operator's`,
};
function explained(error: CliError, agent: string): CliError {
  const more = MORE[error.code ?? '']?.(agent) ?? '';
  return new CliError(`${error.message}${more}`, error.exitCode, error.code);
}
