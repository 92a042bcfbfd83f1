import { z } from 'zod';

export const SANDBOX_REPORT_CONTRACT = 'gate.sandbox-report/v1';

/** How far the harm of a call would reach, from none to what nobody can take back. */
export const sandboxSeverity = z.enum(['safe', 'risky', 'destructive']);
export type SandboxSeverity = z.infer<typeof sandboxSeverity>;

export const operationClass = z.enum(['read', 'write', 'exec', 'network', 'delete', 'unknown']);
export type OperationClass = z.infer<typeof operationClass>;

/** Entries of each list of a report, and characters of each of their texts. */
export const SANDBOX_BOUNDS = { entries: 12, text: 256, summary: 240, amount: 64 } as const;

const shown = z.string().max(SANDBOX_BOUNDS.text);
const list = <Item extends z.ZodType>(item: Item) => z.array(item).max(SANDBOX_BOUNDS.entries);

/**
 * What a call would do, predicted from its text alone (docs/architecture/sandbox.md). It annotates a review and authorises nothing. Texts of
 * the call are clipped, and characters that nobody sees are written as escapes.
 */
export const sandboxReport = z.strictObject({
  contract: z.literal(SANDBOX_REPORT_CONTRACT),
  /** The rules that made the report. One version makes the same bytes of the same call. */
  analyzer_version: z.string().max(64),
  /** False for a call that is too large to be looked at. */
  analyzed: z.boolean(),
  operation_class: operationClass,
  severity: sandboxSeverity,
  /** Whether the effect can be undone with what the call leaves behind. */
  reversible: z.enum(['yes', 'no', 'unknown']),
  /** One line for a list. */
  summary: z.string().max(SANDBOX_BOUNDS.summary),
  /** Why it has this severity, the gravest first. */
  reasons: list(shown),
  /** Paths, addresses, tables and ids, in the order in which they stand. */
  targets: list(shown),
  predicted_changes: list(
    z.strictObject({ kind: z.enum(['read', 'create', 'modify', 'delete', 'execute', 'send']), target: shown }),
  ),
  scope: z.strictObject({
    /** All that was found, also what is not listed above. */
    targets: z.number().int().min(0),
    wildcards: z.boolean(),
    recursive: z.boolean(),
  }),
  /** The money that would move; null where none does. */
  money: z
    .strictObject({
      amount: z.string().max(SANDBOX_BOUNDS.amount).nullable(),
      currency: z.string().max(SANDBOX_BOUNDS.amount).nullable(),
      payee: shown.nullable(),
    })
    .nullable(),
});
export type SandboxReport = z.infer<typeof sandboxReport>;

/** The body of `POST /analyze`. `params` may be anything: what is no call is reported as such. */
export const sandboxRequest = z.strictObject({
  method: z.string().min(1).max(256),
  params: z.unknown().optional(),
  /** Whose turn it is when many ask; the report does not depend on it. */
  agent: z.string().max(512).optional(),
});
export type SandboxRequest = z.infer<typeof sandboxRequest>;
