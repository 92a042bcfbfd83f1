import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  denialPanel,
  type GateOptions,
  GateConfigError,
  GateDenied,
  GatePending,
  GateRateLimited,
  GateTransportError,
  guardToolCall,
  inspectRealtimeFunctionCall,
  inspectToolUse,
  inspectToolUses,
  isApproved,
  isRealtimeFunctionCallDone,
  normalizeRealtimeFunctionCall,
  resolvePending,
} from '../src/index.js';
import { eventually } from '../../../../test/support/waiting.js';
import { answerJson, type StubGate, stubGate } from './stub-gate.js';

let gate: StubGate;
beforeEach(async () => {
  gate = await stubGate();
});
afterEach(() => gate.close());

const CALL = { id: 'call-1', name: 'send_mail', input: { to: 'a' } };
const options = (more: GateOptions = {}): GateOptions => ({ endpoint: gate.url, retry: { baseDelayMs: 1 }, ...more });
const allowing = (): void => {
  gate.answer = (_, response) => answerJson(response, 200, { decision: 'allow', correlation_id: 'c-1' });
};
/** Parks every call, and answers polls one after the other; the last one again and again. */
const parking = (...views: readonly (({ status?: string } & Record<string, unknown>) | number)[]): void => {
  let asked = 0;
  gate.answer = ({ path }, response) => {
    if (!path.startsWith('/pending/'))
      return answerJson(response, 202, {
        status: 'pending',
        correlation_id: 'c/1',
        ttl_secs: 60,
        poll_after_ms: 5,
        review_reasons: ['ask'],
      });
    const view = views[Math.min(asked, views.length - 1)] as (typeof views)[number];
    asked += 1;
    return typeof view === 'number'
      ? answerJson(response, view, { error: 'not_found' })
      : answerJson(response, 200, { correlation_id: 'c/1', ...view });
  };
};
const PENDING = { status: 'pending', decision: null };
const thrownBy = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => null,
    (error: unknown) => error,
  );

describe('options that cannot be meant are refused before anything is sent', () => {
  it.each<[string, GateOptions, RegExp]>([
    ['no address', { endpoint: '' }, /endpoint is missing/],
    ['an address that cannot be read', { endpoint: 'gate' }, /no address/],
    ['another scheme', { endpoint: 'ftp://gate' }, /http or https/],
    ['user information', { endpoint: 'https://u:p@gate' }, /user information/],
    ['the path of the MCP endpoint', { endpoint: 'https://gate/mcp' }, /without \/mcp/],
    ['a password in what is no address', { endpoint: 'https://u:secret@ga te' }, /^(?!.*secret).*no address/],
    [
      'a callback that is no address',
      { endpoint: 'https://gate', callback: { url: 'here', wait: async () => null } },
      /callback\.url is no address/,
    ],
    ['a query', { endpoint: 'https://gate/?a=1' }, /no query/],
    ['a token over a network in clear', { endpoint: 'http://gate.example', token: 't' }, /https alone/],
    ['a token of two lines', { endpoint: 'https://gate', token: 'a\nb' }, /one line/],
    ['an empty token', { endpoint: 'https://gate', token: ' ' }, /not empty/],
    ['a mode that there is not', { endpoint: 'https://gate', mode: 'warn' as 'observe' }, /enforce or observe/],
    ['no time', { endpoint: 'https://gate', timeoutMs: 0 }, /timeoutMs must be/],
    ['too much time', { endpoint: 'https://gate', timeoutMs: 300_001 }, /timeoutMs must be/],
    ['no attempt', { endpoint: 'https://gate', retry: { maxAttempts: 0 } }, /maxAttempts/],
    [
      'a header of its own',
      { endpoint: 'https://gate', extraHeaders: { 'x-gate-idempotency-ID': 'x' } },
      /set by this package/,
    ],
    [
      'a header that breaks the line',
      { endpoint: 'https://gate', extraHeaders: { 'X-A': 'a\r\nX-B: b' } },
      /no header/,
    ],
    ['an option that there is not', { endpoint: 'https://gate', tokne: 't' } as GateOptions, /no option tokne/],
  ])('%s', (_, given, reason) => {
    expect(() => inspectToolUse(CALL, given)).toThrow(GateConfigError);
    expect(() => inspectToolUse(CALL, given)).toThrow(reason);
  });

  it('takes what the environment says', async () => {
    allowing();
    process.env['GATE_ENDPOINT'] = `${gate.url}/behind/`;
    process.env['GATE_TOKEN'] = 'secret';
    try {
      await inspectToolUse(CALL);
    } finally {
      delete process.env['GATE_ENDPOINT'];
      delete process.env['GATE_TOKEN'];
    }
    expect(gate.asked).toMatchObject([{ path: '/behind/mcp', headers: { authorization: 'Bearer secret' } }]);
  });

  it.each<[string, unknown, RegExp]>([
    ['undefined', { a: undefined }, /input\.a is a undefined/],
    ['a function', { a: () => 1 }, /is a function/],
    ['a large integer', { a: [2 ** 60] }, /input\.a\.0 is an integer beyond/],
    ['no number', { a: Number.NaN }, /is NaN/],
    ['a bigint', { a: 1n }, /is a bigint/],
    ['a date', { a: new Date(0) }, /no plain object/],
    ['a map', { a: new Map() }, /no plain object/],
    ['a toJSON', { a: { toJSON: () => 'other' } }, /toJSON of its own/],
    ['65 levels', JSON.parse(`${'['.repeat(65)}${']'.repeat(65)}`), /deeper than 64/],
    ['more than 1 MiB', { a: 'ä'.repeat(2 ** 19) }, /more than 1 MiB/],
  ])('arguments with %s', async (_, input, reason) => {
    const error = await thrownBy(inspectToolUse({ ...CALL, input }, options()));
    expect(error).toBeInstanceOf(GateConfigError);
    expect(String(error)).toMatch(reason);
    expect(gate.asked).toEqual([]);
  });

  it('arguments that contain themselves', async () => {
    const input: Record<string, unknown> = {};
    input['a'] = { b: input };
    await expect(inspectToolUse({ ...CALL, input }, options())).rejects.toThrow(/contains itself/);
  });

  it.each<[string, { id: string; name: string; input: unknown }[], RegExp]>([
    ['none', [], /no call/],
    ['129', Array.from({ length: 129 }, (_, at) => ({ ...CALL, id: `c-${at}` })), /more than 128/],
    ['two under one id', [CALL, CALL], /one id/],
    ['one without a name', [{ ...CALL, name: ' ' }], /name of a tool is missing/],
    [
      '4 MiB together',
      Array.from({ length: 5 }, (_, at) => ({ ...CALL, id: `c-${at}`, input: 'x'.repeat(2 ** 20 - 2) })),
      /4 MiB/,
    ],
  ])('calls: %s', async (_, calls, reason) => {
    await expect(inspectToolUses(calls, options())).rejects.toThrow(reason);
    expect(gate.asked).toEqual([]);
  });
});

