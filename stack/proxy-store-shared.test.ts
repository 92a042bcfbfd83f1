import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../contracts/call.js';
import { parseKeyRing } from '../domain/crypto/key-ring.js';
import { startPostgres, type TestPostgres } from '../test/support/postgres.js';
import { openCallStore } from '../adapters/call/call-store.js';
import { openProxyStore, storeTarget } from './proxy-store.js';

const KEYS = parseKeyRing(`k1:${'0123456789abcdef'.repeat(4)}`);
const OWNER = { tenant: 'acme', agent: 'bot' };
const callOf = (): CallInput => ({
  correlation_id: randomUUID(),
  tenant: 'acme',
  agent: 'bot',
  agent_spiffe: 'spiffe://gate.local/tenant/acme/agent/bot/instance/x',
  credential_fingerprint: 'f'.repeat(64),
  contract: 'gate.decision/v1',
  idempotency_id: randomUUID(),
  method: 'tools/call',
  tool: 'read_file',
  digest: 'sha256:one',
  mode: 'enforce',
  received_ms: 1_000_000,
  not_after_ms: 1_010_000,
  ttl_secs: { auto: 120, standard: 600, strict: 1_800 },
  upstream_timeout_ms: 30_000,
  has_callback: false,
  recent_request_count: 1,
  velocity_limit: 100,
});

describe.each(['sqlite', 'postgres'] as const)("the proxy's calls and pins in one place on %s", (kind) => {
  let stateDir: string;
  let postgres: TestPostgres | null = null;
  let place: ReturnType<typeof storeTarget>;
  beforeAll(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'gate-proxy-store-'));
    if (kind === 'postgres') postgres = await startPostgres();
    place = storeTarget({ stateDir, databaseUrl: postgres?.url }, 'calls');
  }, 60_000);
  afterAll(async () => {
    await postgres?.stop();
    await rm(stateDir, { recursive: true, force: true });
  });

  it('are written side by side, and found by the next process and by a worker beside it', async () => {
    // As before tools were pinned here.
    await (await openCallStore({ target: place, keys: KEYS })).close();
    const { calls, pins } = await openProxyStore(place, { keys: KEYS, upstream: 'own' });
    const made = Array.from({ length: 20 }, callOf);
    await Promise.all(
      made.flatMap((call, index) => [
        calls.admit(
          call,
          { body: { method: 'tools/call', params: { name: 'read_file' } }, callback_url: null },
          { limit: 100, windowMs: 60_000 },
        ),
        pins.pin(OWNER, new Map([[`tool_${index}`, 'a'.repeat(64)]])),
      ]),
    );
    await pins.complete(OWNER);
    await calls.close();

    const again = await openProxyStore(place, { keys: KEYS, upstream: 'own' });
    const worker = await openProxyStore(place, { keys: KEYS, upstream: 'own' });
    const [first] = made;
    expect(await worker.calls.request(first?.correlation_id ?? '', 'sha256:one')).toMatchObject({ callback_url: null });
    expect(await again.pins.read(OWNER)).toMatchObject({ complete: true, digests: { size: 20 } });
    expect(await again.pins.forget(OWNER)).toBe(20);
    await worker.calls.close();
    await again.calls.close();
  }, 60_000);
});
