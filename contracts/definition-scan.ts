import { z } from 'zod';
import { entitySpan, MAX_RESPONSE_CHARACTERS, responseEntity } from './response-scan.js';

/** How many tools, texts or entries one question has; a longer list is asked about in parts. */
export const MAX_SCANNED = 10_000;
/** Longer names are no tool's; of a catalogue they are not compared. */
export const MAX_NAME = 1_024;

const asker = {
  correlation_id: z.string().optional(),
  agent_id: z.string().min(1).max(256),
  tenant: z.string().nullish(),
};
const text = z.string().max(MAX_RESPONSE_CHARACTERS);

/**
 * The body of `POST /scan-definitions`: what an upstream tells a model of its tools, or beside them. Every member of a tool is read, not only
 * description and schema.
 */
export const definitionScanRequest = z.object({
  ...asker,
  /** Tools as objects, or as the JSON texts that an upstream wrote. */
  tools: z
    .array(z.union([text, z.looseObject({ name: z.string() })]))
    .max(MAX_SCANNED)
    .default([]),
  /** Other JSON texts that a model reads: an introduction, an entry of another list, an error. */
  texts: z
    .array(z.object({ name: z.string(), text }))
    .max(MAX_SCANNED)
    .default([]),
  /** JSON texts in which the places are wanted of what instructs a model. */
  entries: z
    .array(z.object({ text, name_identifies: z.boolean().default(false) }))
    .max(MAX_SCANNED)
    .default([]),
});
export type DefinitionScanRequest = z.infer<typeof definitionScanRequest>;

/** What was found of one tool or text; `index` counts from 0 in its list. */
const flagged = z.object({
  index: z.number().int().min(0),
  name: z.string(),
  confidence: z.number().min(0).max(1),
  /** Names of rules, never the text itself. */
  signals: z.array(z.string()),
  /** The tool of this list that its name is taken for. */
  like: z.string().optional(),
});
export type Flagged = z.infer<typeof flagged>;

/** What of an entry instructs a model. Spans count UTF-16 units of its text. */
export const entryScan = z.object({
  detected_entities: z.array(responseEntity),
  spans: z.array(entitySpan),
  /** Found in a way that no part of the entry accounts for. */
  unlocated: z.array(responseEntity),
});
export type EntryScan = z.infer<typeof entryScan>;

export const definitionScanResult = z.object({
  flagged: z.array(flagged),
  flagged_texts: z.array(flagged),
  /** Entries without instructions are left out. */
  located: z.array(entryScan.extend({ index: z.number().int().min(0) })),
  /** A model that should have looked did not answer, and rules alone did. */
  degraded: z.boolean(),
});
export type DefinitionScanResult = z.infer<typeof definitionScanResult>;

/** The body of `POST /scan-tool-name`: a name that was called, and those that its agent was shown. */
export const toolNameScanRequest = z.object({
  ...asker,
  called: z.string().min(1).max(MAX_NAME),
  catalog: z.array(z.string().max(MAX_NAME)).max(MAX_SCANNED),
});
export type ToolNameScanRequest = z.infer<typeof toolNameScanRequest>;

export const toolNameScanResult = z.object({
  lookalike: z.boolean(),
  /** The name that it is, or is taken for. */
  nearest: z.string().nullable(),
  /** Characters to insert, delete or change from one name to the other, as they are written. */
  distance: z.number().int().min(0).nullable(),
  confidence: z.number().min(0).max(1),
  signals: z.array(z.string()),
  degraded: z.boolean(),
});
export type ToolNameScanResult = z.infer<typeof toolNameScanResult>;