describe('a call that is guarded', () => {
  it('may run where Gate allows it', async () => {
    allowing();
    await expect(guardToolCall({ name: 'send_mail', input: {} }, options())).resolves.toEqual({ correlationId: 'c-1' });
  });

  it('is denied with code, rule and the call of a batch that it is about', async () => {
    gate.answer = (_, response) =>
      answerJson(response, 403, {
        error: 'policy_denied',
        reasons: ['a', 'b'],
        layer: 'policy',
        correlation_id: 'c-1',
        call_id: 'call-2',
      });
    const error = await thrownBy(guardToolCall(CALL, options()));
    expect(error).toBeInstanceOf(GateDenied);
    expect(String(error)).toBe('GateDenied: gate denied tool "send_mail": a | b');
    expect(error).toMatchObject({ code: 'policy_denied', layer: 'policy', correlationId: 'c-1', toolUseId: 'call-1' });
  });

  it('is limited with the time to wait', async () => {
    gate.answer = (_, response) =>
      answerJson(response, 429, { error: 'rate_limited', reasoning: 'slow', retry_after_secs: 3 });
    const error = await thrownBy(guardToolCall(CALL, options()));
    expect(error).toBeInstanceOf(GateRateLimited);
    expect(error).toMatchObject({ code: 'rate_limited', retryAfterSecs: 3 });
  });

  it('waits for its person where its caller does', async () => {
    parking(PENDING, PENDING, { status: 'approved', decision: 'allow' });
    await expect(guardToolCall(CALL, { ...options(), onPending: 'wait' })).resolves.toEqual({ correlationId: 'c/1' });
    expect(gate.asked.slice(1).map(({ path }) => path)).toEqual(['/pending/c%2F1', '/pending/c%2F1', '/pending/c%2F1']);
  });

  it('is not run where Gate is away, and passes in observe mode', async () => {
    gate.answer = (_, response) => void response.destroy();
    await expect(guardToolCall(CALL, options())).rejects.toThrow(GateTransportError);
    expect(gate.asked).toHaveLength(3);
    const told = jest.fn();
    await expect(guardToolCall(CALL, options({ mode: 'observe', onPolicyError: told as () => void }))).resolves.toEqual(
      {
        correlationId: undefined,
      },
    );
    expect(told).toHaveBeenCalledWith(expect.any(GateTransportError), {
      toolName: 'send_mail',
      toolUseId: 'call-1',
      toolInput: { to: 'a' },
    });
  });

  it('is told to its caller once, before it is thrown, and what that throws is thrown on', async () => {
    gate.answer = (_, response) => answerJson(response, 403, { error: 'policy_denied', reasons: [] });
    const told: string[] = [];
    await thrownBy(
      guardToolCall(CALL, options({ onVerdict: ({ kind }, { toolName }) => void told.push(`${kind} ${toolName}`) })),
    );
    expect(told).toEqual(['deny send_mail']);
    const own = new Error('mine');
    await expect(guardToolCall(CALL, options({ onVerdict: () => Promise.reject(own) }))).rejects.toBe(own);
  });

  it('ends where its caller gives up', async () => {
    gate.answer = () => {};
    const stop = new AbortController();
    const asked = guardToolCall(CALL, { ...options(), signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(asked).rejects.toThrow('enough');
  });

  it('sends the token nowhere but to Gate', async () => {
    const other = await stubGate();
    gate.answer = (_, response) => void response.writeHead(307, { location: `${other.url}/mcp` }).end();
    await expect(guardToolCall(CALL, options({ token: 'secret' }))).rejects.toThrow(GateTransportError);
    expect(other.asked).toEqual([]);
    await other.close();
  });
});

describe('waiting for a decision', () => {
  const waiting = async (more: GateOptions = {}): Promise<GatePending> => {
    const error = await thrownBy(guardToolCall(CALL, options(more)));
    expect(error).toBeInstanceOf(GatePending);
    return error as GatePending;
  };

  it.each<[string, Record<string, unknown>, string, string]>([
    [
      'a person says no',
      { status: 'denied', decision: 'deny', decider_note: 'not today' },
      'review_denied',
      'not today',
    ],
    [
      'a person says no without a word',
      { status: 'denied', decision: 'deny', decider_note: null },
      'review_denied',
      'operator denied',
    ],
    ['nobody decides', { status: 'expired', decision: null }, 'review_expired', 'review expired'],
    ['the agent took it back', { status: 'withdrawn', decision: null }, 'call_withdrawn', 'withdrew'],
    ['Gate closed it', { status: 'aborted', decision: null }, 'call_aborted', 'closed'],
    [
      'the approval counts no more',
      { status: 'approved', decision: null, authorization_refused: 'policy_changed' },
      'policy_changed',
      'no more',
    ],
    [
      'what was approved is another call',
      { status: 'approved', decision: 'allow', modified_payload_digest: 'x' },
      'call_changed',
      'other arguments',
    ],
  ])('%s', async (_, view, code, reason) => {
    parking(PENDING, view);
    const error = await thrownBy((await waiting()).resolve());
    expect(error).toBeInstanceOf(GateDenied);
    expect(error).toMatchObject({ code, reviewReasons: ['ask'], correlationId: 'c/1', layer: 'hil' });
    expect((error as GateDenied).reasons.join()).toContain(reason);
  });

  it('outlives a Gate that is away', async () => {
    parking(503, 429, PENDING, { status: 'approved', decision: 'allow' });
    await expect((await waiting()).resolve()).resolves.toBeUndefined();
  });

  it.each([401, 404, 409])('ends at once with %i', async (status) => {
    parking(status);
    const error = await thrownBy((await waiting()).resolve());
    expect(error).toMatchObject({ status, code: 'not_found' });
    expect(error).toBeInstanceOf(GateTransportError);
  });

  it.each<[string, Record<string, unknown>]>([
    ['about another call', { status: 'approved', decision: 'allow', correlation_id: 'c/2' }],
    ['of a state that there is not', { status: 'fine' }],
  ])('takes no answer %s for a decision', async (_, view) => {
    parking(view);
    await expect((await waiting()).resolve()).rejects.toThrow(GateTransportError);
  });

  it('ends without a decision when its time is over', async () => {
    parking(PENDING);
    const error = await thrownBy((await waiting()).resolve({ timeoutMs: 30 }));
    expect(error).toBeInstanceOf(GateTransportError);
    expect(String(error)).toMatch(/not decided within 30ms/);
  });

  it('ends where its caller gives up', async () => {
    parking(PENDING);
    const stop = new AbortController();
    const asked = (await waiting()).resolve({ signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(asked).rejects.toThrow('enough');
  });

  it('goes on in another process by the id of the call alone', async () => {
    parking(PENDING, { status: 'approved', decision: 'allow' });
    await expect(resolvePending('c/1', options(), { pollIntervalMs: 1 })).resolves.toBeUndefined();
  });

  it.each<[string, object | number, boolean]>([
    ['nobody decided', PENDING, false],
    ['gate is away', 503, false],
    ['somebody approved', { status: 'approved', decision: 'allow' }, true],
  ])('is asked about once: %s', async (_, view, approved) => {
    parking(view as number);
    expect(await isApproved('c/1', options())).toBe(approved);
    expect(gate.asked).toHaveLength(1);
  });

  it('asked about once, is an error where it was refused', async () => {
    parking({ status: 'denied', decision: 'deny', decider_note: 'no' });
    await expect(isApproved('c/1', options())).rejects.toMatchObject({ code: 'review_denied', reasons: ['no'] });
  });

  it('takes a post for a hint, and asks', async () => {
    parking(PENDING, { status: 'approved', decision: 'allow' });
    let post: () => void = () => {};
    const posted = new Promise<void>((resolve) => {
      post = resolve;
    });
    const callback = { url: 'http://127.0.0.1:1/decided', wait: () => posted };
    const pending = await waiting({ callback });
    expect(gate.asked[0]?.headers['x-gate-callback-url']).toBe(callback.url);
    const resolved = pending.resolve({ pollIntervalMs: 60_000 });
    await eventually('the first question', () => gate.asked.length >= 2);
    post();
    await resolved;
    expect(gate.asked).toHaveLength(3);
  });

  it('does not take a post for the decision', async () => {
    parking(PENDING);
    const pending = await waiting({ callback: { url: 'http://127.0.0.1:1/', wait: () => Promise.resolve() } });
    await expect(pending.resolve({ timeoutMs: 40, pollIntervalMs: 10 })).rejects.toThrow(/not decided/);
  });
});

describe('a denial as a developer reads it', () => {
  it('has the reasons and the detectors, each on one line whatever they are made of', () => {
    const denied = new GateDenied({
      call: { ...CALL, name: 'send\u001b[2J' },
      code: 'policy_denied',
      reasons: ['no\nreason  gate allowed it', '\u202edetrever'],
      reviewReasons: [],
      intentCategory: 'Exfiltration',
      layer: 'brain',
      correlationId: 'c-1',
      detail: { detectors: [{ detector: 'intent', score: 0.9, flagged: true }], degraded: ['drift'] },
    });
    expect(denialPanel(denied)).toBe(
      [
        'gate denied a call',
        '  tool       send [2J',
        '  code       policy_denied',
        '  layer      brain',
        '  intent     Exfiltration',
        '  call       c-1',
        '  reason     no reason  gate allowed it',
        '  reason     detrever',
        '  detector   intent 0.9 flagged',
        '  not asked  drift',
      ].join('\n'),
    );
  });

  it('is printed where its user asked for it', async () => {
    gate.answer = (_, response) => answerJson(response, 403, { error: 'policy_denied', reasons: ['no'] });
    const written = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    await thrownBy(guardToolCall(CALL, options({ devMode: true })));
    expect(written.mock.calls.join('')).toContain('gate denied a call\n  tool       send_mail');
    written.mockRestore();
  });
});

describe('a call of the realtime API', () => {
  const event = {
    type: 'response.function_call_arguments.done',
    call_id: 'call-1',
    name: 'send_mail',
    arguments: '{"to":"a"}',
  };

  it('has one verdict, which is given back', async () => {
    allowing();
    expect(isRealtimeFunctionCallDone(event)).toBe(true);
    expect(await inspectRealtimeFunctionCall(event, options())).toEqual({ kind: 'allow', correlationId: 'c-1' });
    expect(JSON.parse(gate.asked[0]?.text ?? '')).toMatchObject({
      params: { name: 'send_mail', arguments: { to: 'a' } },
    });
  });

  it('shows arguments that are no JSON as the text that they are', () => {
    expect(normalizeRealtimeFunctionCall({ ...event, arguments: '{"to"' } as never).input).toEqual({ input: '{"to"' });
  });

  it('is none where the event is another', async () => {
    expect(isRealtimeFunctionCallDone({ ...event, name: undefined })).toBe(false);
    await expect(inspectRealtimeFunctionCall({ type: 'x' }, options())).rejects.toThrow(GateConfigError);
  });
});
