import * as opaWasm from '@open-policy-agent/opa-wasm';

// The package's types omit the default export, and its module has no named `loadPolicySync`, so reach one through the other.
const { loadPolicySync } = (opaWasm as unknown as { default: typeof opaWasm }).default;

export type CompiledPolicy = opaWasm.LoadedPolicy;

/** Pages of 64 KiB. The texts of a few hundred rules take half of it; what a module does not touch is no memory of the machine. */
const INITIAL_PAGES = 16;

/** An instance of compiled rules over their data. Evaluation is synchronous, so nothing else runs during one. */
export function instanceOf(module: object, data: object, maxMemoryPages: number): CompiledPolicy {
  for (let initial = Math.min(INITIAL_PAGES, maxMemoryPages); ; initial = Math.min(2 * initial, maxMemoryPages)) {
    try {
      const loaded = loadPolicySync(module as never, { initial, maximum: maxMemoryPages });
      loaded.setData(data);
      return loaded;
    } catch (error) {
      // A module says how much memory its texts take only by refusing less.
      if ((error as Error | null)?.name !== 'LinkError' || initial >= maxMemoryPages) throw error;
    }
  }
}

/** The memory that an instance has; it grows with what is evaluated and never shrinks. */
export const bytesOf = (instance: CompiledPolicy): number =>
  // The package's types leave it out.
  (instance as unknown as { readonly mem: { readonly buffer: ArrayBuffer } }).mem.buffer.byteLength;
