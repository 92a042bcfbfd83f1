import { setTimeout as after } from 'node:timers/promises';
import type { Ledger, LedgerEntry, NewLedgerRow } from '../../contracts/ledger.js';
import type { ClassedTool } from '../../contracts/tools.js';
import type { ClassSet, StoredClasses, ToolClassStore, UnfinishedChange } from './class-sets.js';
import { uuidFromDigest } from '../crypto/digest.js';
import { errorText, GateError } from '../errors.js';
import { within } from '../within.js';
import { fittingJson, fittingRow } from '../ledger/fitting-row.js';

/** The ledger as used here: it appends rows, and reads the rows of one correlation id in chain order. */
export type ClassLedger = Ledger & {
  byCorrelation(correlationId: string, scope: { tenant: string }): Promise<LedgerEntry[]>;
};

/** The correlation id of all ledger rows about the classes of one tenant and upstream. */
export const classesIdOf = (tenant: string, upstream: string): string =>
  uuidFromDigest('gate.tool-classes', tenant, upstream);

/** The same in memory: every call asks for it, and needs no digest for that. */
const placeOf = (tenant: string, upstream: string): string => JSON.stringify([tenant, upstream]);

/** A change of one tool's class, or of all (`null`), with its ledger row. */
export interface ClassChange {
  readonly tool: string | null;
  readonly said: ClassedTool | null;
  readonly row: NewLedgerRow & { readonly id: string };
}

/** The classes in force. */
export interface ClassesInForce extends ClassSet {
  /** Tools for which it is unknown at present whether a change of class is in force; their calls wait. */
  readonly unsettled: ReadonlySet<string>;
}

export interface BoundOptions {
  /** How long a change by another process may take before it is withdrawn; 0 when there is no other process. */
  readonly graceMs?: number;
}

/** How long a call waits for the ledger. The question stays open, and a later call uses its answer. */
const WAIT_MS = 1_000;
const GRACE_MS = 2_000;
const LOOK_AGAIN_MS = 50;
const ATTEMPTS = 3;
const LOOKS = 3;

/**
 * The classes, as confirmed by the ledger. A change is stored beside the set in force, then appended to the ledger, then put in force. It
 * counts as soon as the ledger has its row. So whoever finds an unfinished change asks the ledger: if the row is there, the change is
 * completed; if not, the previous set stays, and the next opening or change withdraws it with its own row. If both rows are there, the
 * first one counts.
 * If the ledger has a newer version than the stored set is, or could become, an older set was restored: `tool_classes_unreadable`. Every
 * set is unreadable until the ledger has answered. It is asked once per process, tenant and upstream; after that the process remembers what
 * it has seen.
 */
