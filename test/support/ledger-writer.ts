import { writeSync } from 'node:fs';
import { sha256Hex, uuidFromDigest } from '../../domain/crypto/digest.js';
import { keyRing } from '../../domain/crypto/key-ring.js';
import { openLedger } from './whole-ledger.js';
import type { StoreTarget } from '../../adapters/store/database.js';
import { testRow } from './ledger.js';

/**
 * A process that appends as fast as it is answered, to be killed in the middle of it. Arguments: target as JSON, key as hex, a name for
 * its rows. Each acknowledged row is a line on stdout, written before the next append: `<id> <seq> <entry_hash>`.
 */
const [target, key, name] = process.argv.slice(2) as [string, string, string];
const ledger = await openLedger({
  target: JSON.parse(target) as StoreTarget,
  sidecarKeys: keyRing(new Map([['test', Buffer.from(key, 'hex')]])),
});

let next = 0;
async function appendForever(): Promise<never> {
  for (;;) {
    const index = next++;
    const payload = `{"index":${index}}`;
    const receipts = await ledger.append([
      testRow({ id: uuidFromDigest(name, String(index), 'first') }),
      testRow({
        id: uuidFromDigest(name, String(index), 'second'),
        ...(index % 3 === 0 && { payload_sha256: sha256Hex(payload), payload_canonical_json: payload }),
      }),
    ]);
    writeSync(1, receipts.map(({ id, seq, entry_hash }) => `${id} ${seq} ${entry_hash}\n`).join(''));
  }
}
await Promise.all(Array.from({ length: 24 }, appendForever));
