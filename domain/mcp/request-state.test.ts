import { describe, expect, it } from '@jest/globals';
import { keyRing } from '../crypto/key-ring.js';
import { requestStates } from './request-state.js';

const KEY = Buffer.alloc(32, 7);
const DAY_MS = 86_400_000;
const ONE = { tenant: 'acme', spiffe: 'spiffe://gate.local/tenant/acme/agent/one/instance/a' };
const STATE = {
  correlationId: '3f1f9f6e-7f3c-4a52-9a44-4d6f0c8c1c11',
  asks: 'sha256:one',
  askedMs: 5,
  questions: new Map([['user_name', 'q-1']]),
  opened: true,
};

const replica = ({ key = KEY, clock = { ms: 1_000_000 } } = {}) =>
  requestStates({ keys: keyRing(new Map([['k', key]])), now: () => clock.ms });
const invalid = expect.objectContaining({ code: 'request_state_invalid', status: 400 });
const thrownBy = (open: () => unknown): unknown => {
  try {
    return open();
  } catch (error) {
    return error;
  }
};

describe('the state of a request that is to be sent again', () => {
  it('is opened by every replica, for every instance of its agent', () => {
    const sealed = replica().seal(ONE, STATE);
    const renewed = { ...ONE, spiffe: ONE.spiffe.replace('/instance/a', '/instance/b') };
    expect(replica().open(renewed, sealed, STATE.asks)).toEqual(STATE);
    expect(replica().seal(ONE, STATE)).not.toBe(sealed);
  });

  it('is refused as one thing where it was changed, made elsewhere, is another agent’s, or too old', () => {
    const clock = { ms: 1_000_000 };
    const states = replica({ clock });
    const sealed = states.seal(ONE, STATE);
    const flipped = `${sealed.slice(0, -2)}${sealed.at(-2) === 'A' ? 'B' : 'A'}${sealed.at(-1) ?? ''}`;
    const others = [
      '',
      'x',
      flipped,
      `${sealed}-TAMPERED`,
      `${sealed}=`,
      `${sealed} `,
      `${sealed}!`,
      'A'.repeat(100_000),
      replica({ key: Buffer.alloc(32, 8) }).seal(ONE, STATE),
    ];
    for (const other of others) expect(thrownBy(() => states.open(ONE, other, STATE.asks))).toEqual(invalid);
    const another = { tenant: 'acme', spiffe: 'spiffe://gate.local/tenant/acme/agent/two/instance/a' };
    const elsewhere = { ...ONE, tenant: 'globex' };
    for (const owner of [another, elsewhere])
      expect(thrownBy(() => states.open(owner, sealed, STATE.asks))).toEqual(invalid);
    clock.ms += 2 * DAY_MS;
    expect(states.open(ONE, sealed, STATE.asks)).toEqual(STATE);
    clock.ms += 1;
    expect(thrownBy(() => states.open(ONE, sealed, STATE.asks))).toEqual(invalid);
    clock.ms = 1_000_000 - 60_001;
    expect(thrownBy(() => states.open(ONE, sealed, STATE.asks))).toEqual(invalid);
  });

  it('is opened with as many questions as there may be, under the longest keys', () => {
    // JSON writes each of these characters with six.
    const key = (at: number) => `${'\u0001'.repeat(127)}${String.fromCharCode(at)}`;
    const questions = new Map(
      Array.from({ length: 16 }, (_, at) => [`${key(at)}.16`, '3f1f9f6e-7f3c-4a52-9a44-4d6f0c8c1c11']),
    );
    const state = { ...STATE, questions, asks: `sha256:${'a'.repeat(64)}` };
    const keys = keyRing(new Map([['k'.repeat(32), KEY]]));
    const sealed = requestStates({ keys }).seal(ONE, state);
    expect(sealed.length).toBeGreaterThan(16_384);
    expect(sealed.length).toBeLessThan(18_000);
    expect(requestStates({ keys }).open(ONE, sealed, state.asks)).toEqual(state);
  });

  it('belongs to its request: beside another one it is refused by another code', () => {
    const states = replica();
    const sealed = states.seal(ONE, STATE);
    expect(thrownBy(() => states.open(ONE, sealed, 'sha256:two'))).toMatchObject({ code: 'request_state_mismatch' });
  });
});
