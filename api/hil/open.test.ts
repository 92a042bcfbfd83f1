import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, it } from '@jest/globals';
import { DatabaseSync } from '@photostructure/sqlite';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { readHilConfig } from '../../config/hil.js';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { eventually } from '../../test/support/waiting.js';
import { open } from './open.js';

it('HIL looks by itself for what is past its date, also while the engine is away, and stops with the process', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gate-hil-open-'));
  const file = join(folder, 'hil.db');
  const packed = await readFile(join(PROJECT_ROOT, 'test', 'older', 'hil-2026-11-23.db.gz'));
  await writeFile(file, gunzipSync(packed));
  const decisionKeyFile = join(folder, 'decision.pem');
  const { privateKey } = generateKeyPairSync('ed25519');
  await writeFile(decisionKeyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const own = readHilConfig({
    GATE_HIL_PAYLOAD_KEYS: `test:${'0123456789abcdef'.repeat(4)}`,
    GATE_HIL_DECISION_KEY_FILE: decisionKeyFile,
    GATE_HIL_SESSION_KEY: '89abcdef01234567'.repeat(4),
    GATE_HIL_OPERATORS: 'dev@acme:t1-0123456789abcdefghijklmnopqrstuvwxyz',
  });
  const steps: (() => Promise<unknown>)[] = [];
  const opening = {
    config: { own, notifications: { notificationMode: 'disabled', notificationTenants: [] } },
    shared: { engine: () => Promise.reject(new Error('no engine')) },
    storeTarget: () => ({ file }),
    onStop: (_phase: string, _what: string, step: () => Promise<unknown>) => void steps.unshift(step),
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    together: true,
  };
  await expect(open(opening as unknown as Parameters<typeof open>[0])).rejects.toThrow('no engine');
  const reader = new DatabaseSync(file, { readOnly: true });
  try {
    // The file is of a day whose reviews had no dates: the first sweep gives them theirs, and deletes what is past them by now.
    await eventually('every row that is left has its dates', () => {
      const [row] = reader.prepare('select count(*) as undated from reviews where metadata_expires_ms is null').all();
      return (row as { undated: number }).undated === 0;
    });
  } finally {
    reader.close();
    for (const step of steps) await step();
    await rm(folder, { recursive: true, force: true });
  }
});
