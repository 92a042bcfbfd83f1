import { describe, expect, it } from '@jest/globals';
import { settingLines } from '../config/setting-lines.js';
import { APART_SETTINGS, readApartConfig, START_SETTINGS } from './process-settings.js';
import { PROCESS_NAMES, type ProcessName } from './services.js';

const required = (name: ProcessName): string[] =>
  settingLines(APART_SETTINGS[name])
    .filter((line) => line.default === 'required')
    .map((line) => line.variable);

describe('the settings of processes apart', () => {
  it.each(PROCESS_NAMES.map((name) => [name] as const))(
    'of %s without an environment name all that is required at once',
    (name) => {
      expect(() => readApartConfig(name, {})).toThrow(`gate ${name === 'worker' ? 'worker' : `serve ${name}`}: `);
      for (const variable of required(name)) expect(() => readApartConfig(name, {})).toThrow(`${variable}: is not set`);
    },
  );

  it('ask proxy and worker for the database they share; services with a store of their own may keep a file', () => {
    for (const name of ['proxy', 'worker'] as const) expect(required(name)).toContain('GATE_DATABASE_URL');
    for (const name of ['hil', 'ledger'] as const) expect(required(name)).not.toContain('GATE_DATABASE_URL');
  });

  it('give secrets to those only who use them', () => {
    const holders = (variable: string) =>
      PROCESS_NAMES.filter((name) => settingLines(APART_SETTINGS[name]).some((line) => line.variable === variable));
    expect(holders('GATE_RECORD_KEYS')).toEqual(['proxy', 'worker']);
    expect(holders('GATE_PAYLOAD_KEYS')).toEqual(['proxy', 'hil', 'worker']);
    expect(holders('GATE_HIL_PAYLOAD_KEYS')).toEqual(['hil']);
    expect(holders('GATE_HIL_SESSION_KEY')).toEqual(['hil']);
    // Who decides can sign; who executes or authorizes can only check.
    expect(holders('GATE_HIL_DECISION_KEY_FILE')).toEqual(['hil']);
    expect(holders('GATE_HIL_DECISION_PUBLIC_KEY_FILE')).toEqual(['proxy', 'worker']);
    expect(holders('GATE_LEDGER_SIDECAR_KEYS')).toEqual(['ledger']);
    expect(holders('GATE_POLICY_STORE_KEYS')).toEqual(['policy-engine']);
    expect(holders('GATE_SIGNING_KEY_FILE')).toEqual(['proxy']);
    expect(holders('GATE_CALLBACK_SECRET')).toEqual(['worker']);
    const secretsOf = (name: (typeof PROCESS_NAMES)[number]) =>
      settingLines(APART_SETTINGS[name]).flatMap(({ secret, variable }) => (secret ? [variable] : []));
    expect(secretsOf('brain')).toEqual([]);
    expect(secretsOf('policy-engine')).toEqual(['GATE_DATABASE_URL', 'GATE_POLICY_STORE_KEYS']);
  });

  it('say the same default for a variable wherever it is read', () => {
    const seen = new Map<string, string>();
    for (const groups of [START_SETTINGS, ...Object.values(APART_SETTINGS)])
      for (const line of settingLines(groups)) {
        const earlier = seen.get(line.variable);
        if (earlier !== undefined && line.default !== 'required' && earlier !== 'required')
          expect([line.variable, line.default]).toEqual([line.variable, earlier]);
        seen.set(line.variable, line.default);
      }
  });

  it('bind loopback unless told otherwise', () => {
    for (const name of PROCESS_NAMES)
      for (const line of settingLines(APART_SETTINGS[name]))
        if (line.variable.endsWith('_HOST'))
          expect([line.variable, line.default]).toEqual([line.variable, '127.0.0.1']);
  });
});
