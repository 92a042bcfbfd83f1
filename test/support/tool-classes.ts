import { callMigrations } from '../../migrations/calls.js';
import { toolClassMigrations } from '../../migrations/tool-classes.js';
import { toolPinMigrations } from '../../migrations/tool-pins.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { openStore, type Store, type StoreTarget } from '../../adapters/store/database.js';
import { boundToLedger, type ClassLedger } from '../../domain/tool-classes/bound-to-ledger.js';
import { adoptClasses, toolClassStoreOver, type ToolClassTables } from '../../adapters/tools/class-store.js';
import { operatorsClasses, toolClassing } from '../../domain/tool-classes/tool-classes.js';
import { adoptSeen, toolPinStoreOver, type ToolPinTables } from '../../adapters/tools/pin-store.js';

export interface ClassesOptions {
  readonly target: StoreTarget;
  readonly ledger: ClassLedger;
  readonly keys: KeyRing;
  readonly upstream: string;
  readonly graceMs?: number;
}

/** The classes of one upstream as a process opens them: store, pins, the operators' road and the one of a call. */
export async function openClasses({ target, ledger, keys, upstream, graceMs = 100 }: ClassesOptions) {
  const db = await openStore<ToolClassTables>(target, callMigrations, {
    tool_classes: toolClassMigrations,
    pins: toolPinMigrations,
  });
  const pinTables = db as unknown as Store<ToolPinTables>;
  await adoptClasses(db, keys);
  await adoptSeen(pinTables, { keys, upstream });
  const store = boundToLedger(toolClassStoreOver(db, keys), ledger, { graceMs });
  const pins = toolPinStoreOver(pinTables, { keys, upstream });
  const byName = (tool: string) => (tool === 'list_files' ? ({ class: 'read', source: 'name' } as const) : null);
  const ruleOn = (tool: string) =>
    tool === 'delete_file' ? ({ effect: 'denies', reason: 'Violation: destructive.' } as const) : null;
  return {
    db,
    store,
    pins,
    classing: toolClassing({ store, pins, upstream, byName, ruleOn }),
    of: (...tools: string[]) => operatorsClasses({ store, pins, upstream }).of('acme', 'bot', tools),
  };
}
export type OpenClasses = Awaited<ReturnType<typeof openClasses>>;
