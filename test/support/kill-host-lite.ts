import { createInProcessHost } from '../../lite/host.js';
import { composeKillHost, quietLogger, readConfig, serveCommands } from './kill-host.js';

/** The in-process host as a process of its own, to be killed. Argument: the file of its KillHostConfig. */
const noEngine = { status: () => Promise.resolve('missing' as const), end: () => Promise.resolve() };

const commands = await composeKillHost(readConfig(), noEngine, async ({ calls, activities }) => {
  const host = createInProcessHost({ calls, activities, logger: quietLogger });
  await host.resume();
  return { runner: host, sender: host };
});
serveCommands(commands);
