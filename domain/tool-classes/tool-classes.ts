import type { Ledger, NewLedgerRow } from '../../contracts/ledger.js';
import type { ToolClass, ToolClassFact } from '../../contracts/policy.js';
import type { ClassedTool, ForgetToolClass, SetToolClass, ToolList } from '../../contracts/tools.js';
import { uuidFromDigest } from '../crypto/digest.js';
import { GateError } from '../errors.js';
import { fittingRow } from '../ledger/fitting-row.js';
import type { Operator } from '../operator.js';
import type { ToolPinStore } from '../tool-definitions/pin-store.js';
import { classesIdOf } from './bound-to-ledger.js';
import type { ClassSet, ToolClassStore } from './class-store.js';
import type { ToolClasses } from './port.js';

export interface ClassingOptions {
  readonly store: ToolClassStore;
  /** What agents were shown of their tools, which a class is bound to. */
  readonly pins: Pick<ToolPinStore, 'seen' | 'seenByAny'>;
  readonly upstream: string;
}

/** The operators' classes as policy asks for them. They are read at every call, so a new one counts in every process at once. */
export const operatorsClasses = ({
  store,
  pins,
  upstream,
  onFault,
}: ClassingOptions & { readonly onFault?: (error: unknown) => void }): ToolClasses => ({
  upstream,
  async of(tenant, agent, tools) {
    try {
      const { tools: classed } = await store.read(tenant, upstream);
      const named = [...new Set(tools)].flatMap((tool) => {
        const said = classed.get(tool);
        return said ? [[tool, said] as const] : [];
      });
      if (named.length === 0) return {};
      const seen = await pins.seen({ tenant, agent });
      return Object.fromEntries(named.map(([tool, said]) => [tool, factOf(said, seen.get(tool))]));
    } catch (error) {
      onFault?.(error);
      return Object.fromEntries(tools.map((tool) => [tool, { suspended: 'unreadable' as const }]));
    }
  },
});

/** A class that is bound to a definition holds for that one: for no other, and not where nothing says what the agent was shown. */
function suspension({ definition_sha256: classed }: ClassedTool, seen: string | undefined): ToolClassFact['suspended'] {
  if (classed === null || seen === classed) return undefined;
  return seen === undefined ? 'definition_not_seen' : 'definition_changed';
}

function factOf(said: ClassedTool, seen: string | undefined): ToolClassFact {
  const suspended = suspension(said, seen);
  return { class: said.class, ...(suspended && { suspended }) };
}

/** What a name and the shipped data say of a tool that no operator classed. */
export type ByName = (tool: string) => { readonly class: ToolClass; readonly source: 'shipped' | 'name' } | null;

const ATTEMPTS = 3;

