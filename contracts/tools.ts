import { z } from 'zod';
import { toolClass } from './policy.js';
import { storableString, toolName } from './storable.js';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** An operator's class of a tool, as stored. */
export const classedTool = z.object({
  class: toolClass,
  /** The definition it applies to; `null` when no agent had been shown one. */
  definition_sha256: sha256.nullable(),
  reason: z.string().nullable(),
  set_by: z.string(),
  set_at: z.string(),
});
export type ClassedTool = z.infer<typeof classedTool>;

export const setToolClass = z.strictObject({
  tool: toolName,
  class: toolClass,
  reason: storableString(0, 1_000).nullish(),
  /** Refused when the definition shown last is a different one. */
  definition_sha256: sha256.nullish(),
  /** Also accepts a name that no list has shown, which is usually a typo. */
  unlisted: z.boolean().nullish(),
});
export type SetToolClass = z.infer<typeof setToolClass>;

/** What a rule does with every call of a tool because of its name, whatever its class: it denies, or asks a person. */
const toolRule = z.object({ effect: z.enum(['denies', 'asks']), reason: z.string() });
export type ToolRule = z.infer<typeof toolRule>;

/** The answer to a class that was set. */
export const setClass = classedTool.extend({ rule: toolRule.nullable() });
export type SetClass = z.infer<typeof setClass>;

/** One tool; or with `all`, every class of the upstream, even if they cannot be read any more. */
export const forgetToolClass = z.union([z.strictObject({ tool: toolName }), z.strictObject({ all: z.literal(true) })]);
export type ForgetToolClass = z.infer<typeof forgetToolClass>;

/**
 * How the calls of a tool of this upstream ended within the requested time. `ran` counts those answered with a result that is no error;
 * `asked` counts those that waited for a person, or would have.
 */
export const toolTraffic = z.object({
  ran: z.number().int(),
  asked: z.number().int(),
  denied: z.number().int(),
  failed: z.number().int(),
});
export type ToolTraffic = z.infer<typeof toolTraffic>;

/** A tool as `gate tools` lists it. */
export const listedTool = z.object({
  tool: z.string(),
  /** `null`: nobody classed it, and its name does not clearly mean reading. */
  class: toolClass.nullable(),
  source: z.enum(['operator', 'shipped', 'name', 'none']),
  /** The definition changed since the operator classed the tool; its calls wait until it is classed again. */
  suspended: z.boolean(),
  definition_sha256: sha256.nullable(),
  set_by: z.string().nullable(),
  set_at: z.string().nullable(),
  reason: z.string().nullable(),
  /** `null`: only its class and its arguments decide. */
  rule: toolRule.nullable(),
  lately: toolTraffic,
});
export type ListedTool = z.infer<typeof listedTool>;

export const toolList = z.object({ upstream: z.string(), hours: z.number(), tools: z.array(listedTool) });
export type ToolList = z.infer<typeof toolList>;
