import { z } from 'zod';
import { storableString, toolName } from './storable.js';

const agent = storableString(1, 256);
const reason = storableString(0, 1_000).nullish();

/** The agent whose pins are requested. */
export const pinsOf = z.object({ agent });

/** An agent with pinned tools. */
export const pinnedAgent = z.object({
  tenant: z.string(),
  agent: z.string(),
  tools: z.number().int(),
  since: z.string(),
});
export const pinnedAgents = z.object({ agents: z.array(pinnedAgent) });
export type PinnedAgents = z.infer<typeof pinnedAgents>;

/** How an agent's latest tool definitions differ from the pinned ones. */
export const pinDiff = z.object({
  agent: z.string(),
  /** Somebody other than Gate wrote the pins. They cannot be accepted, only forgotten. */
  tampered: z.boolean(),
  tools: z.array(
    z.object({
      tool: z.string(),
      change: z.enum(['changed', 'added', 'removed']),
      pinned_sha256: z.string().nullable(),
      seen_sha256: z.string().nullable(),
      /** The definitions themselves, as canonical JSON; `null` where there is none, or its text is not kept any more. */
      pinned_definition: z.string().nullable(),
      seen_definition: z.string().nullable(),
    }),
  ),
});
export type PinDiff = z.infer<typeof pinDiff>;

/** What an agent was last shown of its tools. */
export const shownTools = z.object({
  agent: z.string(),
  tools: z.array(
    z.object({
      tool: z.string(),
      /** Its definition as canonical JSON; `null` where the text is not kept any more. */
      definition: z.string().nullable(),
    }),
  ),
});
export type ShownTools = z.infer<typeof shownTools>;

/** Each tool with the digest that the operator saw, or `null` for a missing tool. If it has changed since, nothing is accepted. */
export const acceptPins = z.strictObject({
  agent,
  seen: z.record(toolName, z.string().length(64).nullable()),
  reason,
});
export type AcceptPins = z.infer<typeof acceptPins>;
export const acceptedPins = z.object({ accepted: z.array(z.string()) });

export const forgetPins = z.strictObject({ agent, reason });
export type ForgetPins = z.infer<typeof forgetPins>;
export const forgottenPins = z.object({ forgotten: z.number().int() });
