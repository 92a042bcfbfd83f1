import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { answerJson, type StubGate, stubGate } from '../../agent-sdk/test/stub-gate.js';
import { type ActivityOptions, currentAuthorization, gateActivities } from '../src/index.js';
import { DECIDE, DECISION } from '../src/wire.js';

let gate: StubGate;
beforeAll(async () => {
  gate = await stubGate();
});
afterAll(() => gate.close());
beforeEach(() => {
  gate.asked.length = 0;
});

const CALL = { name: 'send_mail', arguments: { to: 'a' }, idempotencyId: '00000000-0000-4000-8000-000000000001' };
const asking = (more: ActivityOptions = {}) =>
  gateActivities({ endpoint: gate.url, retry: { maxAttempts: 1 }, ...more });
const environment = (): MockActivityEnvironment =>
  new MockActivityEnvironment(
    { workflowExecution: { workflowId: 'order-1', runId: 'run-1' } },
    { logger: new DefaultLogger('ERROR') },
  );
const decide = (more?: ActivityOptions): Promise<unknown> => environment().run(asking(more)[DECIDE], CALL);
const decision = (): Promise<unknown> => environment().run(asking()[DECISION], { correlationId: 'c-1' });
const answers = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void => {
  gate.answer = (_, response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    answerJson(response, status, body);
  };
};
const REFUSAL = { error: 'policy_denied', reasons: ['not to strangers'], correlation_id: 'c-1' };
const LIMITED = { error: 'rate_limited', reasons: ['too many'], correlation_id: 'c-1', verdict: 'rate_limited' };

describe('the question of a workflow', () => {
  it('is one request, whoever asks it again', async () => {
    answers(200, { decision: 'allow', correlation_id: 'c-1' });
    expect([await decide(), await decide()]).toEqual([
      { kind: 'allow', correlationId: 'c-1' },
      { kind: 'allow', correlationId: 'c-1' },
    ]);
    expect(new Set(gate.asked.map(({ text, headers }) => text + String(headers['x-gate-idempotency-id']))).size).toBe(
      1,
    );
    expect(gate.asked[0]?.headers['x-gate-idempotency-id']).toBe(CALL.idempotencyId);
    expect(gate.asked[0]?.headers['x-gate-callback-url']).toBeUndefined();
  });

  it('says where this workflow is told of the decision', async () => {
    answers(202, { status: 'pending', correlation_id: 'c-1', poll_after_ms: 7 });
    const callbackUrl = (workflowId: string, runId: string): string => `https://agent/${workflowId}/${runId}`;
    expect(await decide({ callbackUrl })).toEqual({ kind: 'pending', correlationId: 'c-1', pollAfterMs: 7 });
    expect(gate.asked[0]?.headers['x-gate-callback-url']).toBe('https://agent/order-1/run-1');
  });

  it.each<[string, number, object, Record<string, string>, object]>([
    ['a refusal', 403, REFUSAL, {}, { kind: 'deny', code: 'policy_denied', reasons: ['not to strangers'] }],
    [
      'what an observing gate would refuse',
      200,
      { decision: 'allow' },
      { 'x-gate-would-deny': 'true' },
      { kind: 'allow' },
    ],
    [
      'a budget that is spent',
      429,
      { ...LIMITED, error: 'quota_exceeded', verdict: 'quota_exceeded' },
      {},
      { kind: 'deny', code: 'quota_exceeded' },
    ],
  ])('is answered by %s', async (_, status, body, headers, answer) => {
    answers(status, body, headers);
    expect(await decide()).toMatchObject(answer);
  });

  it('is asked again after the time that Gate says', async () => {
    answers(429, { ...LIMITED, retry_after_secs: 9 });
    await expect(decide()).rejects.toMatchObject({ type: 'rate_limited', nonRetryable: false, nextRetryDelay: '9s' });
  });

  it.each<[string, number, string | undefined]>([
    ['a Gate that fails', 503, undefined],
    ['somebody else who answers', 200, undefined],
    ['a Gate that does not know this worker', 401, 'unauthenticated'],
  ])('is %s: asked again, or not', async (_, status, code) => {
    answers(status, code === undefined ? { hello: 'world' } : { error: code });
    const error = await decide().then(
      (value) => value,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(Error);
    expect((error as { nonRetryable?: boolean }).nonRetryable === true).toBe(code !== undefined);
    if (code !== undefined) expect(error).toMatchObject({ type: code });
  });

  it('cannot be asked with options that cannot be meant', async () => {
    await expect(decide({ timeoutMs: 0 })).rejects.toMatchObject({ type: 'gate_misconfigured', nonRetryable: true });
    expect(gate.asked).toEqual([]);
  });

  it('lets everything pass where the SDK observes', async () => {
    answers(503, {});
    expect(await decide({ mode: 'observe' })).toEqual({ kind: 'allow' });
  });

  it('ends with its activity', async () => {
    const env = environment();
    gate.answer = () => env.cancel();
    await expect(env.run(asking()[DECIDE], CALL)).rejects.toThrow();
  });
});

describe('the question about a call that waits', () => {
  it.each<[string, object, object | null]>([
    ['nobody decided', { status: 'pending' }, null],
    ['somebody approved', { status: 'approved', decision: 'allow' }, { kind: 'allow', correlationId: 'c-1' }],
    ['somebody refused', { status: 'denied' }, { kind: 'deny', code: 'review_denied', correlationId: 'c-1' }],
    ['its time is over', { status: 'expired' }, { kind: 'deny', code: 'review_expired' }],
    [
      'somebody changed it',
      { status: 'approved', decision: 'allow', modified_payload_digest: 'sha256:0' },
      { kind: 'deny', code: 'call_changed' },
    ],
  ])('where %s', async (_, view, answer) => {
    answers(200, { correlation_id: 'c-1', ...view });
    const given = await decision();
    if (answer === null) expect(given).toBeNull();
    else expect(given).toMatchObject(answer);
  });

  it('fails for good where there is no such call', async () => {
    answers(404, { error: 'not_found' });
    await expect(decision()).rejects.toMatchObject({ type: 'not_found', nonRetryable: true });
  });
});

it('outside a tool nothing is authorized', () => {
  expect(() => currentAuthorization()).toThrow(/no tool runs here/);
});
