import { createPublicKey, type JsonWebKey, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../contracts/json.js';
import { authorizationFault } from '../../domain/call/authorization.js';
import type { PendingRequest } from '../../contracts/review.js';
import { type Answered, type LiteFixture, openLite } from '../support/lite.js';

let gate: LiteFixture;
beforeAll(async () => {
  gate = await openLite({}, { callDeadlineMs: 60_000 });
}, 60_000);
afterAll(() => gate.close());

const ARGUMENTS = { from: 'operating', to: 'vendor', amount: 25 };
const BODY = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'wire_transfer', arguments: ARGUMENTS } };
const send = (id: string, headers: Record<string, string> = {}, given: JsonObject = ARGUMENTS) =>
  gate.call('wire_transfer', { id, decision: true, arguments: given, headers });
const handleOf = ({ body }: Answered) => ({
  'X-Gate-Pending-Id': body['pending_id'] as string,
  'X-Gate-Pending-Payload-Sha256': body['payload_sha256'] as string,
});
const waiting = async () => (await gate.send('GET', '/pending')).body as unknown as readonly PendingRequest[];
const park = async () => {
  const id = randomUUID();
  const parked = await send(id);
  expect(parked.status).toBe(202);
  return { id, parked, handle: handleOf(parked) };
};
const decide = (correlationId: unknown, decision: string) =>
  gate.send('POST', `/decide/${correlationId as string}`, { body: { decision } });

describe('a decision that waits is resumed by its handle', () => {
  it('with the same 202 while it waits, and no second review', async () => {
    const { id, parked, handle } = await park();
    const before = (await waiting()).length;
    const again = await send(id, handle);
    expect([again.status, again.body]).toEqual([202, parked.body]);
    expect(await waiting()).toHaveLength(before);
  });

  it('with the signed authorization once it is approved, verified by the published key, and the same each time', async () => {
    const { id, parked, handle } = await park();
    await decide(parked.body['correlation_id'], 'approve');
    const allowed = await send(id, handle);
    expect(allowed).toMatchObject({
      status: 200,
      body: {
        contract: 'gate.decision/v1',
        decision: 'allow',
        executable: false,
        authorization: { stage: 'authorization' },
      },
    });
    const { keys } = (await gate.send('GET', '/.well-known/jwks.json')).body as unknown as { keys: JsonWebKey[] };
    const signed = allowed.body as unknown as Parameters<typeof authorizationFault>[0];
    const jwk = keys.find(({ kid }) => kid === signed.identity_signature.key_id) as JsonWebKey;
    const publicKey = createPublicKey({ key: jwk, format: 'jwk' });
    expect(authorizationFault(signed, BODY, publicKey, Date.now())).toBeNull();
    expect(authorizationFault(signed, { ...BODY, id: 2 }, publicKey, Date.now())).toBe('other_request');
    expect((await send(id, handle)).body).toEqual(allowed.body);
    const fetched = await gate.send('GET', `/authorizations/${parked.body['correlation_id'] as string}`);
    expect(allowed.body).toMatchObject(fetched.body);
  });

  it('with the refusal once it is denied', async () => {
    const { id, parked, handle } = await park();
    await decide(parked.body['correlation_id'], 'deny');
    expect(await send(id, handle)).toMatchObject({ status: 403, body: { error: 'review_denied' } });
  });
});

describe('a handle begins nothing', () => {
  it.each<[string, (handle: Record<string, string>) => Record<string, string>]>([
    ['another review', (handle) => ({ ...handle, 'X-Gate-Pending-Id': randomUUID() })],
    ['another request', (handle) => ({ ...handle, 'X-Gate-Pending-Payload-Sha256': `sha256:${'0'.repeat(64)}` })],
  ])('where it is of %s: 409, and the call waits on', async (_what, change) => {
    const { id, handle } = await park();
    const refused = await send(id, change(handle));
    expect(refused).toMatchObject({ status: 409, body: { error: 'decision_handle_unknown', executable: false } });
    expect((await send(id, handle)).status).toBe(202);
  });

  it('where no call is known under the id: nothing is judged, and the id is still free', async () => {
    const { handle } = await park();
    const before = (await waiting()).length;
    const id = randomUUID();
    expect(await send(id, handle)).toMatchObject({ status: 409, body: { error: 'decision_handle_unknown' } });
    expect(await waiting()).toHaveLength(before);
    expect((await send(id, {}, { ...ARGUMENTS, amount: 26 })).status).toBe(202);
  });

  it('where the body is another one: the conflict is told first', async () => {
    const { id, handle } = await park();
    expect(await send(id, handle, { ...ARGUMENTS, amount: 1 })).toMatchObject({
      status: 409,
      body: { error: 'decision_idempotency_conflict' },
    });
  });

  it.each<[string, Record<string, string>, boolean]>([
    ['one header is missing', { 'X-Gate-Pending-Id': randomUUID() }, true],
    ['Gate is asked to execute', { 'X-Gate-Pending-Id': 'x', 'X-Gate-Pending-Payload-Sha256': 'y' }, false],
  ])('where %s: 400', async (_what, headers, decision) => {
    expect(await gate.call('wire_transfer', { decision, headers })).toMatchObject({
      status: 400,
      body: { error: 'decision_selector_invalid', executable: false },
    });
  });
});
