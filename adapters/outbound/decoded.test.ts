import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { bytesUpTo, TooLong, upTo } from './body.js';
import { decoded, UnknownCoding } from './decoded.js';

const pieces = async function* (bytes: Buffer, size = 1_000) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
};
const read = async (coding: string | string[] | undefined, bytes: Buffer, limit = 1_000_000) =>
  (await bytesUpTo(limit, decoded(coding, pieces(bytes)))).toString();
const TEXT = JSON.stringify({ text: 'été '.repeat(2_000) });

describe('an answer without its content coding', () => {
  it.each([
    [undefined, Buffer.from(TEXT)],
    ['', Buffer.from(TEXT)],
    ['identity', Buffer.from(TEXT)],
    ['gzip', gzipSync(TEXT)],
    [' GZip ', gzipSync(TEXT)],
    ['x-gzip', gzipSync(TEXT)],
    ['deflate', deflateSync(TEXT)],
    ['br', brotliCompressSync(TEXT)],
  ])('%s is what was coded', async (coding, bytes) => {
    expect(await read(coding, bytes)).toBe(TEXT);
  });

  it('is read no further than its limit, however much it would unfold to', async () => {
    let handedOn = 0;
    const counted = async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        handedOn += chunk.byteLength;
        yield chunk;
      }
    };
    const bomb = gzipSync(Buffer.alloc(200_000_000));
    expect(bomb.byteLength).toBeLessThan(300_000);
    const reading = bytesUpTo(1_000_000, upTo(1_000_000, counted(decoded('gzip', pieces(bomb)))));
    await expect(reading).rejects.toBeInstanceOf(TooLong);
    expect(handedOn).toBeLessThan(1_200_000);
  });

  it.each(['gzip, gzip', 'gzip,br', 'zstd', 'compress', '__proto__'])('%s is refused', async (coding) => {
    await expect(read(coding, gzipSync(TEXT))).rejects.toBeInstanceOf(UnknownCoding);
    await expect(read([coding, 'gzip'], gzipSync(TEXT))).rejects.toBeInstanceOf(UnknownCoding);
  });

  it('is a fault where it is not what it is called, or its source breaks off', async () => {
    await expect(read('gzip', Buffer.from(TEXT))).rejects.toThrow(/header/);
    const breaking = async function* () {
      yield gzipSync(TEXT).subarray(0, 20);
      throw new Error('the connection broke');
    };
    await expect(bytesUpTo(1_000, decoded('gzip', breaking()))).rejects.toThrow(/connection broke/);
  });

  it.each(['gzip', 'br'])('%s ends with the signal, however much is read and not unfolded yet', async (coding) => {
    const zeros = Buffer.alloc(20_000_000);
    const bomb = coding === 'br' ? brotliCompressSync(zeros) : gzipSync(zeros);
    const over = new AbortController();
    const source = decoded(coding, pieces(bomb, bomb.length), over.signal);
    await source.next();
    over.abort();
    await expect(source.next()).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('comes as it is read: an event of a stream that goes on is not held back', async () => {
    const { createGzip } = await import('node:zlib');
    const gzip = createGzip();
    gzip.write('data: first\n\n');
    await new Promise<void>((flushed) => gzip.flush(flushed));
    const source = decoded('gzip', gzip as AsyncIterable<Buffer>);
    const { value } = await source.next();
    expect((value as Buffer).toString()).toBe('data: first\n\n');
    gzip.destroy();
    await source.return(undefined);
  });
});
