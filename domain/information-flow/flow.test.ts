import { describe, expect, it } from '@jest/globals';
import { parseKeyRing } from '../crypto/key-ring.js';
import { type FlowOwner, flowSealing } from './flow.js';

const keys = parseKeyRing(`k1:${'0123456789abcdef'.repeat(4)}`);
const sealing = flowSealing(keys);
const ANN: FlowOwner = { tenant: 'acme', agent: 'ann' };
const digestOf = (owner: FlowOwner, kind: 'mail' | 'name', form: string): string =>
  sealing.digester(owner, sealing.activeKey)?.(kind, form) ?? '';

describe('what is kept of a value', () => {
  it('is another digest for another tenant, agent, kind or value, and the same for the same', () => {
    const all = [
      digestOf(ANN, 'mail', 'eve@evil.example'),
      digestOf({ ...ANN, agent: 'bob' }, 'mail', 'eve@evil.example'),
      digestOf({ ...ANN, tenant: 'globex' }, 'mail', 'eve@evil.example'),
      // What one names as its tenant and agent is not what another one does.
      digestOf({ tenant: 'acme/ann', agent: '' }, 'mail', 'eve@evil.example'),
      digestOf(ANN, 'name', 'eve@evil.example'),
      digestOf(ANN, 'mail', 'eve@evil.example.org'),
    ];
    expect(new Set(all).size).toBe(all.length);
    expect(all.every((digest) => /^[\w+/-]{11}$/.test(digest))).toBe(true);
    expect(digestOf({ ...ANN }, 'mail', 'eve@evil.example')).toBe(all[0]);
  });

  it('opens for its own agent and call alone', () => {
    const answer = {
      id: 'call-1',
      key: sealing.activeKey,
      brought: new Map([[digestOf(ANN, 'mail', 'eve@evil.example'), 0]]),
      fields: [{ pointer: '/result/content/0/text', tool: 'read_mail' }],
      own: new Set<string>(),
      vouched: new Set<string>(),
      lostAddresses: false,
      lostNames: true,
    };
    const sealed = sealing.seal(ANN, answer);
    expect(sealing.open(ANN, 'call-1', sealed)).toEqual(answer);
    for (const [owner, id] of [
      [{ ...ANN, agent: 'bob' }, 'call-1'],
      [{ ...ANN, tenant: 'globex' }, 'call-1'],
      [ANN, 'call-2'],
    ] as const)
      expect(() => sealing.open(owner, id, sealed)).toThrow();
  });
});
