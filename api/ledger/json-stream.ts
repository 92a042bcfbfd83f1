import { Readable } from 'node:stream';

/**
 * Answers with a JSON list of any length, page by page: the next page is read when the client has taken the last. What fails before the
 * first page is an ordinary error; later the connection breaks off, which no client can take for a whole list.
 */
export async function sendList<Item, Reply extends ListReply>(
  reply: Reply,
  pages: AsyncGenerator<readonly Item[]>,
): Promise<Reply> {
  const first = await pages.next();
  reply.type('application/json; charset=utf-8');
  reply.send(Readable.from(text(first, pages), { objectMode: false }) as never);
  return reply;
}

/** A route's reply. Its schema describes the list; a stream is sent as it is. */
interface ListReply {
  type(contentType: string): unknown;
  send(payload: never): unknown;
}

async function* text<Item>(
  first: IteratorResult<readonly Item[]>,
  pages: AsyncGenerator<readonly Item[]>,
): AsyncGenerator<string> {
  let separator = '[';
  for (let page = first; !page.done; page = await pages.next()) {
    if (page.value.length === 0) continue;
    yield separator + page.value.map((item) => JSON.stringify(item)).join(',');
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}
