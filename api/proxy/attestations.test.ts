import { beforeEach, describe, expect, it } from '@jest/globals';
import type { VerifiedAttestation } from '../../contracts/verified-attestation.js';
import { GateError } from '../../domain/errors.js';
import { type AttestationOf, attestationsKnown } from './attestations.js';

const CALLER = { spiffe: 'spiffe://gate.local/tenant/acme/agent/bot/instance/1', fingerprint: 'a'.repeat(64) };

describe('what a proxy knows of the platform of an agent', () => {
  let now: number;
  let asked: number;
  let answer: () => Promise<VerifiedAttestation | null>;
  let known: AttestationOf;
  const verified = (forMs: number, over: object = {}) =>
    ({
      spiffeId: CALLER.spiffe,
      svidSha256: `sha256:${CALLER.fingerprint}`,
      expiresAt: new Date(now + forMs).toISOString(),
      ...over,
    }) as VerifiedAttestation;
  beforeEach(() => {
    [now, asked] = [1_800_000_000_000, 0];
    known = attestationsKnown({
      now: () => now,
      ask() {
        asked += 1;
        return answer();
      },
    });
  });

  it('is asked once in two seconds, so one that was withdrawn counts no longer', async () => {
    const result = verified(900_000);
    answer = () => Promise.resolve(result);
    expect([await known(CALLER), await known(CALLER), asked]).toEqual([result, result, 1]);
    now += 1_999;
    await known(CALLER);
    expect(asked).toBe(1);
    now += 1;
    answer = () => Promise.resolve(null);
    expect([await known(CALLER), asked]).toEqual([null, 2]);
    // And is not there again where identity goes away.
    answer = () => Promise.reject(new GateError('control_state_unavailable'));
    await expect(known(CALLER)).rejects.toMatchObject({ code: 'control_state_unavailable' });
  });

  it('counts for five minutes where identity does not answer, and then nobody knows', async () => {
    const result = verified(900_000);
    answer = () => Promise.resolve(result);
    await known(CALLER);
    answer = () => Promise.reject(new GateError('control_state_unavailable'));
    now += 299_999;
    expect([await known(CALLER), asked]).toEqual([result, 2]);
    now += 1;
    await expect(known(CALLER)).rejects.toMatchObject({ code: 'control_state_unavailable' });
  });

  it('counts no longer than it says, and for no other certificate', async () => {
    answer = () => Promise.resolve(verified(10_000));
    await known(CALLER);
    await known({ ...CALLER, fingerprint: 'b'.repeat(64) });
    expect(asked).toBe(2);
    now += 10_000;
    answer = () => Promise.resolve(null);
    expect([await known(CALLER), asked]).toEqual([null, 3]);
  });

  it('is nothing where the answer is of another certificate, or over', async () => {
    for (const over of [
      { spiffeId: 'another' },
      { svidSha256: 'another' },
      { expiresAt: new Date(now).toISOString() },
    ]) {
      answer = () => Promise.resolve(verified(900_000, over));
      expect(await known(CALLER)).toBeNull();
    }
  });

  it('is asked anew where nothing counted, and unknown where identity does not say', async () => {
    answer = () => Promise.resolve(null);
    expect([await known(CALLER), await known(CALLER), asked]).toEqual([null, null, 2]);
    answer = () => Promise.reject(new GateError('control_state_unavailable'));
    await expect(known(CALLER)).rejects.toMatchObject({ code: 'control_state_unavailable' });
  });
});
