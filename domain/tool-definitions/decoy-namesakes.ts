import { LRUCache } from 'lru-cache';
import type { Decoy } from '../identity/decoys.js';
import type { DecoySet } from '../identity/decoy-readings.js';

/** It is said again after so long, while it is so. */
const AGAIN_MS = 3_600_000;

/** Says of real tools that a decoy has their name: each call of them is denied, and contains its agent (docs/architecture/decoys.md#what-happens). */
export function decoyNamesakes({
  decoysOf,
  onNamesake,
  now = Date.now,
}: {
  readonly decoysOf: (tenant: string) => Pick<DecoySet, 'touched'>;
  readonly onNamesake: (tenant: string, tool: string, decoy: Decoy) => void;
  readonly now?: () => number;
}): (tenant: string, tools: readonly string[]) => void {
  const said = new LRUCache<string, number>({ max: 1_000 });
  return (tenant, tools) => {
    const decoys = decoysOf(tenant);
    if (decoys.touched(tools, {}) === null) return;
    for (const tool of tools) {
      const decoy = decoys.touched([tool], {});
      if (decoy === null) continue;
      const key = `${tenant}/${tool}`;
      if ((said.get(key) ?? Number.NEGATIVE_INFINITY) + AGAIN_MS > now()) continue;
      said.set(key, now());
      onNamesake(tenant, tool, decoy);
    }
  };
}
