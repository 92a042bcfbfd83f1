import { z } from 'zod';
import { label } from './identity.js';

/** Tools of one report. */
export const TOOLS_REPORTED = 1_024;

const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const name = z.string().min(1).max(1_024);

/** Body of `POST /tool-definitions/pin`, from a proxy: what an agent saw of its tools first, or what it sees now that differs from that. */
export const toolDefinitionReport = z.strictObject({
  tenant: label,
  agent_id: label,
  /** With or without its instance. */
  agent_spiffe: z.string().min(1).max(2_048).optional(),
  event: z.enum(['pinned', 'drifted']),
  /** Of the RFC 8785 form of the digests by the names of the tools. */
  snapshot_sha256: digest,
  tools: z
    .array(z.strictObject({ name, definition_sha256: digest }))
    .max(TOOLS_REPORTED)
    .refine((tools) => new Set(tools.map((tool) => tool.name)).size === tools.length, 'must name each tool once'),
  /** The tools that were changed, added or removed. */
  changes: z.array(name).max(TOOLS_REPORTED).optional(),
});
export type ToolDefinitionReport = z.infer<typeof toolDefinitionReport>;

export const keptToolDefinitions = z.strictObject({
  /** Of what is kept of this agent. */
  id: z.uuid(),
  snapshot_sha256: digest,
  event_kind: z.enum(['tool_definition.pinned', 'tool_definition.drifted']),
});
export type KeptToolDefinitions = z.infer<typeof keptToolDefinitions>;