/** What operators do about the tools of one upstream. A class without its row in the ledger is never in force. */
export function toolClassing({
  store,
  pins,
  upstream,
  ledger,
  byName,
  now = Date.now,
}: ClassingOptions & { ledger: Ledger; byName: ByName; now?: () => number }) {
  return {
    upstream,

    /** Every tool that is classed, was shown to an agent or was called within the hours. */
    async list(tenant: string, hours: number): Promise<ToolList> {
      const [{ tools: classed }, seen, traffic] = await Promise.all([
        store.read(tenant, upstream),
        pins.seenByAny(tenant),
        store.traffic(tenant, upstream, now() - hours * 3_600_000),
      ]);
      const names = new Set([...classed.keys(), ...seen.keys(), ...traffic.keys()]);
      return {
        upstream,
        hours,
        tools: [...names].toSorted().map((tool) => {
          const said = classed.get(tool);
          const otherwise = said ? null : byName(tool);
          return {
            tool,
            class: said?.class ?? otherwise?.class ?? null,
            source: said ? ('operator' as const) : (otherwise?.source ?? ('none' as const)),
            suspended: said ? suspension(said, seen.get(tool)) !== undefined : false,
            definition_sha256: seen.get(tool) ?? said?.definition_sha256 ?? null,
            set_by: said?.set_by ?? null,
            set_at: said?.set_at ?? null,
            reason: said?.reason ?? null,
            lately: traffic.get(tool) ?? { ran: 0, asked: 0, denied: 0, failed: 0 },
          };
        }),
      };
    },

    /** Classes a tool, or confirms its class for the definition that agents are shown by now. */
    async set(
      by: Operator,
      { tool, class: said, reason, definition_sha256: looked }: SetToolClass,
    ): Promise<ClassedTool> {
      const seen = (await pins.seenByAny(by.tenant)).get(tool) ?? null;
      if (looked && looked !== seen)
        throw new GateError(
          'tool_class_outdated',
          `agents are shown another definition of ${tool} by now; look at it first`,
        );
      const classed: ClassedTool = {
        class: said,
        definition_sha256: seen,
        reason: reason ?? null,
        set_by: by.subject,
        set_at: new Date(now()).toISOString(),
      };
      await change(by.tenant, (before) => ({
        tools: new Map([...before.tools, [tool, classed]]),
        row: classRow(by, before, 'tool_class.set', tool, {
          class: said,
          previous_class: before.tools.get(tool)?.class ?? null,
          definition_sha256: seen,
          ...(reason && { reason }),
        }),
      }));
      return classed;
    },

    /** Takes the operators' word back: the shipped data and the name count again. Returns how many classes went. */
    async forget(by: Operator, what: ForgetToolClass): Promise<number> {
      if ('all' in what) {
        // Also a set that cannot be read: what is forgotten needs no reading.
        const set = await store.read(by.tenant, upstream).catch(() => null);
        const found = await store.generation(by.tenant, upstream);
        // Behind what the ledger has: an older set that was put back must not be newer than this.
        const generation = Math.max(found, await store.told(by.tenant, upstream));
        if (generation === 0) return 0;
        const before = { generation, tools: set?.tools ?? new Map<string, ClassedTool>() };
        await ledger.append([classRow(by, before, 'tool_class.forgotten', null, { readable: set !== null })]);
        if (!(await store.write(by.tenant, upstream, found, new Map(), generation + 1)))
          throw new GateError('tool_classes_busy');
        return before.tools.size;
      }
      const { tool } = what;
      let forgotten = 0;
      await change(by.tenant, (before) => {
        const said = before.tools.get(tool);
        forgotten = said ? 1 : 0;
        if (!said) return null;
        return {
          tools: new Map([...before.tools].filter(([name]) => name !== tool)),
          row: classRow(by, before, 'tool_class.forgotten', tool, { previous_class: said.class }),
        };
      });
      return forgotten;
    },
  };

  /** The row first: a crash behind it leaves a row of what did not come to be, never a class that nobody can see was set. */
  async function change(
    tenant: string,
    next: (before: ClassSet) => { tools: ClassSet['tools']; row: NewLedgerRow } | null,
  ): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const before = await store.read(tenant, upstream);
      const wanted = next(before);
      if (!wanted) return;
      await ledger.append([wanted.row]);
      if (await store.write(tenant, upstream, before.generation, wanted.tools)) return;
    }
    throw new GateError('tool_classes_busy');
  }

  function classRow(
    { tenant, subject }: Operator,
    { generation }: ClassSet,
    kind: 'tool_class.set' | 'tool_class.forgotten',
    tool: string | null,
    said: Readonly<Record<string, string | boolean | null>>,
  ): NewLedgerRow {
    const decision = { upstream, tool, ...said, set_by: subject, generation: generation + 1 };
    const id = uuidFromDigest('gate.tool-class', tenant, JSON.stringify(decision));
    return fittingRow({
      id,
      agent_id: 'gate-operator',
      method: kind,
      event_kind: kind,
      intent_category: 'Privileged Action',
      authorized: true,
      reasoning:
        kind === 'tool_class.set'
          ? `${tool ?? ''} is classed ${String(said['class'])}`
          : `${tool ?? 'every tool'} is not classed any more`,
      policy_decision: decision,
      state_namespace: 'operator',
      correlation_id: classesIdOf(tenant, upstream),
      tenant,
      actor_sub: subject,
    });
  }
}
export type ToolClassing = ReturnType<typeof toolClassing>;
