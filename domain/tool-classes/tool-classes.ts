import { randomUUID } from 'node:crypto';
import type { ToolClass, ToolClassFact } from '../../contracts/policy.js';
import type {
  ClassedTool,
  ForgetToolClass,
  SetClass,
  SetToolClass,
  ToolList,
  ToolRule,
} from '../../contracts/tools.js';
import { GateError } from '../errors.js';
import { fittingRow } from '../ledger/fitting-row.js';
import { nearestNames } from '../nearest-names.js';
import type { Operator } from '../operator.js';
import { areAlike, alikeIn, strictestOf } from './alike-names.js';
import { type BoundClasses, type ClassChange, classesIdOf } from './bound-to-ledger.js';
import type { ToolClasses } from './port.js';
import type { ListedTools, ToolPinStore } from '../tool-definitions/ports.js';

export interface ClassingOptions {
  readonly store: Pick<BoundClasses, 'read'>;
  /** What agents were shown of their tools; a class is bound to that. */
  readonly pins: Pick<ToolPinStore, 'seen' | 'seenByAny' | 'listed'>;
  readonly upstream: string;
}

/** The operators' classes as policy asks for them. They are read at every call, so that a new class applies in every process at once. */
export const operatorsClasses = ({
  store,
  pins,
  upstream,
  onFault,
}: ClassingOptions & { readonly onFault?: (error: unknown) => void }): ToolClasses => ({
  upstream,
  async of(tenant, agent, tools) {
    try {
      const { tools: classed, unsettled } = await store.read(tenant, upstream);
      const seen = await pins.seen({ tenant, agent });
      let listed: ListedTools | undefined;
      const facts: [string, ToolClassFact][] = [];
      for (const tool of new Set(tools)) {
        const said = classed.get(tool);
        // An operator's word about this very name stands; for another spelling of it the strictest one that holds calls.
        const alike = said ? undefined : alikeFact(alikeIn(tool, classed), seen, tool);
        if ([...unsettled].some((name) => name === tool || areAlike(name, tool)))
          facts.push([tool, { suspended: 'unreadable' }]);
        else if (said) facts.push([tool, factOf(said, seen.get(tool))]);
        else if (alike) facts.push([tool, alike]);
        else if (!seen.has(tool)) {
          listed ??= await pins.listed(tenant);
          if (isUnlisted(tool, listed)) facts.push([tool, { suspended: 'not_listed' }]);
        }
      }
      return Object.fromEntries(facts);
    } catch (error) {
      onFault?.(error);
      return Object.fromEntries(tools.map((tool) => [tool, { suspended: 'unreadable' as const }]));
    }
  },
});

const isUnlisted = (tool: string, listed: ListedTools): boolean => listed.complete && !listed.names.has(tool);

/** A class bound to a definition applies to that definition only. It does not apply when it is unknown what the agent was shown. */
function suspension({ definition_sha256: classed }: ClassedTool, seen: string | undefined): ToolClassFact['suspended'] {
  if (classed === null || seen === classed) return undefined;
  return seen === undefined ? 'definition_not_seen' : 'definition_changed';
}

/** What the classes of other spellings of a name say of it: the strictest that holds calls, else that one of them waits for an operator. */
function alikeFact(
  alike: readonly (readonly [string, ClassedTool])[],
  seen: ReadonlyMap<string, string>,
  tool: string,
): ToolClassFact | undefined {
  const strictest = strictestOf(alike.map(([, said]) => said.class));
  if (strictest) return { class: strictest };
  // What this agent was shown under the very name is a tool of its own.
  if (seen.has(tool)) return undefined;
  const suspended = alike.map(([name, said]) => suspension(said, seen.get(name))).find((why) => why !== undefined);
  return suspended && { suspended };
}

function factOf(said: ClassedTool, seen: string | undefined): ToolClassFact {
  const suspended = suspension(said, seen);
  return { class: said.class, ...(suspended && { suspended }) };
}

/** The class that a tool's name and the shipped data give a tool that no operator classed. */
export type ByName = (tool: string) => { readonly class: ToolClass; readonly source: 'shipped' | 'name' } | null;

/** What the rules and the shipped data say of a tool by its name. */
export interface NameRules {
  readonly byName: ByName;
  readonly ruleOn: (tool: string) => ToolRule | null;
}

