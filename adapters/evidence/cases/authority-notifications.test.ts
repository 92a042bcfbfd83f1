import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../../../test/support/ledger.js';
import { postTo } from '../../outbound/webhook.js';
import { type EvidencedLedger, openEvidencedLedger } from '../../../test/support/evidenced-ledger.js';

const AT = Date.parse('2026-01-02T03:04:05.006Z');
const INTERVAL = 30_000;

describe.each(STORES)('telling the authority, on %s', (kind) => {
  let place: TestLedgerPlace;
  let ledger: EvidencedLedger;
  let now: number;
  let receiver: Server;
  let url: string;
  let answer: number | 'hang up' | 'redirect';
  let received: { body: Record<string, unknown>; authorization: string | undefined }[];

  beforeEach(async () => {
    now = AT;
    answer = 200;
    received = [];
    place = await ledgerPlace(kind);
    ledger = await openEvidencedLedger({ target: place.target, sidecarKeys: place.keys, clock: () => now });
    receiver = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const text = Buffer.concat(parts).toString('utf8');
        received.push({
          body: JSON.parse(text) as Record<string, unknown>,
          authorization: request.headers.authorization,
        });
        if (answer === 'hang up') request.socket.destroy();
        else if (answer === 'redirect') response.writeHead(307, { location: '/elsewhere' }).end();
        else response.writeHead(answer).end('ok');
      });
    });
    await new Promise<void>((listening) => receiver.listen(0, '127.0.0.1', listening));
    url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/reports`;
  });
  afterEach(async () => {
    receiver.closeAllConnections();
    await new Promise((closed) => receiver.close(closed));
    await ledger.close();
    await place.remove();
  });

  const sweep = () =>
    ledger.cases.notifyAuthority({
      post: (body) => postTo({ url, bearer: 'the-token' }, 'application/json', body),
      intervalMs: INTERVAL,
    });
  const classified = async (severity = 'death') => {
    const { id } = await ledger.cases.open({ title: 'x', agent_ids: [], correlation_ids: [] }, 'dev');
    await ledger.cases.classify(id, severity, 'dev', {});
    return id;
  };

  it('sends one report per classified case, with the deadline and the token, and then no more', async () => {
    const id = await classified();
    expect(await sweep()).toEqual({ delivered: 1, failed: 0 });
    expect(received).toEqual([
      {
        body: {
          framework: 'eu_ai_act_art_73',
          notification_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
          case_id: id,
          severity: 'death',
          regulatory_deadline: '2026-01-12T03:04:05.006Z',
          classified_at: '2026-01-02T03:04:05.006Z',
        },
        authorization: 'Bearer the-token',
      },
    ]);
    now += 86_400_000;
    expect(await sweep()).toEqual({ delivered: 0, failed: 0 });
  });

  it('does not report the same severity of a case twice, and does report another', async () => {
    const id = await classified('serious');
    await ledger.cases.classify(id, 'serious', 'dev', {});
    await sweep();
    await ledger.cases.classify(id, 'serious', 'dev', {});
    await ledger.cases.classify(id, 'death', 'dev', {});
    await sweep();
    expect(received.map(({ body }) => body['severity'])).toEqual(['serious', 'death']);
  });

  it.each([[500], [404], ['hang up'], ['redirect']] as const)(
    'keeps a report that was answered with %s, waits twice as long each time, and sends the same bytes again',
    async (bad) => {
      answer = bad;
      await classified();
      expect(await sweep()).toEqual({ delivered: 0, failed: 1 });
      expect(await sweep()).toEqual({ delivered: 0, failed: 0 });
      now += INTERVAL;
      expect(await sweep()).toEqual({ delivered: 0, failed: 1 });
      now += INTERVAL;
      expect(await sweep()).toEqual({ delivered: 0, failed: 0 });
      now += INTERVAL;
      answer = 204;
      expect(await sweep()).toEqual({ delivered: 1, failed: 0 });
      expect(new Set(received.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    },
  );

  it('does not lose a report whose sender died after the receiver had it', async () => {
    await classified();
    await expect(
      ledger.cases.notifyAuthority({
        intervalMs: INTERVAL,
        post: async () => {
          await ledger.close();
        },
      }),
    ).rejects.toMatchObject({ code: 'ledger_store_unavailable' });
    ledger = await openEvidencedLedger({ target: place.target, sidecarKeys: place.keys, clock: () => now });
    now += INTERVAL;
    expect(await sweep()).toEqual({ delivered: 1, failed: 0 });
  });

  it('sends a report once when two sweeps meet', async () => {
    await classified();
    const outcomes = await Promise.all([sweep(), sweep()]);
    expect(outcomes.reduce((sum, { delivered }) => sum + delivered, 0)).toBe(1);
    expect(received).toHaveLength(1);
  });

  it('gives up 30 days after the deadline, and a new classification starts a new report', async () => {
    answer = 500;
    const id = await classified('critical_infra');
    now += 33 * 86_400_000;
    expect(await sweep()).toEqual({ delivered: 0, failed: 1 });
    now += 86_400_000;
    expect(await sweep()).toEqual({ delivered: 0, failed: 0 });
    answer = 200;
    await ledger.cases.classify(id, 'critical_infra', 'dev', {});
    expect(await sweep()).toEqual({ delivered: 1, failed: 0 });
  });
});
