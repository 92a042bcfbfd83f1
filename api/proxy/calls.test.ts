import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { CallInput } from '../../contracts/call.js';
import { decoySetOf, NO_DECOYS } from '../../domain/identity/decoy-readings.js';
import type { CallStore } from '../../domain/call/ports.js';
import type { CallRecord } from '../../domain/call/record.js';
import { GateError } from '../../domain/errors.js';
import { stopFault } from '../../domain/identity/stops.js';
import { createAgentLimits } from './agent-limits.js';
import type { RedeemActor } from './actor-tokens.js';
import type { AgentCaller } from './mcp-requests.js';
import { correlationIdOf, createCallHandler, type ToolCallRequest } from './calls.js';

/** A proxy whose engine judges a call when the test says so. */
function proxy({
  together = 8,
  each = 2,
  waiting = 100,
  callDeadlineMs = 60_000,
  inspectionTimeoutMs = undefined as number | undefined,
  stopped = new Set<string>(),
  grantsRequired = false,
  decoys = NO_DECOYS,
  redeemActor = undefined as RedeemActor | undefined,
}) {
  const staged: string[] = [];
  const admitted: CallInput[] = [];
  const atEngine: { readonly agent: string; readonly id: string; readonly end: () => void }[] = [];
  const records = new Map<string, CallRecord>();
  const digests = new Map<string, string>();
  const awaited = new Map<string, (record: CallRecord) => void>();
  const refused: string[] = [];
  const touched: object[] = [];
  const reaches = (id: string, state: string) => {
    const record = {
      correlation_id: id,
      digest: digests.get(id),
      state,
      evidence: { call: { contract: 'gate.server-execution/v1' }, verdict: null },
    } as never as CallRecord;
    records.set(id, record);
    awaited.get(id)?.(record);
  };
  const calls = {
    find: async (id: string) => records.get(id) ?? null,
    waitFor: (id: string, holds: (record: CallRecord) => boolean) =>
      new Promise((resolve) => awaited.set(id, (record) => holds(record) && resolve(record))),
    admit: async (call: CallInput) => {
      admitted.push(call);
      staged.push(call.correlation_id);
      digests.set(call.correlation_id, call.digest);
      return { admitted: true, digest: call.digest, recent: 1 };
    },
  } as never as CallStore;
  const refusals = async ({ limit }: { limit: string }) => void refused.push(limit);
  const none = { controls: 0, replays: 0, replayedBytes: 0, streams: 0 };
  const handler = createCallHandler({
    calls,
    runner: {
      start: ({ agent, correlation_id: id }) =>
        new Promise((_, reject) =>
          atEngine.push({ agent, id, end: () => reject(new GateError('upstream_unreachable')) }),
        ),
    },
    ledger: {} as never,
    mode: 'enforce',
    velocity: { limit: 0, windowMs: 60_000 },
    callDeadlineMs,
    inspectionTimeoutMs,
    upstreamTimeoutMs: 5_000,
    ttlSecs: { auto: 120, standard: 600, strict: 1_800 },
    maxInFlight: 1_000,
    grantsRequired,
    redeemActor,
    decoys: {
      of: () => decoys,
      touched: async ({ tenant, agent }, of, { id }) => void touched.push({ tenant, agent, of, id }),
    },
    judgedAtOnce: { together, each, waiting },
    toolFault: (tenant, tools) => {
      const tool = tools.find((one) => stopped.has(one));
      return tool === undefined ? null : stopFault({ tenant, tool });
    },
    limits: createAgentLimits({ limits: none, refusals, onLimited: () => undefined, now: Date.now }),
    refusals,
  });
  const ask = (
    agent: string,
    mcp: object = { method: 'tools/call', tool: 'x', body: { jsonrpc: '2.0', id: 1, params: { name: 'x' } } },
    idempotencyId: string = randomUUID(),
    shows: Pick<AgentCaller, 'grant' | 'grantFault' | 'actorToken'> = {},
  ) => {
    const caller = {
      kind: 'agent' as const,
      spiffe: `spiffe://gate.local/tenant/acme/agent/${agent}`,
      callerId: agent,
    };
    const request = {
      caller: { ...caller, fingerprint: 'ab', tenant: 'acme', agent, ...shows },
      mcp: { kind: 'tool', ...mcp },
      contract: 'gate.server-execution/v1',
      idempotencyId,
      callbackUrl: null,
    } as never as ToolCallRequest;
    return handler.handle(request, correlationIdOf(request)).then(
      () => 'answered',
      (error: unknown) => (error instanceof GateError ? error.code : String(error)),
    );
  };
  return { ask, staged, admitted, atEngine, refused, handler, reaches, touched };
}
const decoyNamed = (name: string) =>
  decoySetOf([
    {
      id: 'd',
      tenant: 'acme',
      name,
      kind: 'tool',
      value: null,
      isAdvertised: true,
      action: 'suspend',
      schemaJson: null,
      description: null,
    },
  ]);
