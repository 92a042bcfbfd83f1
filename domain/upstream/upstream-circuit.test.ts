import { describe, expect, it } from '@jest/globals';
import { createUpstreamCircuit } from './upstream-circuit.js';

const at = (startMs = 0) => {
  let nowMs = startMs;
  const circuit = createUpstreamCircuit(() => nowMs);
  return { circuit, pass: (ms: number) => (nowMs += ms) };
};

describe('the circuit of one upstream', () => {
  it('knows nothing before anybody asked', () => {
    const { circuit } = at();
    expect(circuit.standing()).toEqual({ state: 'unknown', fault: null, sinceMs: null });
    expect(circuit.held()).toBeNull();
  });

  it('lets requests through until three fail in a row', () => {
    const { circuit, pass } = at(5);
    circuit.failed('timeout');
    pass(1);
    circuit.failed('unreachable');
    expect(circuit.held()).toBeNull();
    expect(circuit.standing()).toEqual({ state: 'failing', fault: 'unreachable', sinceMs: 5 });
    circuit.failed('unreachable');
    expect(circuit.held()).toBe('unreachable');
    expect(circuit.standing()).toMatchObject({ state: 'held', sinceMs: 5 });
  });

  it('names a fault that is to hold nobody, and counts it neither for nor against the upstream', () => {
    const { circuit } = at(5);
    for (let tried = 0; tried < 5; tried += 1) circuit.failed('no_credentials', { holds: false });
    expect(circuit.held()).toBeNull();
    expect(circuit.standing()).toEqual({ state: 'failing', fault: 'no_credentials', sinceMs: 5 });
    for (const fault of ['timeout', 'timeout', 'timeout'] as const) {
      circuit.failed(fault);
      circuit.failed('refused', { holds: false });
    }
    expect(circuit.standing()).toMatchObject({ state: 'held', fault: 'refused' });
  });

  it('one answer between them begins anew', () => {
    const { circuit } = at();
    circuit.failed('timeout');
    circuit.failed('timeout');
    circuit.answered();
    circuit.failed('timeout');
    circuit.failed('timeout');
    expect(circuit.held()).toBeNull();
  });

  it('after a pause lets one request try, and holds the others meanwhile', () => {
    const { circuit, pass } = at();
    for (let failure = 0; failure < 3; failure += 1) circuit.failed('timeout');
    pass(1_999);
    expect(circuit.held()).toBe('timeout');
    pass(1);
    expect(circuit.held()).toBeNull();
    expect(circuit.held()).toBe('timeout');
    circuit.answered();
    expect(circuit.held()).toBeNull();
    expect(circuit.standing()).toEqual({ state: 'answers', fault: null, sinceMs: null });
  });

  it('waits longer each time it fails again, and never longer than half a minute', () => {
    const { circuit, pass } = at();
    for (let failure = 0; failure < 3; failure += 1) circuit.failed('timeout');
    const pauses: number[] = [];
    for (let trial = 0; trial < 7; trial += 1) {
      let waited = 0;
      while (circuit.held() !== null) {
        pass(100);
        waited += 100;
      }
      pauses.push(waited);
      circuit.failed('timeout');
    }
    expect(pauses).toEqual([2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  });

  it('holds nobody back for longer where the clock is set back', () => {
    const { circuit, pass } = at(7_200_000);
    for (let failure = 0; failure < 3; failure += 1) circuit.failed('timeout');
    pass(-3_600_000);
    expect(circuit.held()).toBeNull();
    expect(circuit.held()).toBe('timeout');
  });

  it('lets another one try where the first was lost', () => {
    const { circuit, pass } = at();
    for (let failure = 0; failure < 3; failure += 1) circuit.failed('timeout');
    pass(2_000);
    expect(circuit.held()).toBeNull();
    pass(14_999);
    expect(circuit.held()).toBe('timeout');
    pass(1);
    expect(circuit.held()).toBeNull();
  });
});
