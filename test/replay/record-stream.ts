import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connectClient } from '../../workers/client.js';
import { streamIdOf } from '../../workers/streams.js';
import { streamProgress } from '../../workflows/egress/messages.js';
import { TEST_PAYLOAD_KEYS, TEST_PAYLOAD_KEYS_SETTING } from '../support/engine-keys.js';
import { until } from '../support/kill-host-driver.js';
import { startStack } from '../support/stack.js';
import { STREAM_HISTORIES } from './histories.js';
import type { Recordings } from './recording.js';

/** Records the history of a stream whose sink is away at first, then rejects a batch, then takes everything. A stream never ends. */
export async function recordStream(recordings: Recordings): Promise<void> {
  const answers = [503, 503, 422];
  let rows = 0;
  const sink = createServer((request, response) => {
    request.resume().on('end', () => {
      const answer = answers.shift() ?? 200;
      rows += answer === 200 ? 1 : 0;
      response.writeHead(answer).end();
    });
  });
  await new Promise<void>((listening) => sink.listen(0, '127.0.0.1', listening));
  const gate = await startStack({
    env: {
      GATE_PAYLOAD_KEYS: TEST_PAYLOAD_KEYS_SETTING,
      GATE_LEDGER_EGRESS_GENERIC_URL: `http://127.0.0.1:${(sink.address() as AddressInfo).port}/`,
      GATE_LEDGER_EGRESS_INTERVAL_SECS: '1',
    },
  });
  const { client, close } = await connectClient(gate.development.temporal, TEST_PAYLOAD_KEYS);
  try {
    const agent = await gate.agent('support-bot');
    await agent.call('list_files');
    const handle = client.workflow.getHandle(streamIdOf('generic'));
    await until(
      'the stream is through',
      () => handle.query(streamProgress),
      ({ cursor, failures }) => cursor > 0 && failures === 0 && rows > 0 && answers.length === 0,
    );
    recordings.keep(`${STREAM_HISTORIES}/running.pb`, await handle.fetchHistory());
  } finally {
    await close();
    await gate.stop();
    sink.close();
  }
}
