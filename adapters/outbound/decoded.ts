import { addAbortSignal, type Duplex, Readable, pipeline } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

/** An answer says that it is coded in a way that nothing here undoes. */
export class UnknownCoding extends Error {
  override readonly name = 'UnknownCoding';
}

/** What arrives of a stream that is not ended yet is handed on, and one that is cut off ends where it was cut. */
const ZLIB = { finishFlush: constants.Z_SYNC_FLUSH };
const DECODERS: Readonly<Record<string, () => Duplex>> = {
  gzip: () => createGunzip(ZLIB),
  'x-gzip': () => createGunzip(ZLIB),
  deflate: () => createInflate(ZLIB),
  br: () => createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH }),
};

/**
 * The bytes of an answer without its `Content-Encoding`: one coding at most, because a few coded one in another unfold a kilobyte to
 * terabytes. Pieces of 16 KiB come as they are read, so whoever stops reading at a limit never holds more than the limit and one piece. What
 * was read and is not unfolded yet ends with the signal: a kilobyte of it may be many megabytes, and meanwhile nobody asks the other end.
 */
export async function* decoded(
  coding: string | string[] | undefined,
  chunks: AsyncIterable<Buffer>,
  signal?: AbortSignal,
): AsyncGenerator<Buffer> {
  const name = (Array.isArray(coding) ? coding.join(',') : (coding ?? '')).trim().toLowerCase();
  if (name === '' || name === 'identity') return yield* chunks;
  const decoder = Object.hasOwn(DECODERS, name) ? DECODERS[name]?.() : undefined;
  // Whoever answers chooses the name, and an agent reads why there is no answer.
  if (!decoder) throw new UnknownCoding('the answer has a content coding other than one of gzip, deflate and br');
  // An error of either side reaches whoever reads the decoder.
  pipeline(Readable.from(chunks), decoder, () => undefined);
  if (signal) addAbortSignal(signal, decoder);
  yield* decoder as AsyncIterable<Buffer>;
}