export function boundToLedger(store: ToolClassStore, ledger: ClassLedger, { graceMs = GRACE_MS }: BoundOptions = {}) {
  const newest = new Map<string, number>();
  const asked = new Map<string, Promise<unknown>>();
  const turns = new Map<string, Promise<unknown>>();

  /** The ledger's rows about these classes, up to now. */
  async function rowsOf(tenant: string, upstream: string): Promise<LedgerEntry[]> {
    const id = classesIdOf(tenant, upstream);
    const rows = await ledger.byCorrelation(id, { tenant });
    const told = rows
      .filter(({ event_kind: kind }) => kind?.startsWith('tool_class.'))
      .map(({ policy_decision: said }) => Number(said?.['generation'] ?? 0));
    remember(tenant, upstream, Math.max(0, ...told));
    return rows;
  }
  const remember = (tenant: string, upstream: string, generation: number): void => {
    const place = placeOf(tenant, upstream);
    newest.set(place, Math.max(generation, newest.get(place) ?? 0));
  };
  const known = (tenant: string, upstream: string): number => newest.get(placeOf(tenant, upstream)) ?? 0;

  /** The newest known version. Asks the ledger when this process knows none. */
  async function told(tenant: string, upstream: string): Promise<number> {
    const place = placeOf(tenant, upstream);
    if (!newest.has(place)) {
      const asking = asked.get(place) ?? rowsOf(tenant, upstream).finally(() => asked.delete(place));
      asked.set(place, asking);
      try {
        await inTime(asking);
      } catch (error) {
        throw new GateError(
          'tool_classes_unreadable',
          `the classes of ${upstream}: the ledger, which knows their newest version, does not answer: ${errorText(error)}`,
          { cause: error },
        );
      }
    }
    return known(tenant, upstream);
  }

  function putBack(tenant: string, upstream: string, generation: number, atLeast: number): GateError {
    const why = `an older set was put back: version ${generation}, the ledger has ${atLeast}`;
    void ledger.append([olderSetRow(tenant, upstream, why)]).catch(() => undefined);
    return new GateError('tool_classes_unreadable', `the classes of ${upstream}: ${why}`);
  }

  /** The stored set, unless the ledger has a newer version than it is or could become. */
  async function looked(tenant: string, upstream: string): Promise<StoredClasses> {
    let atLeast = await told(tenant, upstream);
    for (let look = 1; ; look += 1) {
      const set = await store.read(tenant, upstream);
      if (set.generation + (set.unfinished ? 1 : 0) >= atLeast) return set;
      if (look === LOOKS) throw putBack(tenant, upstream, set.generation, atLeast);
      atLeast = known(tenant, upstream);
    }
  }

  /** Settles an unfinished change by the ledger's rows and stores the result for the next reader. */
  async function settledBy(
    rows: readonly LedgerEntry[],
    tenant: string,
    upstream: string,
    set: StoredClasses,
  ): Promise<ClassSet | null> {
    const { unfinished } = set;
    if (!unfinished) return set;
    const end = endOf(rows, set.generation + 1, unfinished);
    if (!end) return null;
    const next = { generation: set.generation + 1, tools: end === 'in force' ? changed(set) : set.tools };
    await store.replace(tenant, upstream, set.found, next);
    remember(tenant, upstream, next.generation);
    return next;
  }

  /**
   * A set without an unfinished change. A change that another process does not finish in time, or that a crash left behind, is withdrawn.
   */
  async function settled(tenant: string, upstream: string): Promise<StoredClasses> {
    let waitingFor: string | null = null;
    let withdrawn: string | null = null;
    let untilMs = 0;
    for (;;) {
      const set = await looked(tenant, upstream);
      const { unfinished } = set;
      if (!unfinished) return set;
      if (waitingFor !== unfinished.row) untilMs = performance.now() + graceMs;
      waitingFor = unfinished.row;
      const done = await settledBy(await rowsOf(tenant, upstream), tenant, upstream, set);
      if (done) continue;
      if (withdrawn === unfinished.row) throw new GateError('tool_classes_busy');
      if (performance.now() < untilMs) await after(LOOK_AGAIN_MS);
      else {
        await ledger.append([withdrawnRow(tenant, upstream, set.generation + 1, unfinished)]);
        withdrawn = unfinished.row;
      }
    }
  }

  /** One change at a time within this process; `settled` waits for those of other processes. */
  function inTurn<Done>(tenant: string, upstream: string, work: () => Promise<Done>): Promise<Done> {
    const place = placeOf(tenant, upstream);
    const turn = (turns.get(place) ?? Promise.resolve()).then(work, work);
    turns.set(place, turn);
    const over = () => void (turns.get(place) === turn && turns.delete(place));
    turn.then(over, over);
    return turn;
  }

  return {
    traffic: (tenant: string, upstream: string, sinceMs: number) => store.traffic(tenant, upstream, sinceMs),

    async read(tenant: string, upstream: string): Promise<ClassesInForce> {
      for (let look = 1; ; look += 1) {
        const set = await looked(tenant, upstream);
        if (!set.unfinished) {
          remember(tenant, upstream, set.generation);
          return { ...set, unsettled: new Set() };
        }
        let rows: readonly LedgerEntry[];
        try {
          rows = await inTime(rowsOf(tenant, upstream));
        } catch {
          return {
            ...set,
            unsettled: new Set(set.unfinished.tool === null ? set.tools.keys() : [set.unfinished.tool]),
          };
        }
        const { generation, tools } = (await settledBy(rows, tenant, upstream, set)) ?? set;
        const atLeast = known(tenant, upstream);
        if (generation >= atLeast) return { generation, tools, unsettled: new Set() };
        // The ledger moved on meanwhile, so read again: either a newer set is stored now, or an older one was restored.
        if (look === LOOKS) throw putBack(tenant, upstream, generation, atLeast);
      }
    },

    /** Makes the change that `next` returns for the set in force; `null` changes nothing. In force when it resolves. */
    change: (tenant: string, upstream: string, next: (before: ClassSet) => ClassChange | null): Promise<void> =>
      inTurn(tenant, upstream, async () => {
        for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
          const before = await settled(tenant, upstream);
          const wanted = next(before);
          if (!wanted) return;
          const unfinished = { row: wanted.row.id, tool: wanted.tool, said: wanted.said };
          if (!(await store.replace(tenant, upstream, before.found, { ...before, unfinished }))) continue;
          await ledger.append([wanted.row]);
          const begun = await store.read(tenant, upstream);
          const rows = await rowsOf(tenant, upstream);
          if (begun.unfinished?.row === unfinished.row) await settledBy(rows, tenant, upstream, begun);
          if (endOf(rows, before.generation + 1, unfinished) === 'in force') return;
        }
        throw new GateError('tool_classes_busy');
      }),

    /** Replaces an unreadable set with an empty one, with a version above every known one. False when there is nothing at all. */
    anew: (tenant: string, upstream: string, row: (generation: number) => NewLedgerRow): Promise<boolean> =>
      inTurn(tenant, upstream, async () => {
        const lies = await store.lies(tenant, upstream);
        await rowsOf(tenant, upstream);
        const set = await store.read(tenant, upstream).catch(() => null);
        const generation = Math.max(known(tenant, upstream), (set?.generation ?? 0) + (set?.unfinished ? 1 : 0));
        if (!lies.row && generation === 0) return false;
        // The row goes first: until the new set is stored, the old one stays unreadable.
        await ledger.append([row(generation + 1)]);
        const written = await store.replace(tenant, upstream, lies, { generation: generation + 1, tools: new Map() });
        if (!written) throw new GateError('tool_classes_busy');
        remember(tenant, upstream, generation + 1);
        return true;
      }),

    /** Completes or withdraws changes that an earlier process left unfinished. Run it at every opening. */
    async settle(): Promise<void> {
      for (const { tenant, upstream } of await store.places())
        await inTurn(tenant, upstream, async () => {
          const set = await store.read(tenant, upstream).catch(() => null);
          if (set?.unfinished) await settled(tenant, upstream);
        });
    },
  };
}
export type BoundClasses = ReturnType<typeof boundToLedger>;

