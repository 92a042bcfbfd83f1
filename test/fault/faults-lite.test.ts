import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { type FaultBench, openBench } from '../support/kill-host-driver.js';
import { COMMON_FAULTS, type Fault, runFaults, WIDTH } from './faults.js';

let bench: FaultBench;
let outcomes: Map<Fault, Promise<void>>;

beforeAll(async () => {
  bench = await openBench('lite');
  outcomes = runFaults(bench, COMMON_FAULTS, WIDTH.lite);
});
afterAll(() => bench.end(), 60_000);

describe('the in-process host, in spite of', () => {
  it.each(COMMON_FAULTS.map((fault) => [fault.name, fault] as const))(
    '%s',
    async (_name, fault) => {
      await outcomes.get(fault);
    },
    240_000,
  );
});
