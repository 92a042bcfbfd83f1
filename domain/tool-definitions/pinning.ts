import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../../contracts/json.js';
import type { Ledger } from '../../contracts/ledger.js';
import type { AcceptPins, ForgetPins, PinDiff, PinnedAgents, ShownTools } from '../../contracts/tool-pins.js';
import { GateError } from '../errors.js';
import { fittingRow } from '../ledger/fitting-row.js';
import type { Operator } from '../operator.js';
import { driftOf, nothingSeen } from './definitions.js';
import type { PinOwner, ToolPinStore } from './ports.js';

/** The row of an action on pinned tools. */
export const pinningRow = (owner: PinOwner, by: string, reasoning: string, said: JsonObject) =>
  fittingRow({
    id: randomUUID(),
    agent_id: owner.agent,
    method: 'tool_definition.accepted',
    event_kind: 'tool_definition.accepted',
    intent_category: 'Privileged Action',
    authorized: true,
    reasoning,
    policy_decision: { ...said, decided_by: by, decided_via: 'gate pins' },
    state_namespace: 'operator',
    tenant: owner.tenant,
    actor_sub: by,
  });

/** The row that says that an agent's pins were let go. */
export const forgottenRow = (owner: PinOwner, by: string, tools: number, reason: string | null) =>
  pinningRow(owner, by, `${tools} pinned tools were let go; the next list is pinned`, {
    action: 'forget',
    tools,
    reason,
  });

/** The operators' actions on pinned tools. Every action is in the ledger before it takes effect. */
export function toolPinning({ pins, ledger }: { readonly pins: ToolPinStore; readonly ledger: Ledger }) {
  async function diff(tenant: string, agent: string): Promise<PinDiff> {
    const owner = { tenant, agent };
    const [pinned, seen] = await Promise.all([pins.read(owner), pins.seen(owner)]);
    const drift = driftOf(pinned, { ...nothingSeen(), digests: new Map(seen) }, seen.size > 0);
    const differing = [...drift.changed, ...drift.added, ...drift.removed];
    const digests = differing
      .flatMap((tool) => [pinned.digests.get(tool), seen.get(tool)])
      .filter((digest) => digest !== undefined);
    const texts = await pins.texts(tenant, digests);
    const tools = (['changed', 'added', 'removed'] as const).flatMap((change) =>
      drift[change].map((tool) => ({
        tool,
        change,
        pinned_sha256: pinned.digests.get(tool) ?? null,
        seen_sha256: seen.get(tool) ?? null,
        pinned_definition: texts.get(pinned.digests.get(tool) ?? '') ?? null,
        seen_definition: texts.get(seen.get(tool) ?? '') ?? null,
      })),
    );
    return { agent, tampered: pinned.tampered, tools };
  }

  return {
    async list(tenant: string): Promise<PinnedAgents> {
      return { agents: (await pins.owners()).filter((owner) => owner.tenant === tenant) };
    },

    diff,

    /** The tools as the agent was last shown them, by name. */
    async shown(tenant: string, agent: string): Promise<ShownTools> {
      const seen = [...(await pins.seen({ tenant, agent }))].toSorted(([one], [other]) => (one < other ? -1 : 1));
      const texts = await pins.texts(
        tenant,
        seen.map(([, sha256]) => sha256),
      );
      return { agent, tools: seen.map(([tool, sha256]) => ({ tool, definition: texts.get(sha256) ?? null })) };
    },

    /** Pins what the operator was shown, if the list still says it. Returns the tools whose pin changed. */
    async accept(by: Operator, { agent, seen, reason }: AcceptPins): Promise<{ accepted: string[] }> {
      const owner = { tenant: by.tenant, agent };
      const { tampered, tools: drifted } = await diff(by.tenant, agent);
      if (tampered)
        throw new GateError(
          'pins_tampered',
          `the pins of ${agent} were not written by Gate: \`gate pins forget ${agent}\``,
        );
      const named = drifted.filter(({ tool }) => Object.hasOwn(seen, tool));
      const flipped = named.filter(({ tool, seen_sha256 }) => seen[tool] !== seen_sha256).map(({ tool }) => tool);
      // A tool that was shown as different but no longer is went back to its pinned definition.
      const back = Object.keys(seen).filter((tool) => !named.some((one) => one.tool === tool));
      if (flipped.length + back.length > 0)
        throw new GateError(
          'pins_changed_meanwhile',
          `not what was shown any more: ${[...flipped, ...back].slice(0, 50).join(', ')}; \`gate pins diff ${agent}\` shows what differs now`,
        );
      if (named.length === 0) return { accepted: [] };
      const shown = named.map(({ change, tool }) => `${change} ${tool}`).join(', ');
      const digests = named.map(({ tool, pinned_sha256, seen_sha256 }) => [tool, { pinned_sha256, seen_sha256 }]);
      const row = pinningRow(owner, by.subject, `accepted: ${shown}`, {
        action: 'accept',
        tools: Object.fromEntries(digests) as JsonObject,
        reason: reason ?? null,
      });
      await ledger.append([row]);
      await pins.accept(owner, new Map(named.map(({ tool, seen_sha256 }) => [tool, seen_sha256])));
      return { accepted: named.map(({ tool }) => tool) };
    },

    /** Removes the pins; the agent's next list is pinned again. Returns how many tools were pinned. */
    async forget(by: Operator, { agent, reason }: ForgetPins): Promise<{ forgotten: number }> {
      const owner = { tenant: by.tenant, agent };
      const { digests, tampered } = await pins.read(owner);
      if (digests.size === 0 && !tampered) return { forgotten: 0 };
      await ledger.append([forgottenRow(owner, by.subject, digests.size, reason ?? null)]);
      return { forgotten: await pins.forget(owner) };
    },
  };
}
export type ToolPinning = ReturnType<typeof toolPinning>;
