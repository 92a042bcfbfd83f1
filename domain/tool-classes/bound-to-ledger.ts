import type { Ledger, LedgerEntry, NewLedgerRow } from '../../contracts/ledger.js';
import { uuidFromDigest } from '../crypto/digest.js';
import { errorText, GateError } from '../errors.js';
import { fittingRow } from '../ledger/fitting-row.js';
import type { ToolClassStore } from './class-store.js';

/** What is asked of the ledger about the classes of an upstream: the rows of one correlation id. */
export type ClassLedger = Ledger & {
  byCorrelation(correlationId: string, scope: { tenant: string }): Promise<LedgerEntry[]>;
};

/** Under which id the ledger has every row about the classes of one tenant and upstream. */
export const classesIdOf = (tenant: string, upstream: string): string =>
  uuidFromDigest('gate.tool-classes', tenant, upstream);

/** A call does not wait longer for the ledger; the question stays open, and a later call finds its answer. */
const WAIT_MS = 1_000;

/**
 * The classes as far as the ledger does not know newer ones. Each set holds by itself, an earlier one too; but every change is a row of the
 * ledger first. The ledger is asked once per process, tenant and upstream, and what the process has seen since is remembered. An older set,
 * or none where the ledger has one, is `tool_classes_unreadable`, and so is any set until the ledger has answered.
 */
export function boundToLedger(store: ToolClassStore, ledger: ClassLedger): ToolClassStore {
  const newest = new Map<string, number>();
  const asked = new Map<string, Promise<number>>();

  async function ask(id: string, tenant: string): Promise<number> {
    try {
      const rows = await ledger.byCorrelation(id, { tenant });
      const told = Math.max(
        0,
        ...rows
          .filter(({ event_kind: kind }) => kind === 'tool_class.set' || kind === 'tool_class.forgotten')
          .map(({ policy_decision: said }) => Number(said?.['generation'] ?? 0)),
      );
      newest.set(id, Math.max(told, newest.get(id) ?? 0));
      return told;
    } finally {
      asked.delete(id);
    }
  }

  async function told(tenant: string, upstream: string): Promise<number> {
    const id = classesIdOf(tenant, upstream);
    const known = newest.get(id);
    if (known !== undefined) return known;
    const asking = asked.get(id) ?? ask(id, tenant);
    asked.set(id, asking);
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('no answer yet')), WAIT_MS);
    });
    try {
      return await Promise.race([asking, limit]);
    } catch (error) {
      throw new GateError(
        'tool_classes_unreadable',
        `the classes of ${upstream}: the ledger, which knows their newest version, does not answer: ${errorText(error)}`,
        { cause: error },
      );
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    ...store,
    told,
    async write(tenant, upstream, before, tools, generation = before + 1) {
      const written = await store.write(tenant, upstream, before, tools, generation);
      if (written) newest.set(classesIdOf(tenant, upstream), generation);
      return written;
    },
    async read(tenant, upstream) {
      const atLeast = await told(tenant, upstream);
      const set = await store.read(tenant, upstream);
      if (set.generation < atLeast) {
        const why = `an older set was put back: version ${set.generation}, the ledger has ${atLeast}`;
        void ledger.append([olderSetRow(tenant, upstream, why)]).catch(() => undefined);
        throw new GateError('tool_classes_unreadable', `the classes of ${upstream}: ${why}`);
      }
      newest.set(classesIdOf(tenant, upstream), set.generation);
      return set;
    },
  };
}

/** Once per version that was put back: its id follows from what it says. */
const olderSetRow = (tenant: string, upstream: string, why: string): NewLedgerRow =>
  fittingRow({
    id: uuidFromDigest('gate.alarm', tenant, upstream, why),
    agent_id: 'gate-proxy',
    method: 'alarm.tool_classes_outdated',
    event_kind: 'alarm.tool_classes_outdated',
    intent_category: 'Privileged Action',
    authorized: false,
    reasoning: why,
    policy_decision: { upstream },
    state_namespace: 'operator',
    correlation_id: classesIdOf(tenant, upstream),
    tenant,
  });
