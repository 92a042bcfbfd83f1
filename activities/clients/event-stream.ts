const LF = 0x0a;
const CR = 0x0d;

/** One event of a stream. `id` is the last one that the stream named; `data` is empty where an event only names that. */
export interface StreamedEvent {
  readonly event: string;
  readonly data: string;
  readonly id: string;
  /** Of the stream, from the end of the event before it to its own. */
  readonly bytes: number;
}

/** Each event of a stream of server-sent events (HTML, section 9.2.6), as it arrives. Linear in the bytes, however they are split. */
export async function* eventsIn(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<StreamedEvent> {
  let data: string[] = [];
  let event = '';
  let id = '';
  let begin = 0;
  for await (const { line, end } of linesIn(chunks)) {
    if (line === '') {
      yield { event, data: data.join('\n'), id, bytes: end - begin };
      data = [];
      event = '';
      begin = end;
      continue;
    }
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') data.push(value);
    else if (field === 'event') event = value;
    else if (field === 'id' && !value.includes('\0')) id = value;
  }
}

/**
 * Complete lines, each with the place in the stream behind it; text after the last line break is dropped when the stream ends. Throws where more
 * than `mostBytes` come without a line break.
 */
export async function* linesIn(
  chunks: AsyncIterable<Uint8Array>,
  mostBytes = Number.POSITIVE_INFINITY,
): AsyncGenerator<{ readonly line: string; readonly end: number }> {
  let begun: Uint8Array[] = [];
  let afterCr = false;
  let first = true;
  let before = 0;
  let begunBytes = 0;
  const line = (end: Uint8Array): string => {
    const text = Buffer.concat([...begun, end]).toString('utf8');
    begun = [];
    begunBytes = 0;
    const whole = first && text.startsWith('\ufeff') ? text.slice(1) : text;
    first = false;
    return whole;
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (byte === LF && afterCr) from = at + 1;
      else if (byte === LF || byte === CR) {
        yield { line: line(chunk.subarray(from, at)), end: before + at + 1 };
        from = at + 1;
      }
      afterCr = byte === CR;
    }
    if (from < chunk.length) begun.push(chunk.subarray(from));
    begunBytes += chunk.length - from;
    if (begunBytes > mostBytes) throw new Error(`a line has more than ${mostBytes} bytes`);
    before += chunk.length;
  }
}
