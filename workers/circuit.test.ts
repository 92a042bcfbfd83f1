import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createEngineCircuit, type EngineCircuit } from './circuit.js';

/** On whichever clock the test runs. */
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** An engine that answers after `tookMs`, and not at all while it hangs: what it was asked then is answered when it goes on. */
function engine(tookMs = 2) {
  let hangs = false;
  let goOn: (() => void)[] = [];
  return {
    probes: 0,
    tookMs,
    hang: () => void (hangs = true),
    resume() {
      hangs = false;
      for (const go of goOn.splice(0)) go();
    },
    async probe(deadlineMs: number): Promise<void> {
      this.probes += 1;
      await sleep(this.tookMs);
      if (!hangs) return;
      let late: NodeJS.Timeout | undefined;
      try {
        await new Promise<void>((resolve, reject) => {
          goOn = [...goOn, resolve];
          late = setTimeout(() => reject(Object.assign(new Error('late'), { code: 4 })), deadlineMs - Date.now());
        });
      } finally {
        clearTimeout(late);
      }
    },
  };
}

let circuit: EngineCircuit | undefined;
// The clock is the test's: how long a busy machine takes for a second is no part of what is specified here.
beforeEach(() => void jest.useFakeTimers());
afterEach(() => {
  circuit?.close();
  jest.useRealTimers();
});
const passing = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

/** When whoever waits for the engine is told that it went, or `null` when that does not happen in time. */
async function toldAfterMs(withinMs: number, time = passing): Promise<number | null> {
  const from = performance.now();
  let after: number | null = null;
  circuit?.whileUp(new Promise<never>(() => undefined)).catch(() => {
    after = performance.now() - from;
  });
  await time(withinMs);
  return after;
}

const over = (probed: ReturnType<typeof engine>): EngineCircuit =>
  createEngineCircuit({ probe: (deadlineMs) => probed.probe(deadlineMs) });

describe('an engine that hangs', () => {
  it.each([0, 300, 700])(
    'with a call under way is found within two seconds, wherever in a beat it hangs (%i ms)',
    async (into) => {
      const probed = engine();
      circuit = over(probed);
      await passing(1_200 + into);
      probed.hang();
      const told = await toldAfterMs(4_000);
      expect(told).toBeLessThan(2_100);
      expect(told).toBeGreaterThan(1_000);
      expect(() => circuit?.assertUp()).toThrow('it does not answer in time');
      // What it was asked while it hung is its first word.
      probed.resume();
      await passing(50);
      circuit.assertUp();
    },
  );

  it('and a call that comes while it hangs is told at once when it has been silent for long', async () => {
    const probed = engine();
    circuit = over(probed);
    probed.hang();
    await passing(2_700);
    circuit.assertUp();
    expect(await toldAfterMs(2_000)).toBeLessThan(300);
  });

  it('is not believed to hang while nobody waits for it, until it has missed two deadlines', async () => {
    const probed = engine();
    circuit = over(probed);
    probed.hang();
    await passing(4_500);
    circuit.assertUp();
    await passing(1_200);
    expect(() => circuit?.assertUp()).toThrow('it does not answer in time');
  });
});

describe('an engine that is slow', () => {
  it('as on a busy machine is given eight times what its slowest answer took', async () => {
    const probed = engine(300);
    circuit = over(probed);
    await passing(1_500);
    probed.tookMs = 2_000;
    expect(await toldAfterMs(2_900)).toBeNull();
    circuit.assertUp();
  });

  it('is not to blame for the time in which this process was held up itself', async () => {
    jest.useRealTimers();
    const probed = engine();
    circuit = over(probed);
    await sleep(1_100);
    const told = toldAfterMs(3_000, sleep);
    probed.tookMs = 700;
    for (let block = 0; block < 4; block += 1) {
      const until = performance.now() + 600;
      while (performance.now() < until);
      await sleep(1);
    }
    expect(await told).toBeNull();
  });

  it('is asked twice as often while calls wait for it', async () => {
    const probed = engine();
    circuit = over(probed);
    await passing(2_100);
    const idle = probed.probes;
    await toldAfterMs(2_100);
    expect(probed.probes - idle).toBeGreaterThan(idle);
  });
});
