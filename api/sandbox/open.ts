import { loadAnalyzer } from '../../adapters/sandbox/analyzer.js';
import { createLocalSandbox } from '../../adapters/sandbox/local-sandbox.js';
import type { Config } from '../../config/env.js';
import type { SANDBOX_SETTINGS } from '../../config/sandbox.js';
import type { Sandbox } from '../../domain/sandbox/port.js';
import { listenerOf, type Opened, type Opening } from '../plugins/declaration.js';
import { needed } from '../plugins/start.js';
import { createSandboxService } from './app.js';
import { observedSandbox } from './metrics.js';

interface Settings {
  readonly own: Config<typeof SANDBOX_SETTINGS>;
}

export async function open({ config: { own }, ...parts }: Opening<Settings>): Promise<Opened<Sandbox>> {
  const analyze = await needed('the sandbox', loadAnalyzer());
  const local = createLocalSandbox(analyze);
  parts.onStop('threads', 'the thread that analyses', () => local.close());
  const sandbox = observedSandbox(local, parts.registry);
  return {
    port: sandbox,
    listener: () => listenerOf(createSandboxService({ ...parts, sandbox }), own),
    // Compiles what every analysis uses. Without a limit: what is slow on a busy machine ends no start.
    start: async () => analyze('tools/call', { name: 'query', arguments: { sql: 'select 1', command: 'ls' } }),
    // Starts a thread for the first large call.
    begin: () => local.warm(),
  };
}
