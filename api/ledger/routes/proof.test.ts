import { generateKeyPairSync } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { uuidFromDigest } from '../../../domain/crypto/digest.js';
import { parseCheckpoint } from '../../../domain/ledger/tlog/checkpoint.js';
import { cosign, noteKey } from '../../../domain/ledger/tlog/note.js';
import { ledgerService, type TestLedgerService } from '../../../test/support/ledger-service.js';
import { testRow } from '../../../test/support/ledger.js';

const witness = generateKeyPairSync('ed25519');
let gate: TestLedgerService;

beforeEach(async () => {
  const checkpoints = {
    origin: 'gate.test/ledger',
    privateKey: generateKeyPairSync('ed25519').privateKey,
    witnesses: [noteKey('w', witness.publicKey, 'cosignature')],
  };
  gate = await ledgerService('sqlite', { ledger: { checkpoints } });
});
afterEach(() => gate.close());

const get = <Body = Record<string, unknown>>(url: string, as = 'service-console') =>
  gate.call<Body>(`GET ${url}`, undefined, { as });
const post = (note: string, { as = 'service-console', type = 'text/plain' } = {}) =>
  gate.call('POST /checkpoint/cosignatures', note, { as, headers: { 'content-type': type } });

describe('the ledger as a transparency log, over HTTP', () => {
  it('GET /checkpoint is a signed note in text, for every workload', async () => {
    await gate.ledger.append([testRow(), testRow()]);
    const { status, headers, body } = await get<string>('/checkpoint', 'service-brain');
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(parseCheckpoint(body)).toMatchObject({ origin: 'gate.test/ledger', size: 2 });
  });

  it('GET /proof/inclusion takes a seq, an id or a hash, from whoever may read rows', async () => {
    const id = uuidFromDigest('proof', 'a');
    await gate.ledger.append([testRow({ id }), testRow()]);
    const bySeq = await get('/proof/inclusion?seq=1');
    expect(bySeq.status).toBe(200);
    expect(bySeq.body).toMatchObject({
      contract: 'gate.inclusion-proof/v1',
      seq: 1,
      tree_size: 2,
      entry: { id },
    });
    expect((await get(`/proof/inclusion?id=${id}&size=2`)).body).toEqual(bySeq.body);
    const { entry_hash } = bySeq.body as unknown as { entry_hash: string };
    expect((await get(`/proof/inclusion?entry_hash=${entry_hash}&size=2`)).body).toEqual(bySeq.body);
    expect((await get(`/proof/inclusion?entry_hash=${'0'.repeat(64)}`)).status).toBe(404);
    expect((await get('/proof/inclusion?seq=1', 'service-brain')).status).toBe(403);
    expect((await get('/proof/inclusion?seq=3')).status).toBe(404);
    for (const query of [
      '',
      '?seq=0',
      '?seq=1.5',
      `?seq=1&id=${id}`,
      '?id=x',
      '?entry_hash=x',
      `?seq=1&entry_hash=${entry_hash}`,
      '?seq=1&size=-1',
    ])
      expect([query, (await get(`/proof/inclusion${query}`)).status]).toEqual([query, 400]);
  });

  it('GET /proof/consistency takes two sizes, or one and the newest checkpoint', async () => {
    await gate.ledger.append([testRow(), testRow(), testRow()]);
    const whole = await get('/proof/consistency?from=1', 'service-brain');
    expect(whole.body).toMatchObject({ contract: 'gate.consistency-proof/v1', from: 1, to: 3 });
    expect((await get('/proof/consistency?from=1&to=3')).body).toEqual(whole.body);
    for (const query of ['', '?from=x', '?from=2&to=1', '?from=1&to=4'])
      expect([query, (await get(`/proof/consistency${query}`)).status]).toEqual([query, 400]);
  });

  it('GET /proof/consistency walks the chain for no agent: its proofs end at the checkpoint that agents share', async () => {
    await gate.ledger.append([testRow(), testRow(), testRow()]);
    const agents = (query: string) => get(`/proof/consistency${query}`, 'agent-workload');
    expect(await agents('?from=1')).toMatchObject({ status: 200, body: { from: 1, to: 3 } });
    await gate.ledger.append([testRow()]);
    expect((await get('/proof/consistency?from=1')).body).toMatchObject({ to: 4 });
    const shared = parseCheckpoint((await get<string>('/checkpoint', 'agent-workload')).body);
    expect(shared.size).toBe(3);
    const asked = await Promise.all([0, 1, 2, 3].map((from) => agents(`?from=${from}`)));
    expect(asked.map(({ status, body }) => [status, body['to']])).toEqual(asked.map(() => [200, 3]));
    for (const { body } of asked) expect(body['to_root']).toBe(shared.root.toString('hex'));
    expect(await agents('?from=1&to=4')).toMatchObject({ status: 400, body: { error: 'proof_out_of_range' } });
    expect(await agents('?from=4')).toMatchObject({ status: 400, body: { error: 'proof_out_of_range' } });
  });

  it('POST /checkpoint/cosignatures keeps what holds; only the console may', async () => {
    await gate.ledger.append([testRow()]);
    const { body } = await get<string>('/checkpoint');
    const note = `${body}${cosign(parseCheckpoint(body).note.text, 'w', witness.privateKey, 1_700_000_000)}\n`;
    const kept = await post(note);
    expect([kept.status, kept.body]).toEqual([
      200,
      { tree_size: 1, accepted: [{ witness: 'w', cosigned_at: 1_700_000_000 }] },
    ]);
    expect((await get('/checkpoint')).body).toBe(note);
    const refused = await post(body);
    expect([refused.status, refused.body['error']]).toEqual([400, 'cosignature_invalid']);
    expect((await post(note, { as: 'service-proxy' })).status).toBe(403);
    expect((await post('x'.repeat(70_000))).status).toBe(413);
    expect((await post('{}', { type: 'application/json' })).status).toBe(400);
  });

  it('without a key every route is 503 signing_unavailable', async () => {
    const bare = await ledgerService('sqlite');
    for (const url of ['/checkpoint', '/proof/inclusion?seq=1', '/proof/consistency?from=0'])
      expect([url, await bare.call(`GET ${url}`)]).toMatchObject([
        url,
        { status: 503, body: { error: 'signing_unavailable' } },
      ]);
    await bare.close();
  });
});
