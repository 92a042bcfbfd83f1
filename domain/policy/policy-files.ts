import { z } from 'zod';
import { canonicalDigest } from '../crypto/digest.js';

/** The only rule that the engine evaluates for a call; it returns everything (policies/gate/entrypoint/decision.rego). */
export const ENTRYPOINT = 'gate/entrypoint/decision';

/** What a tool's name says; evaluated once per name (policies/gate/entrypoint/tool.rego). */
export const TOOL_ENTRYPOINT = 'gate/entrypoint/tool';

/** What is done about what an answer holds (policies/gate/entrypoint/egress.rego). */
export const RESPONSE_ENTRYPOINT = 'gate/entrypoint/egress';

/** What the rules that operators added say of a call; in their own module (domain/policy/added-rules.ts). */
export const ADDED_ENTRYPOINT = 'gate/entrypoint/added';

/** Which of them watch a tool; evaluated once per name (policies/gate/lib/watching.rego). */
export const WATCHED_ENTRYPOINT = 'gate/entrypoint/watched';

/** What was compiled, and from what. `npm run policies` writes it; every load checks it. */
export const policyManifest = z.strictObject({
  schema_version: z.literal(1),
  /** `<UTC date>.<generation>` of the last change of the sources. */
  version: z.string().regex(/^\d{4}-\d{2}-\d{2}\.\d+$/),
  sources_sha256: z.string(),
  wasm_sha256: z.string(),
  opa_version: z.string(),
  policy_count: z.number().int(),
  entrypoints: z.array(z.string()).min(1),
});

export type PolicyManifest = z.infer<typeof policyManifest>;

/** One file of the active set: an item of `GET /policies`, and part of what the bundle hash covers. */
export interface PolicyFile {
  readonly name: string;
  readonly content_type: 'rego' | 'json';
  readonly version: number;
  readonly body_sha256: string;
  readonly summary: string | null;
  readonly tier: string | null;
  readonly body: string;
}

type HashedFile = Pick<PolicyFile, 'name' | 'content_type' | 'version' | 'body_sha256'>;

const hashedRows = (files: readonly HashedFile[]) =>
  files.map(({ name, content_type, version, body_sha256 }) => ({ name, content_type, version, body_sha256 }));

/** The hash of the rules that ship, including data: `sha256:` over the canonical JSON of one row per file. */
export const bundleHash = (files: readonly HashedFile[]): string => canonicalDigest(hashedRows(files));

/** The same with rules of operators: it also covers the bytes of the module that judges. */
export const addedBundleHash = (files: readonly HashedFile[], wasmSha256: string): string =>
  canonicalDigest({ files: hashedRows(files), wasm_sha256: wasmSha256 });
