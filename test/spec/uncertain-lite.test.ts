import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../contracts/json.js';
import { openLedgerReadOnly } from '../../adapters/ledger/read-only.js';
import { commandLine } from '../support/command.js';
import { type EchoTools, echoTools, liteFolder, type LiteFixture, openLite } from '../support/lite.js';
import { eventually } from '../support/waiting.js';

const TOKEN = 'an-operators-own-token-of-some-length';
const AS_OPERATOR = { authorization: `Bearer ${TOKEN}` };
const command = commandLine(() => folder);

let folder: string;
let tools: EchoTools;
let gate: LiteFixture;
/** What the tools know of an order; `null` hangs up. */
let status: string | null;

const probe = (over: JsonObject = {}): JsonObject => ({
  tool: 'get_order_status',
  arguments: { reference: { from: '/arguments/reference' } },
  completed: { at: '/json/status', is: ['booked'] },
  not_run: { at: '/json/status', is: ['unknown'] },
  first_after_secs: 0,
  not_run_after_secs: 0,
  ...over,
});
const write = (one: JsonObject) => {
  const file = join(folder, 'probes.json');
  writeFileSync(file, JSON.stringify({ contract: 'gate.probes/v1', probes: { write_file: one } }));
  return file;
};
const open = (one: JsonObject = probe()) =>
  openLite(
    { GATE_LITE_UPSTREAM_URL: tools.url, GATE_LITE_DECIDE_TOKEN: TOKEN, GATE_LITE_PROBES: write(one) },
    { folder },
  );
const cli = (...args: string[]) =>
  command.done(['uncertain', ...args, '--endpoint', gate.lite.url], { GATE_LITE_DECIDE_TOKEN: TOKEN });

beforeEach(async () => {
  folder = await liteFolder();
  tools = await echoTools();
  status = null;
  tools.answer = ({ id, params }) => {
    const { name } = params as { name: string };
    if (name !== 'get_order_status' || status === null) return null;
    return {
      jsonrpc: '2.0',
      id: id ?? null,
      result: { content: [{ type: 'text', text: JSON.stringify({ status }) }] },
    };
  };
  gate = await open();
});
afterEach(async () => {
  await gate.close();
  await command.stop();
  await tools.close();
  await rm(folder, { recursive: true, force: true });
});

const send = async (id = randomUUID()) => {
  // A machine that is busy judges a first call too late: 503, nothing happened, and the same id may be sent again.
  const answer = await eventually('it is judged', async () => {
    const told = await gate.call('write_file', { id, arguments: { reference: 'order-7' } });
    return told.status === 503 ? null : told;
  });
  return { id, answer, correlationId: String(answer.headers.get('x-gate-correlation-id')) };
};
const shown = (correlationId: string) => gate.send('GET', `/uncertain/${correlationId}`, { headers: AS_OPERATOR });
const settledBy = async (correlationId: string, by: string) =>
  eventually(`${by} has settled it`, async () => {
    const { body } = await shown(correlationId);
    return (body['settled'] as JsonObject | null)?.['by'] === by ? body : null;
  });
const outcomes = async (correlationId: string) =>
  eventually('the rows are in the ledger', async () => {
    const ledger = openLedgerReadOnly(gate.ledger);
    try {
      const rows = (await ledger.newest(100)).filter(
        ({ correlation_id: id, event_kind: kind }) => id === correlationId && kind === 'upstream.outcome',
      );
      const said = rows.toReversed().map(({ policy_decision: decision }) => decision as JsonObject);
      return said.some(({ reconciled }) => reconciled) ? said : null;
    } finally {
      await ledger.close();
    }
  });
const ran = () => tools.executed.filter(({ params }) => (params as JsonObject)['name'] === 'write_file').length;

