/** An answer is longer than whoever asked allows. */
export class TooLong extends Error {
  constructor(readonly limit: number) {
    super(`the answer is larger than ${limit} bytes`);
    this.name = 'TooLong';
  }
}

/** The pieces of an answer as they come, at most so many bytes of them. Ended early, the stream is ended with it. */
export async function* upTo<Piece extends Uint8Array>(
  limit: number,
  pieces: AsyncIterable<Piece>,
): AsyncGenerator<Piece> {
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.byteLength;
    if (bytes > limit) throw new TooLong(limit);
    yield piece;
  }
}

/** All of an answer. Throws TooLong. */
export async function bytesUpTo(limit: number, pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const piece of upTo(limit, pieces)) parts.push(piece);
  return Buffer.concat(parts);
}

/** The pieces of an answer of the platform's `fetch`, which has none where it has no body. */
export async function* piecesOf({ body }: Response): AsyncGenerator<Uint8Array> {
  if (body !== null) yield* body;
}
