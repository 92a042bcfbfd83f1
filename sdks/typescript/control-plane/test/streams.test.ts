import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { answerJson, type StubGate, stubGate } from '../../agent-sdk/test/stub-gate.js';
import { connect, GateRefused, GateTransportError, type ServerEvent } from '../src/index.js';
import { eventsIn, valuesIn } from '../src/streams.js';

/** The text, cut at these places. */
async function* cut(text: string, places: readonly number[]): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let from = 0;
  for (const place of [...places.map((at) => at % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]) {
    yield bytes.subarray(from, place);
    from = place;
  }
}
async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const value of values) found.push(value);
  return found;
}

describe('a stream means the same wherever it is cut', () => {
  const places = fc.array(fc.nat(400), { maxLength: 12 });

  it('as events', () =>
    fc.assert(
      fc.asyncProperty(places, async (at) => {
        const text =
          ': hello\n\nretry: 5\nid: 1\n\nid: 2\r\nevent: change\r\ndata: ü1\r\ndata:  b\r\n\r\ndata: x\n\nid: 9\ndata: cut off';
        expect(await all(eventsIn(cut(text, at)))).toEqual([
          { id: '1', event: 'message', data: '' },
          { id: '2', event: 'change', data: 'ü1\n b' },
          { id: '2', event: 'message', data: 'x' },
        ]);
      }),
    ));

  it('as lines of JSON', () =>
    fc.assert(
      fc.asyncProperty(places, async (at) => {
        expect(await all(valuesIn(cut('{"a":"ü"}\n\n[1]\n', at)))).toEqual([{ a: 'ü' }, [1]]);
      }),
    ));

  it('and an invalid line is a fault', async () => {
    await expect(all(valuesIn(cut('{"a":\n', [])))).rejects.toThrow(GateTransportError);
  });
});

describe('events of a service', () => {
  let gate: StubGate;
  beforeAll(async () => {
    gate = await stubGate();
  });
  afterAll(() => gate.close());
  beforeEach(() => {
    gate.asked.length = 0;
  });
  const hil = () => connect('hil', { url: gate.url, retry: { baseDelayMs: 0 } });

  /** Reads as many events, and ends the stream. */
  async function first(count: number, given: { lastId?: string; silentMs?: number } = {}): Promise<ServerEvent[]> {
    const stop = new AbortController();
    const found: ServerEvent[] = [];
    for await (const event of hil().events('/pending/stream', { ...given, signal: stop.signal })) {
      if (event.event !== 'open') found.push(event);
      if (found.length === count) stop.abort();
    }
    return found;
  }

  it('go on behind the last one when the connection breaks', async () => {
    gate.answer = ({ headers }, response) => {
      const from = Number(headers['last-event-id'] ?? 0);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`id: ${from + 1}\ndata: ${from + 1}\n\n`, () => response.destroy());
    };
    expect((await first(3)).map(({ data }) => data)).toEqual(['1', '2', '3']);
    expect(gate.asked.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '1', '2']);
  });

  it('begin where they are asked to, and survive a Gate that is away', async () => {
    gate.answer = (_, response) => {
      if (gate.asked.length === 1) return answerJson(response, 503, { error: 'store_unavailable' });
      return void response.writeHead(200).write('data: a\n\n');
    };
    expect(await first(1, { lastId: '7' })).toEqual([{ id: '', event: 'message', data: 'a' }]);
    expect(gate.asked.map(({ headers }) => headers['last-event-id'])).toEqual(['7', '7']);
  });

  it('are asked for again where nothing comes', async () => {
    gate.answer = (_, response) => {
      response.writeHead(200).write(gate.asked.length === 1 ? ': hello\n\n' : 'data: a\n\n');
    };
    expect(await first(1, { silentMs: 50 })).toHaveLength(1);
    expect(gate.asked).toHaveLength(2);
  });

  it('are refused once', async () => {
    gate.answer = (_, response) => answerJson(response, 403, { error: 'role_too_low' });
    await expect(first(1)).rejects.toThrow(GateRefused);
    expect(gate.asked).toHaveLength(1);
  });

  it('are asked of nothing that is not Gate', async () => {
    gate.answer = (_, response) => void response.writeHead(404).end('<html>');
    await expect(first(1)).rejects.toThrow(GateTransportError);
    expect(gate.asked).toHaveLength(1);
  });

  it('end with their signal before they began', async () => {
    expect(await all(hil().events('/pending/stream', { signal: AbortSignal.abort() }))).toEqual([]);
    expect(gate.asked).toEqual([]);
  });

  it('leave no connection behind when their reader stops', async () => {
    let closed: () => void = () => {};
    const gone = new Promise<void>((resolve) => {
      closed = resolve;
    });
    gate.answer = (_, response) => {
      response.once('close', closed);
      response.writeHead(200).write('data: a\n\n');
    };
    for await (const { event } of hil().events('/pending/stream')) if (event !== 'open') break;
    await gone;
  });

  it('are open before the first one, once', async () => {
    gate.answer = ({ headers }, response) => {
      response.writeHead(200).write('id: 4\n\n', () => {
        if (headers['last-event-id'] === undefined) response.destroy();
        else response.write('id: 5\ndata: a\n\n');
      });
    };
    const found: string[] = [];
    for await (const { event } of hil().events('/pending/stream')) if (found.push(event) === 2) break;
    expect(found).toEqual(['open', 'message']);
    expect(gate.asked.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '4']);
  });
});

describe('lines of a lab', () => {
  let gate: StubGate;
  beforeAll(async () => {
    gate = await stubGate();
  });
  afterAll(() => gate.close());
  const lab = () => connect('policy-engine', { url: gate.url }).lines('/policies/lab', { body: {} as never });

  it('come each by itself, and end with a fault where they are cut off', async () => {
    gate.answer = (_, response) => void response.writeHead(200).write('{"a":1}\n', () => response.destroy());
    const lines = lab();
    expect(await lines.next()).toEqual({ done: false, value: { a: 1 } });
    await expect(lines.next()).rejects.toThrow(GateTransportError);
  });

  it('are refused with the code', async () => {
    gate.answer = (_, response) => answerJson(response, 400, { error: 'invalid_request', reason: 'no rules' });
    await expect(lab().next()).rejects.toMatchObject({ code: 'invalid_request', status: 400 });
  });
});
