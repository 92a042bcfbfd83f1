import { Argument, type Command } from 'commander';
import { commandOf, type ProcessName, SERVICES } from '../stack/services.js';
import { settingsHelp } from './output.js';
import { begun, givenUpStart, leave, STOPPED_AT_ONCE, stopSignals } from './stop-signals.js';

const SERVED = SERVICES.filter((service) => commandOf(service) !== service.name).map(({ name }) => name);

/** `gate serve`: runs one service in its own process. */
export function registerServe(program: Command): void {
  program
    .command('serve')
    .description('run one service as a process of its own')
    .addArgument(new Argument('<service>', 'which').choices(SERVED))
    .addHelpText('after', settingsHelp('gate serve <service>', ' <service>'))
    .action((service: ProcessName) => runApart(service));
}

/** `gate worker`: runs workflows and activities in their own process. */
export function registerWorker(program: Command): void {
  program
    .command('worker')
    .description('run the worker of every workflow and activity as a process of its own')
    .addHelpText('after', settingsHelp('gate worker', ' worker'))
    .action(() => runApart('worker'));
}

/** Runs one process: it logs to standard output, stops cleanly on SIGTERM, and fails when one of its parts fails. */
async function runApart(name: ProcessName): Promise<void> {
  const signals = stopSignals();
  const { startApart } = await import('../stack/separate.js');
  const bringUp = startApart(name, process.env);
  const first = await Promise.race([begun(bringUp), signals.asked]);
  if (typeof first === 'string') {
    await givenUpStart(bringUp, signals);
    return leave();
  }
  const { logger, ports, stopped } = first;
  logger.info({ ...ports, pid: process.pid }, 'ready');
  const signal = await Promise.race([signals.asked, stopped.then(() => 'ended')]).catch(async (error: unknown) => {
    logger.fatal({ err: error }, 'failed');
    await Promise.race([first.stop(), signals.again]);
    leave();
    throw error;
  });
  logger.info({ signal }, 'stopping: refusing new work, finishing what is under way');
  logger.info(await Promise.race([first.stop().then(() => 'stopped'), signals.again.then(() => STOPPED_AT_ONCE)]));
  leave();
}