const settled = async () => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
};

describe('a call whose answer the engine lost', () => {
  it('is answered by its record where that has an end, and is a failure of the engine where it has none', async () => {
    const { ask, atEngine, reaches } = proxy({});
    const [judged, lost] = [ask('a'), ask('a')];
    await settled();
    reaches(atEngine[0]?.id ?? '', 'aborted');
    for (const { end } of atEngine) end();
    expect([await judged, await lost]).toEqual(['answered', 'upstream_unreachable']);
  });
});

describe('a call of a tool that an operator stopped', () => {
  const BATCH = {
    method: 'gate/tools.batch',
    tool: 'gate/tools.batch',
    body: {
      jsonrpc: '2.0',
      id: 1,
      params: {
        contract: 'gate.atomic-tool-call-batch/v1',
        calls: ['x', 'wire_transfer'].map((name) => ({ id: name, name, arguments: {} })),
      },
    },
  };

  it('is refused before anything of it is stored, alone and in a batch, with a row about it', async () => {
    const { ask, staged, refused } = proxy({ stopped: new Set(['wire_transfer', 'x']) });
    expect([await ask('a'), await ask('a', BATCH)]).toEqual(['tool_suspended', 'tool_suspended']);
    expect([staged, refused]).toEqual([[], ['tool_suspended', 'tool_suspended']]);
  });

  it('is told what came of it where it ran before', async () => {
    const stopped = new Set<string>();
    const { ask, atEngine, reaches } = proxy({ stopped });
    const id = randomUUID();
    const first = ask('a', undefined, id);
    await settled();
    reaches(atEngine[0]?.id ?? '', 'aborted');
    atEngine[0]?.end();
    expect(await first).toBe('answered');
    stopped.add('x');
    expect([await ask('a', undefined, id), await ask('a')]).toEqual(['answered', 'tool_suspended']);
  });
});

describe('a call with a grant', () => {
  const grant = { jti: 'j', act_sub: 'user:ada', idp: 'corp', scope: ['tool:x'], yellow_scope: [], exp: 2 ** 40 };

  it('is told what came of it also once the grant ended, and no other one is let in', async () => {
    const { ask, atEngine, reaches, refused, staged } = proxy({});
    const id = randomUUID();
    const first = ask('a', undefined, id, { grant });
    await settled();
    reaches(atEngine[0]?.id ?? '', 'aborted');
    atEngine[0]?.end();
    expect(await first).toBe('answered');
    const ended = { grantFault: new GateError('grant_revoked') };
    expect([await ask('a', undefined, id, ended), await ask('a', undefined, undefined, ended)]).toEqual([
      'answered',
      'grant_revoked',
    ]);
    expect([staged.length, refused]).toEqual([1, ['grant_revoked']]);
  });

  it.each([
    ['that it does not cover', { grant: { ...grant, scope: ['tool:y'] } }, 'scope_outside_envelope'],
    ['that ended', { grantFault: new GateError('grant_revoked') }, 'grant_revoked'],
    ['that there is not', {}, 'grant_required'],
  ])('%s is refused as ever where it touches a decoy, and counted', async (_which, shows, code) => {
    const { ask, staged, touched } = proxy({ grantsRequired: true, decoys: decoyNamed('x') });
    expect(await ask('a', undefined, undefined, shows)).toBe(code);
    expect([staged, touched]).toMatchObject([[], [{ tenant: 'acme', agent: 'a', id: 'd' }]]);
  });

  it('is the only one where none is taken without', async () => {
    const { ask, atEngine, reaches, refused, staged } = proxy({ grantsRequired: true });
    expect(await ask('a')).toBe('grant_required');
    expect([staged, refused]).toEqual([[], ['grant_required']]);
    const taken = ask('a', undefined, undefined, { grant });
    await settled();
    reaches(atEngine[0]?.id ?? '', 'aborted');
    atEngine[0]?.end();
    expect(await taken).toBe('answered');
  });
});

