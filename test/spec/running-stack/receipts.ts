import { createHash, randomUUID, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { Json, JsonObject } from '../../../contracts/json.js';
import { canonicalJson } from '../../../domain/crypto/digest.js';
import { openLite } from '../../support/lite.js';
import { gate } from '../../support/running-stack.js';

const AGENT = 'receipts-bot';
const sha256 = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;
const keyOf = (agent: string) => readFileSync(join(gate.stateDir, 'pki', 'agents', 'acme', `${agent}.key`), 'utf8');
const REPEATED = [
  'authorization_id',
  'idempotency_id',
  'correlation_id',
  'agent_id',
  'agent_spiffe',
  'tenant',
  'credential_fingerprint',
  'method',
  'tool_name',
  'payload_sha256',
];

/** A call that Gate allowed, and what a host may say of it afterwards. */
async function allowed(agent = AGENT): Promise<JsonObject> {
  const bot = await gate.agent(agent);
  const { correlationId, status } = await bot.call('list_files', {}, { contract: 'decision' });
  expect(status).toBe(200);
  const authorization = (await bot.request('GET', `/authorizations/${correlationId}`)).body;
  const given = authorization['authorization'] as JsonObject;
  return {
    contract: 'gate.execution/v1',
    stage: 'execution.completed',
    ...Object.fromEntries(REPEATED.map((name) => [name, given[name] as Json])),
    authorization,
    result_sha256: sha256('the result'),
    effect_id: 'effect-1',
  };
}
function signed(receipt: JsonObject, key = keyOf(AGENT)): JsonObject {
  const signature = sign('sha256', Buffer.from(canonicalJson(receipt)), { key, dsaEncoding: 'ieee-p1363' });
  const { credential_fingerprint = null } = receipt;
  const value = signature.toString('base64url');
  return { ...receipt, workload_signature: { algorithm: 'ES256', credential_fingerprint, value } };
}
const deliver = async (receipt: JsonObject, agent = AGENT, headers: Record<string, string> = {}) =>
  (await gate.agent(agent)).request('POST', '/execution-receipts', { body: receipt, headers });

describe('a receipt of a host', () => {
  it('is one row with both signatures, however often it is delivered', async () => {
    const receipt = signed(await allowed());
    const [first, again] = [await deliver(receipt), await deliver(receipt)];
    expect([first.status, first.body]).toEqual([
      200,
      {
        status: 'recorded',
        contract: 'gate.execution/v1',
        stage: 'execution.completed',
        authorization_id: receipt['authorization_id'],
        receipt_sha256: sha256(canonicalJson(receipt)),
        identity_signature: { algorithm: 'Ed25519', key_id: expect.any(String), value: expect.any(String) },
      },
    ]);
    expect(again.body).toEqual(first.body);
    const rows = await gate.rows(receipt['correlation_id'] as string, (kinds) => kinds.includes('execution.completed'));
    const recorded = rows.filter(({ event_kind }) => event_kind === 'execution.completed');
    expect(recorded).toHaveLength(1);
    expect(recorded[0]).toMatchObject({
      authorized: true,
      agent_id: AGENT,
      tool_name: 'list_files',
      policy_decision: {
        effect_id: 'effect-1',
        result_sha256: receipt['result_sha256'],
        receipt_sha256: first.body['receipt_sha256'],
        workload_signature: receipt['workload_signature'],
        identity_signature: first.body['identity_signature'],
      },
    });
    expect((await gate.verify()).valid).toBe(true);
  });

  it('stands: another one of the same call is refused', async () => {
    const receipt = await allowed();
    expect((await deliver(signed(receipt))).status).toBe(200);
    const other = await deliver(signed({ ...receipt, effect_id: 'effect-2' }));
    expect(other).toMatchObject({ status: 409, body: { error: 'execution_receipt_conflict' } });
  });

  it.each<[string, (receipt: JsonObject) => JsonObject, RegExp]>([
    [
      'whose result was changed after it was signed',
      (it) => ({ ...signed(it), result_sha256: sha256('x') }),
      /signature_invalid/,
    ],
    ['that another key signed', (it) => signed(it, keyOf('build-bot')), /signature_invalid/],
    ['of another request', (it) => signed({ ...it, payload_sha256: sha256('x') }), /other_authorization/],
    ['of another tool', (it) => signed({ ...it, tool_name: 'wire_transfer' }), /other_authorization/],
    ['of another credential', (it) => signed({ ...it, credential_fingerprint: sha256('x') }), /other_authorization/],
    [
      'with an authorization that Gate did not sign',
      (it) => {
        const { authorization, identity_signature } = it['authorization'] as { [name: string]: JsonObject };
        return signed({
          ...it,
          authorization: {
            authorization: { ...authorization, exp: 9_999_999_999 },
            identity_signature: identity_signature as JsonObject,
          },
        });
      },
      /authorization_forged/,
    ],
    ['without a signature', (it) => it, /workload_signature/],
    [
      'with something more',
      (it) => signed({ ...it, more: 1 }),
      /the receipt is refused: it: has what is not known here: more/,
    ],
  ])('is refused %s, and nothing is recorded', async (_what, make, why) => {
    const receipt = await allowed();
    const refused = await deliver(make(receipt));
    expect(refused).toMatchObject({ status: 400, body: { error: 'execution_receipt_invalid' } });
    expect(refused.text).toMatch(why);
    const kinds = (await gate.rows(receipt['correlation_id'] as string)).map(({ event_kind }) => event_kind);
    expect(kinds).not.toContain('execution.completed');
  });

  it('is that of the agent whose call it was, with the certificate that the call came with', async () => {
    const receipt = signed(await allowed());
    expect((await deliver(receipt, 'build-bot')).status).toBe(404);
    expect((await gate.stranger().request('POST', '/execution-receipts', { body: receipt })).status).toBe(401);
  });

  it('is of a call that was allowed, and of a decision', async () => {
    const receipt = await allowed();
    const bot = await gate.agent(AGENT);
    const executed = (await bot.call('list_files')).correlationId;
    const denied = (await bot.call('delete_file', {}, { contract: 'decision' })).correlationId;
    for (const correlation_id of [executed, denied, randomUUID()])
      expect((await deliver(signed({ ...receipt, correlation_id }))).status).toBe(404);
  });
});

it('lite, which knows no certificates, records no receipt', async () => {
  const lite = await openLite();
  const answer = await lite.send('POST', '/execution-receipts', { body: {} });
  expect(answer).toMatchObject({ status: 403, body: { error: 'certificate_required', layer: 'identity' } });
  await lite.close();
}, 60_000);
