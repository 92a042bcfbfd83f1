import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { ENGINE_START_LIMIT_MS } from '../support/engine.js';
import { type FaultBench, openBench } from '../support/kill-host-driver.js';
import { ENGINE_FAULTS } from './engine-faults.js';
import { COMMON_FAULTS, type Fault, runFaults, WIDTH } from './faults.js';

const FAULTS = [...ENGINE_FAULTS, ...COMMON_FAULTS];
let bench: FaultBench;
let outcomes: Map<Fault, Promise<void>>;

beforeAll(async () => {
  bench = await openBench('temporal');
  outcomes = runFaults(bench, FAULTS, WIDTH.temporal);
}, ENGINE_START_LIMIT_MS);
afterAll(() => bench.end(), 60_000);

describe('the Temporal host, in spite of', () => {
  it.each(FAULTS.map((fault) => [fault.name, fault] as const))(
    '%s',
    async (_name, fault) => {
      await outcomes.get(fault);
    },
    240_000,
  );
});
