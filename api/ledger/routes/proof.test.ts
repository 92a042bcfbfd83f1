import { generateKeyPairSync } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { uuidFromDigest } from '../../../domain/crypto/digest.js';
import { type LedgerStore, openLedger } from '../../../domain/ledger/ledger-store.js';
import { parseCheckpoint } from '../../../domain/ledger/tlog/checkpoint.js';
import { cosign, noteKey } from '../../../domain/ledger/tlog/note.js';
import { ledgerPlace, type TestLedgerPlace, testRow } from '../../../test/support/ledger.js';
import type { Service } from '../../plugins/service.js';
import { createLedgerService } from '../app.js';

const witness = generateKeyPairSync('ed25519');
let place: TestLedgerPlace;
let ledger: LedgerStore;
let service: Service;

async function open(withKey: boolean): Promise<void> {
  ledger = await openLedger({
    target: place.target,
    sidecarKeys: place.keys,
    ...(withKey && {
      checkpoints: {
        origin: 'gate.test/ledger',
        privateKey: generateKeyPairSync('ed25519').privateKey,
        witnesses: [noteKey('w', witness.publicKey, 'cosignature')],
      },
    }),
  });
  service = createLedgerService({
    ledger,
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    trustDomain: 'gate.local',
    resolveCaller: (request) => ({
      kind: 'service',
      callerId: String(request.headers['x-test-caller']),
      spiffe: 'spiffe://gate.local/service/test',
      fingerprint: 'ab'.repeat(32),
    }),
  });
}
beforeEach(async () => {
  place = await ledgerPlace('sqlite');
  await open(true);
});
afterEach(async () => {
  await service.close();
  await ledger.close();
  await place.remove();
});

const ask = async (
  method: 'GET' | 'POST',
  url: string,
  { by = 'service-console', payload = '', type = 'text/plain' } = {},
) => {
  const { statusCode, headers, body } = await service.app.inject({
    method,
    url,
    headers: { 'x-test-caller': by, ...(payload && { 'content-type': type }) },
    ...(payload && { payload }),
  });
  return { status: statusCode, type: headers['content-type'], body };
};
const json = (body: string) => JSON.parse(body) as Record<string, unknown>;

describe('the ledger as a transparency log, over HTTP', () => {
  it('GET /checkpoint is a signed note in text, for every workload', async () => {
    await ledger.append([testRow(), testRow()]);
    const { status, type, body } = await ask('GET', '/checkpoint', { by: 'service-brain' });
    expect([status, type]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(parseCheckpoint(body)).toMatchObject({ origin: 'gate.test/ledger', size: 2 });
  });

  it('GET /proof/inclusion takes a seq or an id, from whoever may read rows', async () => {
    const id = uuidFromDigest('proof', 'a');
    await ledger.append([testRow({ id }), testRow()]);
    const bySeq = await ask('GET', '/proof/inclusion?seq=1');
    expect(bySeq.status).toBe(200);
    expect(json(bySeq.body)).toMatchObject({
      contract: 'gate.inclusion-proof/v1',
      seq: 1,
      tree_size: 2,
      entry: { id },
    });
    expect((await ask('GET', `/proof/inclusion?id=${id}&size=2`)).body).toBe(bySeq.body);
    expect((await ask('GET', '/proof/inclusion?seq=1', { by: 'service-brain' })).status).toBe(403);
    expect((await ask('GET', '/proof/inclusion?seq=3')).status).toBe(404);
    for (const query of ['', '?seq=0', '?seq=1.5', `?seq=1&id=${id}`, '?id=x', '?seq=1&size=-1'])
      expect([query, (await ask('GET', `/proof/inclusion${query}`)).status]).toEqual([query, 400]);
  });

  it('GET /proof/consistency takes two sizes, or one and the newest checkpoint', async () => {
    await ledger.append([testRow(), testRow(), testRow()]);
    const whole = await ask('GET', '/proof/consistency?from=1', { by: 'service-brain' });
    expect(json(whole.body)).toMatchObject({ contract: 'gate.consistency-proof/v1', from: 1, to: 3 });
    expect((await ask('GET', '/proof/consistency?from=1&to=3')).body).toBe(whole.body);
    for (const query of ['', '?from=x', '?from=2&to=1', '?from=1&to=4'])
      expect([query, (await ask('GET', `/proof/consistency${query}`)).status]).toEqual([query, 400]);
  });

  it('POST /checkpoint/cosignatures keeps what holds; only the console may', async () => {
    await ledger.append([testRow()]);
    const { body } = await ask('GET', '/checkpoint');
    const note = `${body}${cosign(parseCheckpoint(body).note.text, 'w', witness.privateKey, 1_700_000_000)}\n`;
    const kept = await ask('POST', '/checkpoint/cosignatures', { payload: note });
    expect([kept.status, json(kept.body)]).toEqual([
      200,
      { tree_size: 1, accepted: [{ witness: 'w', cosigned_at: 1_700_000_000 }] },
    ]);
    expect((await ask('GET', '/checkpoint')).body).toBe(note);
    const refused = await ask('POST', '/checkpoint/cosignatures', { payload: body });
    expect([refused.status, json(refused.body)['error']]).toEqual([400, 'cosignature_invalid']);
    expect((await ask('POST', '/checkpoint/cosignatures', { payload: note, by: 'service-proxy' })).status).toBe(403);
    expect((await ask('POST', '/checkpoint/cosignatures', { payload: 'x'.repeat(70_000) })).status).toBe(413);
    expect((await ask('POST', '/checkpoint/cosignatures', { payload: '{}', type: 'application/json' })).status).toBe(
      400,
    );
  });

  it('without a key every route is 503 signing_unavailable', async () => {
    await service.close();
    await ledger.close();
    await open(false);
    for (const url of ['/checkpoint', '/proof/inclusion?seq=1', '/proof/consistency?from=0']) {
      const { status, body } = await ask('GET', url);
      expect([url, status, json(body)['error']]).toEqual([url, 503, 'signing_unavailable']);
    }
  });
});
