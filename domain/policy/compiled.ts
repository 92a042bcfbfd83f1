import * as opaWasm from '@open-policy-agent/opa-wasm';

// The package's types omit the default export, and its module has no named `loadPolicySync`, so reach one through the other.
const { loadPolicySync } = (opaWasm as unknown as { default: typeof opaWasm }).default;

export type CompiledPolicy = opaWasm.LoadedPolicy;

/** An instance of compiled rules over their data. Evaluation is synchronous, so nothing else runs during one. */
export function instanceOf(module: object, data: object, maxMemoryPages: number): CompiledPolicy {
  const loaded = loadPolicySync(module as never, { initial: 5, maximum: maxMemoryPages });
  loaded.setData(data);
  return loaded;
}