describe('a call with a token of another Gate', () => {
  const actor = {
    iss: 'spiffe://partner.example',
    sub: 'spiffe://partner.example/tenant/t/agent/b/instance/i',
    jti: 'j',
  };
  const shows = { actorToken: 'a.b.c' };
  const once = (): { readonly redeemActor: RedeemActor; readonly used: object[] } => {
    const used: object[] = [];
    return {
      used,
      async redeemActor(token, { caller: { tenant, agent }, tools }) {
        if (used.length > 0)
          throw new GateError('a2a_redeem_failed', 'jti_already_used: used', {
            fields: { redeem_error: 'jti_already_used' },
          });
        used.push({ token, tenant, agent, tools });
        return actor;
      },
    };
  };

  it('is of the agent that the token names, once, and is answered again without one', async () => {
    const { redeemActor, used } = once();
    const { ask, atEngine, reaches, admitted, refused } = proxy({ redeemActor });
    const id = randomUUID();
    const first = ask('a', undefined, id, shows);
    await settled();
    reaches(atEngine[0]?.id ?? '', 'aborted');
    atEngine[0]?.end();
    expect(await first).toBe('answered');
    expect(used).toEqual([{ token: 'a.b.c', tenant: 'acme', agent: 'a', tools: ['x'] }]);
    expect(admitted).toMatchObject([{ actor }]);
    // The same call is told what came of it, with the token or without; another one needs another token.
    expect([await ask('a', undefined, id, shows), await ask('a', undefined, id)]).toEqual(['answered', 'answered']);
    expect(await ask('a', undefined, undefined, shows)).toBe('a2a_redeem_failed');
    expect([admitted.length, refused]).toEqual([1, ['a2a_redeem_failed']]);
  });

  it('uses it up last: whatever else is refused leaves it', async () => {
    const { redeemActor, used } = once();
    const { ask, staged } = proxy({ redeemActor, stopped: new Set(['x']), grantsRequired: true });
    expect(await ask('a', undefined, undefined, shows)).toBe('tool_suspended');
    const other = proxy({ redeemActor, grantsRequired: true });
    expect(await other.ask('a', undefined, undefined, shows)).toBe('grant_required');
    expect([used, staged, other.staged]).toEqual([[], [], []]);
  });

  it('is refused without a row where nobody can say whether it counts, and where nobody redeems', async () => {
    const away = proxy({ redeemActor: () => Promise.reject(new GateError('a2a_unavailable')) });
    const none = proxy({});
    for (const { ask, staged, refused } of [away, none]) {
      expect(await ask('a', undefined, undefined, shows)).toBe('a2a_unavailable');
      expect([staged, refused]).toEqual([[], []]);
    }
  });

  it('that does not count is refused as ever where it touches a decoy, and counted', async () => {
    const redeemActor = () => Promise.reject(new GateError('a2a_redeem_failed'));
    const { ask, staged, touched } = proxy({ redeemActor, decoys: decoyNamed('x') });
    expect(await ask('a', undefined, undefined, shows)).toBe('a2a_redeem_failed');
    expect([staged, touched]).toMatchObject([[], [{ tenant: 'acme', agent: 'a', id: 'd' }]]);
  });
});

describe('a burst of one agent', () => {
  it('waits in the proxy, with nothing stored, and another agent’s call goes to the engine at once', async () => {
    const { ask, staged, atEngine, handler } = proxy({});
    for (let n = 0; n < 50; n += 1) void ask('a');
    void ask('b');
    await settled();
    expect(atEngine.map(({ agent }) => agent)).toEqual(['a', 'a', 'b']);
    expect(staged).toHaveLength(3);
    expect([handler.inFlight(), handler.waiting()]).toEqual([51, 48]);
  });

  it('goes on call by call: the next begins when one has its answer', async () => {
    const { ask, atEngine } = proxy({ each: 1 });
    const [first, second] = [ask('a'), ask('a')];
    await settled();
    atEngine[0]?.end();
    expect(await first).toBe('upstream_unreachable');
    await settled();
    expect(atEngine).toHaveLength(2);
    atEngine[1]?.end();
    await second;
  });

  it.each(['parked', 'intended'])('a call that is %s holds no turn, however long it stays so', async (state) => {
    const { ask, atEngine, reaches } = proxy({ each: 1 });
    void ask('a');
    void ask('a');
    await settled();
    reaches(atEngine[0]?.id ?? '', 'decided');
    await settled();
    expect(atEngine).toHaveLength(1);
    reaches(atEngine[0]?.id ?? '', state);
    await settled();
    expect(atEngine).toHaveLength(2);
  });

  it('is refused at once where too many of its calls wait, with one row, and nothing of them is stored', async () => {
    const { ask, staged, refused } = proxy({ each: 1, waiting: 2 });
    for (let n = 0; n < 3; n += 1) void ask('a');
    await settled();
    expect(await ask('a')).toBe('rate_limited');
    expect([refused, staged.length]).toEqual([['turns'], 1]);
    void ask('b');
    await settled();
    expect(staged).toHaveLength(2);
  });

  it.each([
    ['in time', { callDeadlineMs: 10 }],
    // Whose models would be asked, and which would be given up before they answer.
    [
      'in the part of its time that its models do not have',
      { callDeadlineMs: 3_600_010, inspectionTimeoutMs: 3_600_000 },
    ],
  ])(
    'is told so where a turn does not come %s: nothing of that call is stored or begins later',
    async (_when, limits) => {
      const { ask, staged, atEngine } = proxy({ each: 1, ...limits });
      const alive = setInterval(() => undefined, 1_000);
      void ask('a');
      await settled();
      expect(await ask('a')).toBe('pipeline_unavailable');
      clearInterval(alive);
      atEngine[0]?.end();
      await settled();
      expect([staged.length, atEngine.length]).toEqual([1, 1]);
    },
    30_000,
  );
});
