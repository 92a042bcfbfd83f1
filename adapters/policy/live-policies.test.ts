import { describe, expect, it } from '@jest/globals';
import type { Json, JsonObject } from '../../contracts/json.js';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { GateError } from '../../domain/errors.js';
import { EVERYBODY, type SetInForce } from '../../domain/policy/library-ports.js';
import { findOpa } from '../../stack/programs/find-program.js';
import { createLivePolicies } from './live-policies.js';
import { createLocalEvaluator } from './local-evaluator.js';
import { loadPolicySet } from './load-policy-set.js';
import { opaCompiler } from './opa-compiler.js';
import { shippedPolicyDirectory } from './policy-sources.js';

const directory = shippedPolicyDirectory();
const floor = await loadPolicySet({ directory });
const compiler = opaCompiler({ find: () => findOpa({ onProgress: () => undefined }), directory });
/** Rules that deny one tool by its name. */
async function denying(tool: string): Promise<Uint8Array> {
  const head = 'package gate.authz\n\nimport rego.v1\n\n';
  const body = `${head}deny contains "Violation: ${tool}" if input.tool_type == "${tool}"\n`;
  const compiled = await compiler.compile([{ name: 'a.rego', body }]);
  if (compiled.fault) throw new Error(compiled.fault.message);
  return compiled.wasm;
}
const [wasm, denyingB] = [await denying('a'), await denying('b')];
const moduleOf = (sources_sha256: string, of: Uint8Array) => ({
  sources_sha256,
  wasm: of,
  wasm_sha256: sha256Hex(of),
  opa_version: '1',
});
const setOf = (tenant: string, version: string): SetInForce => ({
  mac: `${tenant} ${version}`,
  tenant,
  version,
  files: [],
  data: {},
  sources_sha256: 'a',
});
/** A store that has no rules when it is opened, and then these. */
function storeOf(sets: readonly SetInForce[]) {
  let generation = 0;
  return {
    filled: (as = 1) => void (generation = as),
    mark: async () => String(generation),
    sets: async () => ({
      generation,
      sets: generation === 0 ? [] : sets,
      unreadable: [],
      tampered: null,
      madeUp: null,
    }),
    module: async () => moduleOf('a', wasm),
    pastSet: async (tenant: string, version: string) =>
      sets.find((set) => set.tenant === tenant && set.version === version) ?? null,
  };
}

describe('rules that come into force', () => {
  it('are evaluated once before, once for each module, and calls meanwhile are judged as until then', async () => {
    const seen: (string | null)[] = [];
    const store = storeOf([setOf(EVERYBODY, '2026-11-27.1'), setOf('acme', '2026-11-27.1')]);
    const live = createLivePolicies({
      floor,
      store,
      rehearse: async ({ bundle, judge }) => {
        seen.push(bundle.version, live.bundleFor(EVERYBODY)?.version ?? null);
        expect(judge({ tool_type: 'a' }).deny).toEqual(['Violation: a']);
      },
    });
    await live.start();
    store.filled();
    expect(await live.refresh([])).toBeNull();
    expect(seen).toEqual(['2026-11-27.1', null]);
    expect(live.bundleFor('acme')?.version).toBe('2026-11-27.1');
  });

  it('are in force also where that fails', async () => {
    const store = storeOf([setOf(EVERYBODY, '2026-11-27.1')]);
    const live = createLivePolicies({ floor, store, rehearse: () => Promise.reject(new Error('too slow')) });
    await live.start();
    store.filled();
    expect(await live.refresh([])).toBeNull();
    expect(live.judgingNow(EVERYBODY).rules?.judge({ tool_type: 'a' }).deny).toEqual(['Violation: a']);
  });

  it('are loaded at once by a process that starts', async () => {
    const store = storeOf([setOf(EVERYBODY, '2026-11-27.1')]);
    store.filled();
    const live = createLivePolicies({ floor, store, rehearse: () => new Promise(() => undefined) });
    await live.start();
    expect(live.judgingNow(EVERYBODY).rules?.judge({ tool_type: 'a' }).deny).toEqual(['Violation: a']);
  });
});

describe('a call that waits for its turn when the rules change', () => {
  const calling = (tool_type: string, given: JsonObject = {}) => ({
    tool_type,
    tenant: 'acme',
    agent_id: `acme/${tool_type}`,
    agent_history: { last_tool: null, recent_sequence: [] },
    intent_score: 0,
    arguments: given,
  });
  const MANY = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, at]));

  it('is judged by the rules that it began with, and says so', async () => {
    let stored = storeOf([setOf(EVERYBODY, '2026-11-27.1')]);
    stored.filled();
    const live = createLivePolicies({
      floor,
      store: {
        ...stored,
        mark: async () => stored.mark(),
        sets: async () => stored.sets(),
        pastSet: async (tenant, version) => stored.pastSet(tenant, version),
        module: async (sources) => (sources === 'a' ? moduleOf('a', wasm) : moduleOf('b', denyingB)),
      },
    });
    await live.start();
    const evaluator = createLocalEvaluator(floor, undefined, { threads: 1, limitMs: 60_000 }, live.addedFor);
    try {
      const first = evaluator.evaluate(calling('list_files', MANY));
      const began = evaluator.evaluate(calling('a'));
      stored = storeOf([{ ...setOf(EVERYBODY, '2026-11-27.2'), sources_sha256: 'b' }]);
      stored.filled(2);
      expect(await live.refresh([])).toBeNull();
      const next = evaluator.evaluate(calling('a'));
      await first;
      expect(await began).toMatchObject({
        reasons: expect.arrayContaining(['Violation: a']) as never,
        policy_bundle: { version: '2026-11-27.1' },
      });
      const after = await next;
      expect(after.policy_bundle).toMatchObject({ version: '2026-11-27.2' });
      expect(after.reasons).not.toContain('Violation: a');
    } finally {
      await evaluator.close();
    }
  });
});

