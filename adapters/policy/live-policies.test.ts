import { describe, expect, it } from '@jest/globals';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { EVERYBODY, type SetInForce } from '../../domain/policy/library-ports.js';
import { findOpa } from '../../stack/programs/find-program.js';
import { createLivePolicies } from './live-policies.js';
import { loadPolicySet } from './load-policy-set.js';
import { opaCompiler } from './opa-compiler.js';
import { shippedPolicyDirectory } from './policy-sources.js';

const directory = shippedPolicyDirectory();
const floor = await loadPolicySet({ directory });
const compiled = await opaCompiler({ find: () => findOpa({ onProgress: () => undefined }), directory }).compile([
  {
    name: 'a.rego',
    body: 'package gate.authz\n\nimport rego.v1\n\ndeny contains "Violation: a" if input.tool_type == "a"\n',
  },
]);
if (compiled.fault) throw new Error(compiled.fault.message);
const { wasm } = compiled;
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
    filled: () => void (generation = 1),
    mark: async () => String(generation),
    sets: async () => ({ generation, sets: generation === 0 ? [] : sets, unreadable: [], tampered: null }),
    module: async () => ({ sources_sha256: 'a', wasm, wasm_sha256: sha256Hex(wasm), opa_version: '1' }),
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
    await live.refresh();
    expect(seen).toEqual(['2026-11-27.1', null]);
    expect(live.bundleFor('acme')?.version).toBe('2026-11-27.1');
  });

  it('are in force also where that fails', async () => {
    const store = storeOf([setOf(EVERYBODY, '2026-11-27.1')]);
    const live = createLivePolicies({ floor, store, rehearse: () => Promise.reject(new Error('too slow')) });
    await live.start();
    store.filled();
    await live.refresh();
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
