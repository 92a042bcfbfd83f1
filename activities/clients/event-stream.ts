const LF = 0x0a;
const CR = 0x0d;

/**
 * The data of each message in a stream of server-sent events (HTML, section 9.2.6), as it arrives. Event names other than `message`, ids
 * and retry times are ignored, because nothing here resumes a broken stream. Linear in the bytes, however they are split.
 */
export async function* messagesIn(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let data: string[] = [];
  let event = '';
  for await (const line of linesIn(chunks)) {
    if (line === '') {
      const message = data.join('\n');
      if (message !== '' && (event === '' || event === 'message')) yield message;
      data = [];
      event = '';
      continue;
    }
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') data.push(value);
    else if (field === 'event') event = value;
  }
}

/** Complete lines; text after the last line break is dropped when the stream ends. */
async function* linesIn(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let begun: Uint8Array[] = [];
  let afterCr = false;
  let first = true;
  const line = (end: Uint8Array): string => {
    const text = Buffer.concat([...begun, end]).toString('utf8');
    begun = [];
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
        yield line(chunk.subarray(from, at));
        from = at + 1;
      }
      afterCr = byte === CR;
    }
    if (from < chunk.length) begun.push(chunk.subarray(from));
  }
}
