import { createPrivateKey } from 'node:crypto';
import { writeSync } from 'node:fs';
import { keyRing } from '../../domain/crypto/key-ring.js';
import { openEvidencedLedger } from './evidenced-ledger.js';
import { folderFiles } from '../../adapters/evidence/cold-tier/folder.js';
import type { StoreTarget } from '../../adapters/store/database.js';
import { testRow } from './ledger.js';

/**
 * A process that vacuums in small batches and appends at once, to be killed in the middle of it. Arguments: target as JSON, key as hex,
 * folder of cold copies, checkpoint key as PEM, the time it takes for now. One line on stdout when the pass begins.
 */
const [target, key, directory, pem, now] = process.argv.slice(2) as [string, string, string, string, string];
const ledger = await openEvidencedLedger({
  target: JSON.parse(target) as StoreTarget,
  sidecarKeys: keyRing(new Map([['test', Buffer.from(key, 'hex')]])),
  clock: () => Number(now),
  coldSink: { files: folderFiles({ directory }), retentionMs: 0 },
  checkpoints: { origin: 'gate.test/ledger', privateKey: createPrivateKey(pem), witnesses: [] },
});

await ledger.transparency?.checkpoint();
writeSync(1, 'begins\n');
const appending = (async () => {
  for (;;) await ledger.append([testRow()]);
})();
await ledger.vacuum({ retentionMs: 1, batchRows: 3 });
writeSync(1, 'ends\n');
await appending;