describe('a call of unknown outcome, in lite', () => {
  it('is found out by its probe, goes on over a restart, and is answered by what was found', async () => {
    const { id, answer, correlationId } = await send();
    expect(answer).toMatchObject({ status: 409, body: { error: 'server_execution_uncertain' } });
    await eventually('a look is stored', async () => {
      const { evidence } = (await shown(correlationId)).body as { evidence: JsonObject[] };
      return evidence.length > 0 ? evidence : null;
    });
    await gate.close();
    status = 'booked';
    gate = await open();
    expect(await settledBy(correlationId, 'probe')).toMatchObject({ state: 'completed', waits_for: 'nothing' });
    const replay = await send(id);
    expect(replay.answer).toMatchObject({
      status: 200,
      body: { result: { _meta: { 'gate/reconciled': { by: 'probe' } } } },
    });
    expect(ran()).toBe(1);
    const said = await outcomes(correlationId);
    expect(said[0]).toMatchObject({ stage: 'uncertain' });
    expect(said.at(-2)).toMatchObject({ stage: 'probed', said: 'completed' });
    expect(said.at(-1)).toMatchObject({ stage: 'completed', reconciled: 'probe' });
    expect((await gate.send('GET', '/verify', { headers: AS_OPERATOR })).body).toMatchObject({ valid: true });
  });

  it('is settled by a person at the command line, who sees the evidence', async () => {
    await gate.close();
    gate = await open(probe({ attempts: 1 }));
    const { id, correlationId } = await send();
    await eventually('the probe has given up', async () => {
      const { waits_for: waits, evidence } = (await shown(correlationId)).body as {
        waits_for: string;
        evidence: unknown[];
      };
      return waits === 'person' && evidence.length === 1 ? true : null;
    });
    expect(await cli()).toMatchObject({
      code: 0,
      out: expect.stringMatching(`${correlationId}  .*write_file.*1 look  waits for a person`),
    });
    expect(await cli('show', correlationId)).toMatchObject({
      code: 0,
      out: expect.stringContaining('get_order_status: unreachable'),
    });
    expect(await cli('settle', correlationId, 'perhaps', '--reason', 'x')).toMatchObject({ code: 2 });
    expect(await cli('settle', correlationId, 'ran')).toMatchObject({ code: 2 });
    expect(await cli('settle', correlationId, 'not-run', '--reason', 'not in the journal')).toMatchObject({
      code: 0,
      out: expect.stringContaining('write_file did not run'),
    });
    expect(await cli('settle', correlationId, 'ran', '--reason', 'it is there')).toMatchObject({
      code: 4,
      out: expect.stringContaining('not_uncertain'),
    });
    expect(await cli()).toMatchObject({ code: 0, out: '(no call is uncertain)\n' });
    expect((await send(id)).answer).toMatchObject({ status: 409, body: { error: 'reconciled_not_run' } });
    expect((await outcomes(correlationId)).at(-1)).toMatchObject({
      stage: 'not_run',
      reconciled: 'person',
      decision_reason: 'not in the journal',
    });
    expect(ran()).toBe(1);
  });

  it.each([
    ['without the operator’s token', 'GET', '', undefined, {}, 401],
    ['of an unknown id', 'GET', `/${randomUUID()}`, undefined, AS_OPERATOR, 404],
    ['of what is no id', 'GET', '/x', undefined, AS_OPERATOR, 400],
    ['without a reason', 'POST', `/${randomUUID()}/settle`, { outcome: 'completed' }, AS_OPERATOR, 400],
    [
      'with an empty reason',
      'POST',
      `/${randomUUID()}/settle`,
      { outcome: 'completed', reason: ' ' },
      AS_OPERATOR,
      400,
    ],
    ['as something else', 'POST', `/${randomUUID()}/settle`, { outcome: 'failed', reason: 'x' }, AS_OPERATOR, 400],
    ['of an unknown id', 'POST', `/${randomUUID()}/settle`, { outcome: 'completed', reason: 'x' }, AS_OPERATOR, 404],
  ] as const)('is refused %s: %s %s', async (_what, method, path, body, headers, code) => {
    expect((await gate.send(method, `/uncertain${path}`, { headers, ...(body && { body }) })).status).toBe(code);
  });
});

describe('a start of lite with probes', () => {
  it.each([
    ['a tool that is not known to read', probe({ tool: 'create_order' }), 'create_order is no reading tool'],
    [
      'an address outside the allowlist',
      { url: 'https://bank.example/', query: { a: { from: '/arguments/a' } }, completed: { at: '/status', is: [200] } },
      'the allowlist is empty',
    ],
    ['a fault in the file', probe({ attempts: 0 }), 'attempts'],
  ])('is refused for %s', async (_what, one, why) => {
    await gate.close();
    await expect(open(one)).rejects.toThrow(why);
    gate = await open();
  });
});
