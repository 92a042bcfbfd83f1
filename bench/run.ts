import { parseArgs } from 'node:util';
import { errorText } from '../domain/errors.js';
import { CALL_KINDS, runCallsBench } from './calls.js';
import { runLedgerBench } from './ledger.js';
import { runParksBench } from './parks.js';

const USAGE = `usage: npm run bench -- [calls|parks|ledger] [options]
  calls    Gate over bare workflows of the same shape (default)
    --rounds N      rounds per kind and side (6)
    --seconds S     length of a round, at concurrency 1 and at 16 each (3)
    --kinds A,B     of ${CALL_KINDS.join(', ')}
    --other DIR     another built copy of Gate, measured in the same run
  parks    thousands of parked calls: cost, what others feel, all due at once
    --parks N       how many (5000)
    --modes A,B     of continue, stay (GATE_PARK)
  ledger   the chain over plain inserts and plain hashing
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '6' },
    seconds: { type: 'string', default: '3' },
    kinds: { type: 'string', default: CALL_KINDS.join(',') },
    other: { type: 'string' },
    parks: { type: 'string', default: '5000' },
    modes: { type: 'string', default: 'stay,continue' },
  },
});
const say = (line: string): void => void process.stderr.write(`${line}\n`);

async function run(what: string): Promise<void> {
  if (what === 'calls')
    return runCallsBench({
      rounds: Number(values.rounds),
      roundMs: Number(values.seconds) * 1000,
      kinds: CALL_KINDS.filter((kind) => values.kinds.split(',').includes(kind)),
      ...(values.other !== undefined && { other: values.other }),
      say,
    });
  if (what === 'parks')
    return runParksBench({
      parks: Number(values.parks),
      modes: (['stay', 'continue'] as const).filter((mode) => values.modes.split(',').includes(mode)),
      say,
    });
  if (what === 'ledger') return console.table(await runLedgerBench());
  throw new Error(USAGE);
}

try {
  await run(positionals[0] ?? 'calls');
} catch (error) {
  say(errorText(error));
  process.exitCode = 1;
}