describe('a process that stops while the store is looked at', () => {
  it('waits for the look, and tells of no fault that it meets', async () => {
    const store = storeOf([]);
    const [ended, told]: [string[], (string | null)[]] = [[], []];
    let fail = (_with: Error): void => undefined;
    const answer = new Promise<string>((_resolve, reject) => (fail = reject));
    answer.catch(() => ended.push('looked'));
    let mark = store.mark;
    const live = createLivePolicies({
      floor,
      store: { ...store, mark: () => mark() },
      watchMs: 1,
      onFault: (reason) => void told.push(reason),
    });
    await live.start();
    await new Promise<void>((looking) => {
      mark = () => {
        looking();
        return answer;
      };
      live.begin();
    });
    const closing = live.close().then(() => ended.push('closed'));
    await new Promise<void>((resolve) => setImmediate(resolve));
    fail(new Error('driver has already been destroyed'));
    await closing;
    expect([ended, told]).toEqual([['looked', 'closed'], []]);
  });
});

describe('rules of one tenant that cannot be loaded', () => {
  /** A store in which this comes of the set that was kept of one tenant. */
  const withFault = (sets: readonly SetInForce[], fault: Error) => {
    const store = storeOf(sets);
    return {
      ...store,
      pastSet: async (tenant: string, version: string) => {
        if (tenant === 'acme') throw fault;
        return store.pastSet(tenant, version);
      },
    };
  };
  const BOTH = [setOf(EVERYBODY, '2026-11-28.1'), setOf('acme', '2026-11-28.1')];

  it('are a fault of that tenant, whatever it is: everybody else has the newest, also in a process that starts', async () => {
    const store = withFault(BOTH, new RangeError('Maximum call stack size exceeded'));
    store.filled();
    const told: (string | null)[] = [];
    const live = createLivePolicies({ floor, store, onFault: (reason) => void told.push(reason) });
    await live.start();
    expect(live.judgingNow('shop').rules?.judge({ tool_type: 'a' }).deny).toEqual(['Violation: a']);
    const refused = 'policy evaluation failed: the stored policies of the tenant acme cannot be loaded';
    expect(live.addedFor({ tenant: 'acme' })).toEqual({ refused });
    expect(() => live.judgingNow('acme')).toThrow(
      expect.objectContaining({ code: 'policy_unavailable', message: refused }),
    );
    const damage = 'of the tenant acme: Maximum call stack size exceeded; its calls are denied';
    expect([live.ready(), told]).toEqual([damage, [damage]]);
    expect(live.notInForce('acme')).toBe(
      'the newest rules of the tenant are not in force: Maximum call stack size exceeded',
    );
    expect([live.notInForce('shop'), live.notInForce(EVERYBODY)]).toEqual([null, null]);
    // Whoever changes that tenant's policies is told, and nobody else.
    expect(await live.refresh(['acme'])).toBe('Maximum call stack size exceeded');
    expect(await live.refresh([EVERYBODY, 'shop'])).toBeNull();
  });

  it('are in force beside rows that somebody made up, which readiness names until they are gone', async () => {
    const store = storeOf([setOf(EVERYBODY, '2026-11-28.1')]);
    store.filled();
    let madeUp: string | null = 'version 9 of a.rego for everybody: its mac does not hold';
    const told: (string | null)[] = [];
    const sets = async () => ({ ...(await store.sets()), madeUp });
    const live = createLivePolicies({ floor, store: { ...store, sets }, onFault: (why) => told.push(why) });
    await live.start();
    expect(live.ready()).toBe(`rows in the store that judge nothing and that Gate did not write: ${madeUp}`);
    expect(live.notInForce(EVERYBODY)).toBeNull();
    madeUp = null;
    await live.verify();
    expect(live.ready()).toBe(1);
    expect(told).toEqual([expect.stringContaining('version 9 of a.rego'), null]);
  });

  it('are no fault of the tenant where the store does not answer: what was in force is', async () => {
    const store = withFault(BOTH, new GateError('store_unavailable', 'the policies: away'));
    const live = createLivePolicies({ floor, store });
    await live.start();
    store.filled();
    expect(await live.refresh([EVERYBODY])).toBe('the policies: away');
    expect(() => live.ready()).toThrow('generation 0 is in force, and not what is stored: the policies: away');
    expect([live.notInForce(EVERYBODY), live.notInForce('acme')]).toEqual([
      'what is stored is not in force: the policies: away',
      'what is stored is not in force',
    ]);
    expect([live.addedFor({ tenant: 'acme' }), live.bundleFor(EVERYBODY)]).toEqual([null, null]);
  });

  it('are none for a document of an earlier Gate that is nested deeper than two can be compared', async () => {
    const data = { deep: JSON.parse(`${'['.repeat(2_500)}${']'.repeat(2_500)}`) as Json };
    const store = storeOf([{ ...setOf(EVERYBODY, '2026-11-28.1'), data }]);
    store.filled();
    const live = createLivePolicies({ floor, store: { ...store, pastSet: past(store, data) } });
    await live.start();
    expect(live.ready()).toBe(1);
  });
});

/** As they are read from the texts: equal, and no objects of the set in force. */
const past =
  (store: ReturnType<typeof storeOf>, data: JsonObject) =>
  async (...of: [string, string]) => {
    const found = await store.pastSet(...of);
    return found && { ...found, data: JSON.parse(JSON.stringify(data)) as JsonObject };
  };
