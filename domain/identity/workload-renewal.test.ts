import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { GateError } from '../errors.js';
import type { TlsCredential } from './live-tls.js';
import {
  createWorkloadRenewal,
  type HeldCertificate,
  type KeptTrust,
  type PendingRequest,
  type WorkloadKeep,
  type WorkloadRenewal,
} from './workload-renewal.js';

const LIFE_MS = 1_800_000;
const FIRST = { cert: 'first', key: 'its key' };
const away = () => new GateError('ca_unavailable', 'identity does not answer');

describe('the certificate of a service', () => {
  let current: HeldCertificate | null;
  let pending: PendingRequest | null;
  let trust: KeptTrust | null;
  let identity: (request: PendingRequest, shown: string) => string;
  /** What identity was asked, and with which certificate. */
  let asked: string[];
  let told: string[];
  let renewal: WorkloadRenewal;
  let requests: number;
  let given: number;

  const keep: WorkloadKeep = {
    current: () => current,
    pending: () => pending,
    trust: () => trust,
    storeTrust: (kept) => void (trust = kept),
    storePending: (request) => void (pending = request),
    storeCurrent: (held) => void ([current, pending] = [held, null]),
  };
  const open = (): WorkloadRenewal =>
    createWorkloadRenewal({
      name: 'ledger',
      ca: 'ca',
      keep,
      newRequest: async () => ({ requestId: `r${(requests += 1)}`, csr: '', key: `k${requests}` }),
      ask: async (request, shown) => {
        asked.push(`${request.requestId} with ${shown.cert}`);
        return { cert: identity(request, shown.cert), key: request.key, notAfterMs: Date.now() + LIFE_MS };
      },
      bootstrap: async () => FIRST,
      random: () => 0.5,
      onRenewed: () => told.push('renewed'),
      onFailed: (reason, inMs) => told.push(`failed, again in ${inMs}: ${reason}`),
      onEnded: () => told.push('ended'),
    });
  beforeEach(() => {
    jest.useFakeTimers({ now: 1_800_000_000_000 });
    [current, pending, trust, asked, told, requests, given] = [null, null, null, [], [], 0, 0];
    identity = () => `c${(given += 1)}`;
    renewal = open();
  });
  afterEach(async () => {
    await renewal.close();
    jest.useRealTimers();
  });
  const passes = (ms: number) => jest.advanceTimersByTimeAsync(ms);

  it('is had with the first one, and renewed with itself at half of its time', async () => {
    const heard: TlsCredential[] = [];
    renewal.onRenewed((next) => heard.push(next));
    await renewal.start(1_000);
    expect(renewal.now()).toEqual({ ca: 'ca', cert: 'c1', key: 'k1' });
    await passes(LIFE_MS / 2 - 1_000);
    expect(asked).toEqual(['r1 with first']);
    await passes(2_000);
    expect(asked).toEqual(['r1 with first', 'r2 with c1']);
    expect(heard.map(({ cert }) => cert)).toEqual(['c1', 'c2']);
    expect(renewal.ready()).toBeUndefined();
  });

  it('is the kept one after a restart, for which nobody is asked', async () => {
    current = { cert: 'kept', key: 'k', notAfterMs: Date.now() + 60_000 };
    await renewal.start(1_000);
    expect([renewal.now().cert, asked]).toEqual(['kept', []]);
    await passes(31_000);
    expect(asked).toEqual(['r1 with kept']);
  });

  it('is had with the first one again where the kept one has ended', async () => {
    current = { cert: 'kept', key: 'k', notAfterMs: Date.now() - 1 };
    await renewal.start(1_000);
    expect(asked).toEqual(['r1 with first']);
  });

  it('is asked for again with the same request after 1, 4 and 16 s, and then twice a minute', async () => {
    await renewal.start(1_000);
    identity = () => {
      throw away();
    };
    await passes(LIFE_MS / 2);
    await passes(21_000);
    expect(new Set(asked.slice(1))).toEqual(new Set(['r2 with c1']));
    expect(asked).toHaveLength(5);
    expect(told.slice(1, 4).map((line) => line.split(':')[0])).toEqual([
      'failed, again in 1000',
      'failed, again in 4000',
      'failed, again in 16000',
    ]);
    expect(renewal.ready()).toBe('not renewed: identity does not answer');
    await passes(60_000);
    expect(asked).toHaveLength(7);
    identity = () => 'back';
    await passes(30_000);
    expect([renewal.now().cert, renewal.ready()]).toEqual(['back', undefined]);
  });

  it('counts to its end without identity, then nothing is connected with it, and that is said by name, once', async () => {
    await renewal.start(1_000);
    identity = () => {
      throw away();
    };
    await passes(LIFE_MS - 1_000);
    expect(renewal.now().cert).toBe('c1');
    await passes(2_000);
    expect(() => renewal.now()).toThrow('the certificate of the service ledger ended');
    expect(() => renewal.ready()).toThrow(
      'the certificate of the service ledger ended at 2027-01-15T08:30:00.000Z, and identity gave no other one: identity does not answer',
    );
    await passes(120_000);
    expect(told.filter((line) => line === 'ended')).toHaveLength(1);
    identity = () => 'back';
    await passes(31_000);
    expect([renewal.now().cert, asked.at(-1)]).toEqual(['back', 'r2 with first']);
  });

  it('that ended while the machine slept is had again as soon as it wakes', async () => {
    await renewal.start(1_000);
    jest.setSystemTime(Date.now() + 3 * LIFE_MS);
    await passes(15_001);
    expect([renewal.now().cert, asked.at(-1)]).toEqual(['c2', 'r2 with first']);
  });

  it('that ended while the machine slept is asked for at once by who connects', async () => {
    await renewal.start(1_000);
    jest.setSystemTime(Date.now() + 3 * LIFE_MS);
    expect(() => renewal.now()).toThrow('the certificate of the service ledger ended');
    await renewal.settled();
    expect(renewal.now().cert).toBe('c2');
  });

  it('is renewed where a clock was put back', async () => {
    await renewal.start(1_000);
    jest.setSystemTime(Date.now() - 3 * LIFE_MS);
    await passes(15_001);
    expect(asked).toHaveLength(2);
  });

  it('whose request was answered and lost is asked for with the request that was stored', async () => {
    pending = { requestId: 'left', csr: '', key: 'k0' };
    await renewal.start(1_000);
    expect(asked).toEqual(['left with first']);
    expect([renewal.now().key, pending]).toEqual(['k0', null]);
  });

  it('whose stored request came to nothing is asked for with a new one, at once', async () => {
    pending = { requestId: 'left', csr: '', key: 'k0' };
    identity = ({ requestId }) => {
      if (requestId === 'left') throw new GateError('issuance_conflict');
      return 'new';
    };
    await renewal.start(1_000);
    expect(asked).toEqual(['left with first', 'r1 with first']);
    expect(renewal.now().cert).toBe('new');
  });

  it('is asked for again with the same request where identity was asked too often', async () => {
    identity = () => {
      throw new GateError('rate_limited');
    };
    const started = renewal.start(60_000);
    await passes(2_000);
    identity = () => 'had';
    await passes(5_000);
    await started;
    expect([renewal.now().cert, new Set(asked)]).toEqual(['had', new Set(['r1 with first'])]);
  });

  it('that was taken back is had again with the first one, which an operator let count once more', async () => {
    await renewal.start(1_000);
    identity = (_request, shown) => {
      if (shown === 'c1') throw new GateError('issuance_conflict', 'the certificate was revoked');
      return 'recovered';
    };
    await passes(LIFE_MS / 2 + 1_000);
    expect(asked.slice(1)).toEqual(['r2 with c1', 'r2 with first']);
    expect(renewal.now().cert).toBe('recovered');
  });

  it('ends a start with what identity says, at once where it refuses, and after a limit where it does not answer', async () => {
    identity = () => {
      throw new GateError('issuance_conflict', 'the bootstrap certificate was used');
    };
    await expect(renewal.start(60_000)).rejects.toThrow('the bootstrap certificate was used');
    identity = () => {
      throw away();
    };
    const slow = open();
    const started = slow.start(10_000);
    const refused = expect(started).rejects.toThrow('identity does not answer');
    await passes(30_000);
    await refused;
    await slow.close();
  });

  it('is waited for by who connects before it is there', async () => {
    expect(() => renewal.now()).toThrow('the service ledger has no certificate yet');
    const had = renewal.had();
    await renewal.start(1_000);
    await had;
  });

  describe('of a service that is told other CAs', () => {
    const heard: TlsCredential[] = [];
    beforeEach(async () => {
      heard.length = 0;
      await renewal.start(1_000);
      renewal.onRenewed((next) => heard.push(next));
    });

    it('stays, and is shown beside them from then on, also after a restart', async () => {
      renewal.trust({ sequence: 2, ca: 'both' });
      expect(heard).toEqual([{ ca: 'both', cert: 'c1', key: 'k1' }]);
      expect([renewal.now().ca, renewal.trusted()]).toEqual(['both', 'both']);
      await renewal.close();
      renewal = open();
      await renewal.start(1_000);
      expect([renewal.now(), asked.length]).toEqual([{ ca: 'both', cert: 'c1', key: 'k1' }, 1]);
    });

    it('makes no new connections where they are the same, and takes no older ones', () => {
      renewal.trust({ sequence: 3, ca: 'ca' });
      renewal.trust({ sequence: 2, ca: 'withdrawn' });
      expect([heard, renewal.trusted(), trust]).toEqual([[], 'ca', { sequence: 3, ca: 'ca' }]);
    });

    it('says which CAs count where it has ended', async () => {
      identity = () => {
        throw away();
      };
      renewal.trust({ sequence: 2, ca: 'both' });
      await passes(LIFE_MS + 1);
      expect(() => renewal.now()).toThrow('ended at');
      expect(renewal.trusted()).toBe('both');
    });
  });
});
