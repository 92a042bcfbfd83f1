import type { Payload } from '@temporalio/common';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { parseKeyRing } from '../domain/crypto/key-ring.js';
import { createPayloadCodec, REFUSED_PAYLOAD } from './codec.js';

const ring = (digit: string) => parseKeyRing(`k${digit}:${`${digit}0af`.repeat(16)}`);
const json = (value: unknown): Payload => ({
  metadata: { encoding: Buffer.from('json/plain') },
  data: Buffer.from(JSON.stringify(value)),
});
const valueOf = (payload: Payload | undefined): unknown => JSON.parse(Buffer.from(payload?.data ?? []).toString());
const said = { tool: 'wire_transfer', reason: 'a supplier of long standing' };

describe('a payload of a history', () => {
  let foreign: string[];
  const codec = (keys = ring('1')) => createPayloadCodec(keys, (workflowId) => void foreign.push(workflowId));
  const context = { type: 'workflow', workflowId: 'call-1', namespace: 'gate' } as const;
  beforeEach(() => {
    foreign = [];
  });

  it('is sealed: no word of it can be read in what the engine keeps', async () => {
    const [sealed] = await codec().encode([json(said)]);
    const kept = Buffer.from(sealed?.data ?? []).toString('latin1');
    for (const word of [...Object.keys(said), ...Object.values(said)]) expect(kept).not.toContain(word);
    expect((await codec().decode([sealed as Payload], context)).map(valueOf)).toEqual([said]);
    expect(foreign).toEqual([]);
  });

  it.each<[string, (sealed: Payload) => Payload]>([
    ['in clear', () => json({ ...said, decision: 'approve' })],
    ['without data', ({ metadata }) => ({ metadata: metadata ?? null })],
    ['with one bit changed', ({ metadata, data }) => ({ metadata: metadata ?? null, data: flipped(data) })],
    ['that only says it is sealed', ({ metadata }) => ({ ...json(said), metadata: metadata ?? null })],
  ])('%s is refused in every place it came from, and told', async (_what, change) => {
    const [sealed] = await codec().encode([json(said)]);
    expect((await codec().decode([change(sealed as Payload)], context)).map(valueOf)).toEqual([REFUSED_PAYLOAD]);
    expect(foreign).toEqual(['call-1']);
  });

  it('of another key is refused, and told', async () => {
    const sealed = await codec(ring('2')).encode([json(said)]);
    expect((await codec().decode(sealed, context)).map(valueOf)).toEqual([REFUSED_PAYLOAD]);
    expect(foreign).toEqual(['call-1']);
  });
});

function flipped(data: Uint8Array | null | undefined): Uint8Array {
  const bytes = Uint8Array.from(data ?? []);
  const middle = bytes.length >> 1;
  bytes[middle] = (bytes[middle] as number) ^ 1;
  return bytes;
}
