import { describe, expect, it } from '@jest/globals';
import { readBrainConfig } from './brain.js';

describe('the settings of Brain', () => {
  it('need nothing: loopback, the shipped personas, the standard level', () => {
    expect(readBrainConfig({})).toEqual({
      host: '127.0.0.1',
      port: 8081,
      healthHost: '127.0.0.1',
      healthPort: 9081,
      personasDir: undefined,
      injectionLevel: 'standard',
      maskedParams: false,
      models: undefined,
    });
  });
  it('name every fault at once', () => {
    expect(() => readBrainConfig({ GATE_BRAIN_PORT: 'x', GATE_INJECTION_HEURISTIC_LEVEL: 'paranoid' })).toThrow(
      /GATE_BRAIN_PORT[\s\S]*GATE_INJECTION_HEURISTIC_LEVEL/,
    );
  });
});