const inTime = <Found>(asking: Promise<Found>): Promise<Found> =>
  within(WAIT_MS, asking, () => new Error('no answer yet'));

function changed({ tools, unfinished }: StoredClasses): ClassSet['tools'] {
  if (!unfinished) return tools;
  const { tool, said } = unfinished;
  if (tool === null) return new Map();
  const others = [...tools].filter(([name]) => name !== tool);
  return new Map(said ? [...others, [tool, said]] : others);
}

/** What the ledger says about a change; `null` while it says nothing. */
function endOf(
  rows: readonly LedgerEntry[],
  generation: number,
  change: UnfinishedChange,
): 'in force' | 'withdrawn' | null {
  const first = rows.find((row) => saysIt(row, generation, change) || withdraws(row, change));
  if (!first) return null;
  return withdraws(first, change) ? 'withdrawn' : 'in force';
}

/** Whether this row is the change's own, by its id and content. The ledger may have adjusted the row, so compare in its form. */
function saysIt({ id, policy_decision: said }: LedgerEntry, generation: number, change: UnfinishedChange): boolean {
  if (id !== change.row || said?.['generation'] !== generation) return false;
  if ((said['tool'] ?? null) !== fittingJson(change.tool)) return false;
  return change.said === null || said['class'] === change.said.class;
}

const withdraws = ({ event_kind: kind, policy_decision: said }: LedgerEntry, { row }: UnfinishedChange): boolean =>
  kind === 'tool_class.withdrawn' && said?.['withdrawn'] === row;

/** Derived from the change alone, so that it is one row whoever withdraws the change. */
const withdrawnRow = (
  tenant: string,
  upstream: string,
  generation: number,
  { row, tool }: UnfinishedChange,
): NewLedgerRow =>
  aboutClasses(tenant, upstream, {
    id: uuidFromDigest('gate.tool-class-withdrawn', tenant, upstream, row),
    kind: 'tool_class.withdrawn',
    authorized: true,
    reasoning: `a change of ${tool ?? 'every tool'} that was begun and not finished is withdrawn`,
    said: { tool, withdrawn: row, generation },
  });

/** One row per restored version, because its id is derived from its content. */
const olderSetRow = (tenant: string, upstream: string, why: string): NewLedgerRow =>
  aboutClasses(tenant, upstream, {
    id: uuidFromDigest('gate.alarm', tenant, upstream, why),
    kind: 'alarm.tool_classes_outdated',
    authorized: false,
    reasoning: why,
    said: {},
  });

const aboutClasses = (
  tenant: string,
  upstream: string,
  row: {
    readonly id: string;
    readonly kind: 'tool_class.withdrawn' | 'alarm.tool_classes_outdated';
    readonly authorized: boolean;
    readonly reasoning: string;
    readonly said: Readonly<Record<string, string | number | null>>;
  },
): NewLedgerRow =>
  fittingRow({
    id: row.id,
    agent_id: 'gate-proxy',
    method: row.kind,
    event_kind: row.kind,
    intent_category: 'Privileged Action',
    authorized: row.authorized,
    reasoning: row.reasoning,
    policy_decision: { upstream, ...row.said },
    state_namespace: 'operator',
    correlation_id: classesIdOf(tenant, upstream),
    tenant,
  });