/** The operators' actions on the tools of one upstream. A class without a row in the ledger is never in force. */
export function toolClassing({
  store,
  pins,
  upstream,
  byName,
  ruleOn,
  now = Date.now,
}: ClassingOptions & NameRules & { readonly store: BoundClasses; readonly now?: () => number }) {
  return {
    upstream,

    /** Every tool that is classed, was shown to an agent, or was called within `hours`. */
    async list(tenant: string, hours: number): Promise<ToolList> {
      const [{ tools: classed }, seen, listed, traffic] = await Promise.all([
        store.read(tenant, upstream),
        pins.seenByAny(tenant),
        pins.listed(tenant),
        store.traffic(tenant, upstream, now() - hours * 3_600_000),
      ]);
      const names = new Set([...classed.keys(), ...seen.keys(), ...traffic.keys()]);
      return {
        upstream,
        hours,
        tools: [...names].toSorted().map((tool) => {
          const said = classed.get(tool);
          const named = said ? null : byName(tool);
          // A name that no list showed waits, whatever it reads like.
          const otherwise = named?.source === 'name' && isUnlisted(tool, listed) && !seen.has(tool) ? null : named;
          return {
            tool,
            class: said?.class ?? otherwise?.class ?? null,
            source: said ? ('operator' as const) : (otherwise?.source ?? ('none' as const)),
            suspended: said ? suspension(said, seen.get(tool)) !== undefined : false,
            definition_sha256: seen.get(tool) ?? said?.definition_sha256 ?? null,
            set_by: said?.set_by ?? null,
            set_at: said?.set_at ?? null,
            reason: said?.reason ?? null,
            rule: ruleOn(tool),
            lately: traffic.get(tool) ?? { ran: 0, asked: 0, denied: 0, failed: 0 },
          };
        }),
      };
    },

    /** Classes a tool, or confirms its class for the definition that agents see now. */
    async set(
      by: Operator,
      { tool, class: said, reason, definition_sha256: looked, unlisted }: SetToolClass,
    ): Promise<SetClass> {
      const listed = await pins.seenByAny(by.tenant);
      const seen = listed.get(tool) ?? null;
      if (seen === null && !unlisted) await assertKnown(by, tool, listed.keys());
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
      await store.change(by.tenant, upstream, ({ generation, tools }) => ({
        tool,
        said: classed,
        row: classRow(by, generation + 1, 'tool_class.set', tool, {
          class: said,
          previous_class: tools.get(tool)?.class ?? null,
          definition_sha256: seen,
          ...(reason && { reason }),
        }),
      }));
      return { ...classed, rule: ruleOn(tool) };
    },

    /** Removes a class, so that the shipped data and the name apply again. Returns how many classes were removed. */
    async forget(by: Operator, what: ForgetToolClass): Promise<number> {
      if ('all' in what) return forgetAll(by);
      const { tool } = what;
      let forgotten = 0;
      await store.change(by.tenant, upstream, ({ generation, tools }) => {
        const said = tools.get(tool);
        forgotten = said ? 1 : 0;
        if (!said) return null;
        const row = classRow(by, generation + 1, 'tool_class.forgotten', tool, { previous_class: said.class });
        return { tool, said: null, row };
      });
      return forgotten;
    },
  };

  /** Throws for an unknown name: a class under a misspelt name would leave the intended tool unchanged. */
  async function assertKnown({ tenant }: Operator, tool: string, listed: Iterable<string>): Promise<void> {
    const { tools: classed } = await store.read(tenant, upstream);
    if (classed.has(tool)) return;
    const known = new Set([...listed, ...classed.keys()]);
    const names = nearestNames(tool, known);
    const meant =
      names.length > 0
        ? `; did you mean ${names.join(', ')}?`
        : `${known.size === 0 ? ', nor any other: let an agent list the tools first' : ''}; to class it all the same, say unlisted (--unlisted)`;
    throw new GateError('tool_not_listed', `no list of ${upstream} has shown a tool named ${tool}${meant}`, {
      fields: { did_you_mean: [...names] },
    });
  }

  /** Works for an unreadable set too, because removing needs no reading. */
  async function forgetAll(by: Operator): Promise<number> {
    const row = (generation: number, readable: boolean) =>
      classRow(by, generation, 'tool_class.forgotten', null, { readable });
    if (!(await store.read(by.tenant, upstream).catch(() => null))) {
      await store.anew(by.tenant, upstream, (generation) => row(generation, false));
      return 0;
    }
    let forgotten = 0;
    await store.change(by.tenant, upstream, ({ generation, tools }) => {
      forgotten = tools.size;
      return tools.size === 0 ? null : { tool: null, said: null, row: row(generation + 1, true) };
    });
    return forgotten;
  }

  function classRow(
    { tenant, subject }: Operator,
    generation: number,
    kind: 'tool_class.set' | 'tool_class.forgotten',
    tool: string | null,
    said: Readonly<Record<string, string | boolean | null>>,
  ): ClassChange['row'] {
    const decision = { upstream, tool, ...said, set_by: subject, generation };
    // A new id for every attempt, because repeating a withdrawn change is a new change.
    const id = randomUUID();
    const row = fittingRow({
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
    return { ...row, id };
  }
}
export type ToolClassing = ReturnType<typeof toolClassing>;
