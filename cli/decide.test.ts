import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { text as textOf } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SERVER_EXECUTION_CONTRACT } from '../contracts/call.js';
import { BATCH_METHOD } from '../contracts/call-methods.js';
import type { PendingRequest } from '../contracts/review.js';
import { commandLine } from '../test/support/command.js';
import { refusal } from './answers.js';
import { told, withPage } from './decide.js';
import { CliError } from './errors.js';

const ID = '00000000-0000-4000-8000-000000000001';
const verdict = {
  event_kind: 'proxy.verdict',
  policy_decision: { contract: SERVER_EXECUTION_CONTRACT },
  reasoning: '',
};
const outcome = (stage: string, reasoning = '') => ({
  event_kind: 'upstream.outcome',
  policy_decision: { stage },
  reasoning,
});
const row = (over: Partial<PendingRequest> = {}) =>
  ({
    id: ID,
    correlation_id: ID,
    agent_id: 'support-bot',
    method: 'tools/call',
    request_payload: { params: { name: 'wire_transfer' } },
    decided_by: 'operator:ana',
    decision_reason: null,
    status: 'approved',
    ...over,
  }) as PendingRequest;

describe('gate decide modify', () => {
  let server: Server;
  let answer: PendingRequest;
  let waiting: PendingRequest;
  /** What the ledger says after the decision. */
  let ledger: () => unknown;
  let asked: [method: string, path: string, body: unknown][];
  const { done, stop } = commandLine(() => tmpdir());
  const modify = (...more: string[]) => modifyWith('--set', 'amount=5', ...more);
  const modifyWith = (...given: string[]) => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const flags = ['--endpoint', url, '--decide-token', 'x'.repeat(32)];
    return done(['decide', ID, 'modify', ...given, ...flags]);
  };
  beforeEach(async () => {
    waiting = row({
      status: 'pending',
      original_payload_digest: 'ab'.repeat(32),
      request_payload: { params: { name: 'wire_transfer', arguments: { amount: 25, memo: 'rent' } } },
    });
    asked = [];
    ledger = () => [verdict, outcome('completed')];
    const answers = async (request: IncomingMessage, response: ServerResponse) => {
      const body = await textOf(request);
      asked.push([request.method ?? '', request.url ?? '', body && JSON.parse(body)]);
      const rows = request.url?.startsWith('/audit/') ? ledger() : [waiting];
      response.end(JSON.stringify(request.method === 'GET' ? rows : answer));
    };
    server = createServer((request, response) => void answers(request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(async () => {
    await stop();
    server.close();
  });

  it('of a call that is denied as it was changed fails, and says why and that nothing more comes of it', async () => {
    answer = row({ status: 'denied', decision_reason: 'the changed call needs the tier strict: money moves' });
    const words =
      'gate: denied: wire_transfer for support-bot, by operator:ana: the changed call needs the tier strict: money moves; this is final: nothing runs, and its agent must ask anew\n';
    expect(await modify()).toEqual({ code: 1, out: words });
    const { code, out } = await modify('--json');
    expect({ code, out }).toEqual({ code: 1, out: expect.stringContaining(words) });
    expect(JSON.parse(out.replace(words, ''))).toMatchObject({ status: 'denied' });
  });

  it('of a call that runs as it was changed is done', async () => {
    answer = row();
    expect(await modify()).toEqual({
      code: 0,
      out: expect.stringMatching(
        /^approved with changes \(amount = 5\): wire_transfer for support-bot, by operator:ana\nGate executed it, once\.\n$/,
      ),
    });
  });

  it.each([
    ['not_run', 'the definition changed', 'It was not executed: '],
    ['uncertain', 'no answer came', 'Nobody knows whether it ran: '],
    ['failed', 'no such account', 'the tool answered with an error: '],
  ])('of a call that then is %s says so, and fails', async (stage, why, words) => {
    answer = row();
    ledger = () => [verdict, outcome(stage, why)];
    const { code, out } = await modify();
    expect(code).toBe(1);
    expect(out).toContain('approved with changes (amount = 5)');
    expect(out).toMatch(new RegExp(`gate: approved\\. (?:Gate executed it, once, and )?${words}.*${why}`));
    expect(out).not.toContain('executes it now');
  });

  it('waits for what comes of it, and leaves it at the decision where the ledger says nothing', async () => {
    answer = row();
    let looks = 0;
    ledger = () => [verdict, ...((looks += 1) < 3 ? [] : [outcome('completed')])];
    expect(await modify()).toMatchObject({ code: 0, out: expect.stringContaining('Gate executed it, once.') });
    expect(looks).toBe(3);
    ledger = () => ({ error: 'ledger_unavailable' });
    expect(await modify()).toMatchObject({ code: 0, out: expect.stringContaining('Gate executes it now') });
  });

  it('is of the call that was read, and with values of the types that stand there', async () => {
    answer = row();
    await modify();
    expect(asked.slice(0, 2)).toMatchObject([
      ['GET', `/pending?id=${ID}`, ''],
      ['POST', `/decide/${ID}`, { decision: 'modify', action_digest: 'ab'.repeat(32) }],
    ]);
    expect(await modify('--set', 'amount=10x')).toMatchObject({
      code: 2,
      out: expect.stringContaining('nothing was decided'),
    });
    const calls = [{ id: '1', name: 'wire_transfer', arguments: { amount: 25 } }];
    waiting = row({
      status: 'pending',
      method: BATCH_METHOD,
      request_payload: { method: BATCH_METHOD, params: { calls } },
    });
    const batch = await modifyWith('--set', 'calls.0.arguments.amount=10x');
    expect(batch).toMatchObject({ code: 2, out: expect.stringContaining('nothing was decided') });
    expect(asked.filter(([method]) => method === 'POST')).toHaveLength(1);
  });

  it('is warned of in its help, with what a file may hold', async () => {
    const { out } = await done(['decide', '--help']);
    for (const words of ['DENIED for good', 'the exit code is 1', '{"amount": 100, "limits": {"max": 5}}', 'diff/v1'])
      expect(out).toContain(words);
  });
});

describe('an approval of a call that several must approve', () => {
  const vote = (by: string) => ({ by, provenance: 'console-bearer', at: '2026-11-02T10:00:00.000Z' });
  const voted = row({ status: 'pending', required_approvers: 2, approvals: [vote('operator:ana')] });
  it('is told as a vote, and one by somebody who has approved already as no other', () => {
    const first = told(voted, { diff: null, before: { ...voted, approvals: [] } });
    expect(first).toBe(
      '1 of 2 approvals: wire_transfer for support-bot, by operator:ana\nit still waits: somebody else must approve too, or deny (in the development stack: --as second)\n',
    );
    expect(told(voted, { diff: null, before: voted })).toContain(
      'you had approved it before, which counts once; it still waits',
    );
    // The other one, whose approval does not count any more, was somebody else.
    const lapsed = { ...voted, approvals: [{ ...vote('operator:ada'), lapsed: true as const }] };
    expect(told(voted, { diff: null, before: lapsed })).toBe(first);
  });
});

describe('a decision of a review that no call asked for', () => {
  const asked = (agent_spiffe: string | null) => row({ agent_spiffe });
  const toldOf = (of: ReturnType<typeof row>) => told(of, { diff: null, before: { ...of, status: 'pending' } });
  it('says that nothing runs', () => {
    expect(toldOf(asked('spiffe://gate.local/service/simulator'))).toBe(
      'approved: rehearsal wire_transfer for support-bot, by operator:ana\nRehearsal: no agent asked for it, and nothing runs, whatever is decided.\n',
    );
    expect(toldOf(asked('spiffe://gate.local/tenant/acme/agent/support-bot/instance/1'))).toContain('executes it now');
    expect(toldOf(asked(null))).toContain('executes it now');
  });
  it('says so also of a denial, and of a vote', () => {
    const { agent_spiffe } = asked('spiffe://gate.local/service/simulator');
    expect(toldOf(row({ agent_spiffe, status: 'denied' }))).toContain('Rehearsal: no agent asked for it');
    const vote = { by: 'operator:ana', provenance: 'console-bearer', at: '2026-11-02T10:00:00.000Z' };
    expect(toldOf(row({ agent_spiffe, status: 'pending', required_approvers: 2, approvals: [vote] }))).toContain(
      '1 of 2 approvals: rehearsal wire_transfer for support-bot',
    );
  });
});

describe('an approval that wants a passkey', () => {
  const page = 'https://gate.example/hil/1';
  it('is refused with the page where the passkey signs', () => {
    const refused = withPage(
      refusal(403, '{"error":"passkey_required","reason":"sign the challenge of the row."}'),
      page,
    );
    expect(refused).toMatchObject({
      message: 'passkey_required: sign the challenge of the row. Sign and approve at https://gate.example/hil/1',
      exitCode: 3,
      code: 'passkey_required',
    });
  });

  it('is the only refusal that names it, by its code and not by its words', () => {
    for (const other of [
      refusal(403, '{"error":"own_request","reason":"no"}'),
      new CliError('passkey_required: x', 3),
      new Error('passkey_required: x'),
    ])
      expect(withPage(other, page)).toBe(other);
  });
});
