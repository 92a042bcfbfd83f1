import { Readable } from 'node:stream';

/** A route's reply. Its schema describes the answer; a stream is sent unchanged. */
interface StreamReply {
  type(contentType: string): unknown;
  send(payload: never): unknown;
}

/**
 * Sends JSON text of any length piece by piece; the next piece is made when the client has taken the last. A fault before the first piece
 * is an ordinary error. After that the connection is cut, so that no client takes a part for the whole.
 */
export async function sendPieces<Reply extends StreamReply>(
  reply: Reply,
  pieces: AsyncGenerator<string>,
): Promise<Reply> {
  const first = await pieces.next();
  reply.type('application/json; charset=utf-8');
  reply.send(Readable.from(following(first, pieces), { objectMode: false }) as never);
  return reply;
}

async function* following(first: IteratorResult<string>, pieces: AsyncGenerator<string>): AsyncGenerator<string> {
  if (first.done) return;
  yield first.value;
  yield* pieces;
}

/** Sends a JSON array. */
export const sendList = <Item, Reply extends StreamReply>(
  reply: Reply,
  pages: AsyncIterable<readonly Item[]>,
): Promise<Reply> => sendPieces(reply, listPieces(pages));

async function* listPieces<Item>(pages: AsyncIterable<readonly Item[]>): AsyncGenerator<string> {
  let separator = '[';
  for await (const page of pages) {
    if (page.length === 0) continue;
    yield separator + page.map((item) => JSON.stringify(item)).join(',');
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}
