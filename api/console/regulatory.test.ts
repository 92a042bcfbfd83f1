import { EventEmitter, once } from 'node:events';
import { Readable } from 'node:stream';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { FastifyReply } from 'fastify';
import type { Over } from '../plugins/declaration.js';
import { ASK_LIMITS } from './ask-limits.js';
import { type RegulatoryBundles, regulatoryBundles } from './regulatory.js';
import { watchedFile } from './watched.js';

const QUERY = {
  from: '2026-01-02T00:00:00Z',
  to: '2026-01-03T00:00:00Z',
  includeExports: false,
  includeCompliance: true,
  annexIv: false,
  postMarketPlan: false,
  documentation: '',
};

let bundles: RegulatoryBundles;
let answer: (signal: AbortSignal) => { status: number; body: AsyncIterable<Uint8Array>; text?: string };
let signals: AbortSignal[];
beforeEach(() => {
  signals = [];
  answer = () => ({ status: 200, body: Readable.from([Buffer.from('a'), Buffer.from('b')]) });
  const stream: Over['fetch']['stream'] = async (_url, { signal }) => {
    signals.push(signal);
    const { status, body, text = '' } = answer(signal);
    return { status, body, text: () => Promise.resolve(text) };
  };
  const fetch = Object.assign(() => Promise.reject(new Error('only streams')), { stream });
  bundles = regulatoryBundles(Promise.resolve({ url: 'https://ledger.invalid', fetch }), ASK_LIMITS);
});
/** A file as the console sends it, and its connection. */
const sent = (body: AsyncIterable<Uint8Array>, hasLeft = false) => {
  const raw = Object.assign(new EventEmitter(), { destroyed: hasLeft, writableLength: 0, destroy: () => undefined });
  const reply = { raw, request: {} } as unknown as FastifyReply;
  return { raw, file: watchedFile(reply, body, { stands: () => Promise.resolve(true), drainMs: 60_000 }) };
};
const isFree = async (tenant = 'acme') => {
  try {
    await bundles(tenant, QUERY);
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: 'rate_limited', fields: { retry_after_secs: 30 } });
    return false;
  }
};

describe('an archive on its way to a browser', () => {
  it('holds the place of its tenant, and of no other, until its last byte', async () => {
    const { body } = await bundles('acme', QUERY);
    expect([await isFree(), await isFree('globex')]).toEqual([false, true]);
    const { raw, file } = sent(body);
    expect(Buffer.concat((await file.toArray()) as Buffer[]).toString()).toBe('ab');
    raw.emit('close');
    expect(await isFree()).toBe(true);
  });

  it('is given up with its reader, also before the first byte, and the ledger hears of it', async () => {
    for (const [reads, hasLeft] of [
      [0, true],
      [0, false],
      [1, false],
    ] as const) {
      const { body } = await bundles('acme', QUERY);
      const { raw, file } = sent(body, hasLeft);
      if (reads > 0) await once(file, 'readable');
      if (!hasLeft) raw.emit('close');
      await once(file, 'close');
      expect(signals.at(-1)?.aborted).toBe(true);
    }
    expect(await isFree()).toBe(true);
  });

  it('that breaks off in the middle is an error to who reads it, never a short file', async () => {
    answer = () => ({
      status: 200,
      body: (async function* () {
        yield Buffer.from('a');
        throw new Error('cut off');
      })(),
    });
    const { body } = await bundles('acme', QUERY);
    const { raw, file } = sent(body);
    await expect(file.toArray()).rejects.toThrow('cut off');
    raw.emit('close');
    expect(await isFree()).toBe(true);
  });

  it.each([
    [400, '{"error":"invalid_window","reason":"x"}', 'invalid_window'],
    [503, '{"error":"signing_unavailable"}', 'signing_unavailable'],
    [502, '<html>', 'console_neighbour_away'],
    [200, null, 'console_neighbour_away'],
  ])('that the ledger refuses with %d %s is %s, and the place is free', async (status, text, code) => {
    answer = () => {
      if (text === null) throw new Error('nobody there');
      return { status, body: Readable.from([]), text };
    };
    await expect(bundles('acme', QUERY)).rejects.toMatchObject({ code });
    answer = () => ({ status: 200, body: Readable.from([]) });
    expect(await isFree()).toBe(true);
  });
});
