import { randomUUID } from 'node:crypto';
import { appendFileSync, writeSync } from 'node:fs';
import { openCallStore } from '../../adapters/call/call-store.js';
import type { StoreTarget } from '../../adapters/store/database.js';
import { createDecoyReporter } from '../../api/proxy/decoy-reporter.js';
import { keyRing } from '../../domain/crypto/key-ring.js';
import { callInput } from './call-input.js';

/**
 * A process that counts calls that touch a decoy and tells identity of them as a proxy does, to be killed in the middle of it. Arguments: target as JSON, key
 * as hex, the decoy, and the file of what identity was told. Each call is a line on stdout when it is counted.
 */
const [target, key, decoy, file] = process.argv.slice(2) as [string, string, string, string];
const store = await openCallStore({
  target: JSON.parse(target) as StoreTarget,
  keys: keyRing(new Map([['test', Buffer.from(key, 'hex')]])),
});
const reporter = createDecoyReporter({
  identity: () =>
    Promise.resolve({
      tellDecoyHits: ({ hits }) => {
        for (const one of hits) appendFileSync(file, `${JSON.stringify(one)}\n`);
        return Promise.resolve();
      },
    }),
  calls: store,
  isGone: () => false,
  onFault: (reason) => {
    if (reason !== null) throw new Error(reason);
  },
});
const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'bait', arguments: {} } };

for (let call = 0; ; call += 1) {
  await store.admit(
    callInput(Date.now(), {
      correlation_id: randomUUID(),
      tool: 'bait',
      agent: `bot-${call % 3}`,
      decoy: { id: decoy, kind: 'tool', action: 'suspend' },
    }),
    { body, callback_url: null },
    { limit: 0, windowMs: 60_000 },
  );
  writeSync(1, 'counted\n');
  if (call % 2 === 0) await reporter.once();
}
