import type { SandboxRequest } from '../../contracts/sandbox.js';
import { answerInThread } from '../threads/threads.js';
import { loadAnalyzer } from './analyzer.js';

/** One sandbox thread: an analyzer of its own. The thread ends if it cannot load what it reads with. */
async function start(): Promise<void> {
  const analyze = await loadAnalyzer();
  await answerInThread(
    ({ method, params }: SandboxRequest) => analyze(method, params),
    () => analyze('tools/call', { name: 'run_command', arguments: { command: 'ls' } }),
  );
}
void start();
