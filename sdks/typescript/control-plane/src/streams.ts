import { GateTransportError } from './errors.js';

/** An event of a stream. `id` names its place: a stream that begins behind it misses nothing. */
export interface ServerEvent {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

const MOST_LINE = 4 * 2 ** 20;

/** The lines of a text that comes in pieces, whichever way it is cut. Without what stands behind the last end of a line. */
async function* linesIn(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of pieces) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
    rest = lines.pop() as string;
    if (rest.length > MOST_LINE) throw new GateTransportError('a line of the stream has more than 4 MiB');
    for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line;
  }
}

/** Lines of JSON, each as it comes. */
export async function* valuesIn(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<unknown> {
  for await (const line of linesIn(pieces)) {
    if (line === '') continue;
    try {
      yield JSON.parse(line);
    } catch (cause) {
      throw new GateTransportError('a line of the stream is no JSON', { cause });
    }
  }
}

/** Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). One that is cut off is none. */
export async function* eventsIn(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  let id = '';
  let event = '';
  let data: string[] = [];
  let fields = 0;
  for await (const line of linesIn(pieces)) {
    if (line === '') {
      if (fields > 0) yield { id, event: event === '' ? 'message' : event, data: data.join('\n') };
      event = '';
      data = [];
      fields = 0;
      continue;
    }
    const colon = line.indexOf(':');
    if (colon === 0) continue;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1));
    if (name === 'id' && !value.includes('\0')) id = value;
    else if (name === 'event') event = value;
    else if (name === 'data') data.push(value);
    else continue;
    fields += 1;
  }
}
