import { readFileSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { type Command, Option } from 'commander';
import { SVID_TTL_SECONDS } from '../contracts/identity.js';
import { isLabel } from '../domain/identity/spiffe.js';
import { oneLine } from '../domain/printable.js';
import { CliError } from './errors.js';
import { begun, givenUpStart, leave, STOPPED_AT_ONCE, stopSignals } from './stop-signals.js';

interface Flags {
  readonly socket: string;
  readonly keep: string;
  readonly identity: string;
  readonly ca: string;
  readonly trustDomain: string;
  readonly tokenFile?: string;
  readonly ttl: string;
}

const HELP = `
Runs beside the agent, as the user that the agent runs as: whoever may open the socket has the agent's key. The first
certificate is by the token of \`gate agents enrol\`; each next one by the one before, when half of its time is over.
A client of SPIFFE finds it by SPIFFE_ENDPOINT_SOCKET=unix://<socket> (docs/how-to/serve-the-workload-api.md).`;

/** `gate agents workload-api`: gives an agent its certificate by the SPIFFE Workload API. */
export function registerWorkloadApi(agents: Command): void {
  agents
    .command('workload-api')
    .description("keep an agent's certificate new, and give it to the agent on a socket, by the SPIFFE Workload API")
    .argument('<agent>', 'tenant/agent')
    .addOption(new Option('--socket <path>', 'the socket; an absolute path').makeOptionMandatory())
    .addOption(new Option('--keep <folder>', 'where its key and certificate are kept').makeOptionMandatory())
    .addOption(new Option('--identity <url>', 'the identity service').makeOptionMandatory())
    .addOption(new Option('--ca <file>', 'the CAs that are trusted until identity says which').makeOptionMandatory())
    .option('--trust-domain <name>', 'the trust domain', 'gate.local')
    .option('--token-file <file>', 'the token for its first certificate')
    .option('--ttl <seconds>', 'how long each certificate counts', String(SVID_TTL_SECONDS.max))
    .addHelpText('after', HELP)
    .action(async (typed: string, _own: Flags, command: { optsWithGlobals(): Flags }) => {
      const flags = command.optsWithGlobals();
      const [tenant = '', agent = '', more] = typed.split('/');
      if (!isLabel(tenant) || !isLabel(agent) || more !== undefined)
        throw new CliError(`${oneLine(typed)} is no agent: say tenant/agent`, 2);
      if (!isAbsolute(flags.socket)) throw new CliError('--socket: say an absolute path', 2);
      const ttlSeconds = Number(flags.ttl);
      if (!Number.isInteger(ttlSeconds) || ttlSeconds < SVID_TTL_SECONDS.min || ttlSeconds > SVID_TTL_SECONDS.max)
        throw new CliError(`--ttl: ${SVID_TTL_SECONDS.min} to ${SVID_TTL_SECONDS.max} seconds`, 2);
      const { pino } = await import('pino');
      const { startAgentWorkload } = await import('../stack/certificates/agent-workload.js');
      const logger = pino({ base: { agent: typed } });
      const signals = stopSignals();
      const bringUp = startAgentWorkload({
        tenant,
        agent,
        trustDomain: flags.trustDomain,
        ca: readFileSync(flags.ca, 'utf8'),
        identityUrl: flags.identity,
        folder: flags.keep,
        socket: flags.socket,
        token: () => tokenIn(flags.tokenFile),
        ttlSeconds,
        logger,
      });
      const first = await Promise.race([begun(bringUp), signals.asked]);
      if (typeof first === 'string') {
        await givenUpStart(bringUp, signals);
        return leave();
      }
      logger.info({ socket: flags.socket, pid: process.pid }, 'ready');
      await signals.asked;
      const ended = Promise.race([first.stop().then(() => 'stopped'), signals.again.then(() => STOPPED_AT_ONCE)]);
      logger.info(await ended);
      leave();
    });
}

/** It is read anew each time: after a recovery there is another one. */
function tokenIn(file: string | undefined): string | null {
  if (file === undefined) return null;
  try {
    return readFileSync(file, 'utf8').trim() || null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
