import { spawnSync } from 'node:child_process';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type HilFixture, openHil, T0 } from '../../../test/support/hil.js';
import { STORES } from '../../../test/support/ledger.js';

/** Sends what it is given, and hangs up. */
const HANGS_UP = `
const { connect } = require('node:net');
const [port, text] = process.argv.slice(1);
const socket = connect(Number(port), '127.0.0.1', () => socket.end(text, () => socket.destroy()));`;

describe.each(STORES)('POST /pending of a call that nobody waits for any more, on %s', (kind) => {
  let hil: HilFixture;
  beforeEach(async () => {
    hil = await openHil(kind);
  }, 60_000);
  afterEach(() => hil.close());

  const asked = (n: number) => ({
    agent_id: 'payments-agent',
    correlation_id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    method: 'tools/call',
    request_payload: { method: 'tools/call', params: { name: 'wire_transfer', arguments: { amount: n } } },
    risk_summary: 'money movement',
    state_namespace: 'operator' as const,
    ttl_seconds: 600,
    created_at: new Date(T0).toISOString(),
    attempt_ms: T0 + n,
    review_reasons: ['money movement'],
    tenant: 'acme',
  });
  const stored = async () =>
    (await hil.place.sql('select correlation_id from reviews order by 1')).map((row) => Object.values(row)[0]);

  it('opens no review where HIL hung until its caller had left', async () => {
    await hil.service.app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = hil.service.app.server.address() as AddressInfo;
    const body = JSON.stringify(asked(1));
    const request = [
      'POST /pending HTTP/1.1',
      'host: hil',
      'x-test-caller: proxy',
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n');
    // Nothing of this process runs until the other one is over.
    const left = spawnSync(process.execPath, ['-e', HANGS_UP, String(port), request], { timeout: 30_000 });
    expect(left.status).toBe(0);
    for (const n of [2, 3]) {
      const answer = await fetch(`http://127.0.0.1:${port}/pending`, {
        method: 'POST',
        headers: { 'x-test-caller': 'proxy', 'content-type': 'application/json' },
        body: JSON.stringify(asked(n)),
      });
      expect(answer.status).toBe(201);
    }
    expect(await stored()).toEqual([asked(2).correlation_id, asked(3).correlation_id]);
  });

  it('takes the row back where the store hung until its caller had left, and opens it for a later attempt', async () => {
    let looks = 0;
    const leaves = () => {
      looks += 1;
      return looks === 1;
    };
    await expect(hil.reviews.createOnce(asked(1), leaves)).rejects.toMatchObject({ code: 'not_pending' });
    expect(await hil.reviews.byCorrelation(asked(1).correlation_id)).toBeNull();
    const later = { ...asked(1), created_at: new Date(T0 + 1_000).toISOString(), attempt_ms: T0 + 1_000 };
    const { row, created } = await hil.reviews.createOnce(later);
    expect([row.status, created]).toEqual(['pending', true]);
    // A row that stands was opened by an attempt of before, which somebody may wait for.
    looks = 0;
    await hil.reviews.createOnce({ ...later, attempt_ms: T0 + 2_000 }, leaves);
    expect(await hil.reviews.byCorrelation(asked(1).correlation_id)).toMatchObject({ status: 'pending' });
  });
});
