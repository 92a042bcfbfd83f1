import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startDemoUpstream } from '../../demo/upstream/server.js';
import { seededRandom } from '../support/random.js';
import { startSeparateStack } from '../support/separate-stack.js';
import { faultsOf } from './faults.js';
import { type Deployment, KILLS, PROCESSES, separateGate, wholeGate } from './deployments.js';
import { FEWEST, playRound } from './rounds.js';

/**
 * `npm run linearizable [-- --histories 10000] [--minutes 60] [--round 300] [--apart]`: rounds of reviews that many people decide at once, under kill -9,
 * until there are as many histories or the time is over. Prints its seed (`GATE_TEST_SEED`) and a line a round; ends with exit code 1 at the first
 * fault. `--apart`: the services are processes of their own, each killed alone.
 */
const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '10000' },
    minutes: { type: 'string', default: '60' },
    round: { type: 'string', default: '300' },
    apart: { type: 'boolean', default: false },
  },
});
const [histories, minutes, size] = [values.histories, values.minutes, values.round].map(Number);
if (!(histories && minutes && size && histories > 0 && minutes > 0 && size >= FEWEST))
  throw new Error(`--histories and --minutes take numbers above 0, --round one of ${FEWEST} at least`);

const random = seededRandom('reviews that many people decide at once');
const untilMs = performance.now() + minutes * 60_000;
const seen: Record<string, number> = {};
let checked = 0;
const { play, end } = values.apart ? await apart() : whole();
while (checked < histories && performance.now() < untilMs) {
  const { ended, ways, faults, valid, kill } = await play();
  for (const { status } of ended) seen[status] = (seen[status] ?? 0) + 1;
  checked += ended.length;
  process.stdout.write(
    `${checked} histories, ${JSON.stringify(seen)}, ${JSON.stringify(Object.fromEntries(ways))}, killed: ${kill.join(' and ')}\n`,
  );
  if (faults.length > 0 || !valid) {
    process.stdout.write(`${JSON.stringify({ ledger_valid: valid, faults }, null, 2)}\n`);
    process.exitCode = 1;
    break;
  }
}
process.stdout.write(`${checked} histories of reviews, each explained by one order: ${process.exitCode !== 1}\n`);
await end();

function whole() {
  const play = async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gate-linearizable-'));
    const tools = await startDemoUpstream({
      dataDir: join(folder, 'tools'),
      port: 0,
      host: '127.0.0.1',
      allowedHosts: [],
      sse: true,
    });
    try {
      const kill = random.pick(KILLS);
      const deployment = wholeGate({ stateDir: join(folder, 'state'), toolsUrl: tools.url, kill });
      return { kill, ...(await played(deployment, () => Promise.resolve(tools.state()))) };
    } finally {
      await tools.close();
      await rm(folder, { recursive: true, force: true });
    }
  };
  return { play, end: () => Promise.resolve() };
}

/** All rounds on one stack, whose tools have seen the calls of every round. */
async function apart() {
  const stack = await startSeparateStack();
  const play = async () => {
    const kill = [random.pick(PROCESSES)];
    return { kill, ...(await played(separateGate({ stack, kill, random }), () => stack.tools())) };
  };
  return { play, end: () => stack.stop() };
}

async function played(deployment: Deployment, toolsState: () => Promise<Parameters<typeof faultsOf>[1]>) {
  const { ended, gate, ways } = await playRound({ deployment, reviews: size as number, random });
  const faults = await faultsOf(ended, await toolsState());
  const { valid } = await gate.verify();
  await gate.down();
  return { ended, ways, faults, valid };
}
