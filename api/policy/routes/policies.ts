import { z } from 'zod';
import { policyBundle } from '../../../contracts/policy.js';
import type { PolicySet } from '../../../domain/policy/policy-set.js';
import { readPolicyFiles, shippedPolicyDirectory } from '../../../domain/policy/policy-sources.js';
import type { ServiceApp } from '../../plugins/service.js';

const ruleFacts = z.object({
  rule: z.string(),
  title: z.string().nullable(),
  description: z.string().nullable(),
  reason: z.string().nullable(),
});

/** A row of the active set. */
const policyRow = z.object({
  name: z.string(),
  content_type: z.enum(['rego', 'json']),
  active: z.boolean(),
  /** A file of the floor that ships with Gate. */
  protected: z.boolean(),
  /** It is what ships with Gate, to the byte. */
  as_shipped: z.boolean(),
  current_version: z.number().int(),
  summary: z.string().nullable(),
  tier: z.string().nullable(),
  package: z.string().nullable(),
  body_sha256: z.string(),
  bytes: z.number().int(),
  rules: z.array(ruleFacts),
});

const policyList = z.object({
  bundle: policyBundle,
  origin: z.object({
    directory: z.string(),
    loaded_at: z.string(),
    wasm_sha256: z.string(),
    opa_version: z.string(),
    entrypoints: z.array(z.string()),
  }),
  policies: z.array(policyRow),
});

/** What this process has loaded and judges with, by name. */
export function policyRoutes(app: ServiceApp, set: PolicySet): void {
  let answer: Promise<z.infer<typeof policyList>> | undefined;
  app.get('/policies', { schema: { response: { 200: policyList } } }, () => (answer ??= listOf(set)));
}

/** A set never changes while it is loaded: its files are described once. */
async function listOf({ bundle, files, origin }: PolicySet): Promise<z.infer<typeof policyList>> {
  // Its YAML parser is for this list alone.
  const { packageOf, rulesOf } = await import('../../../domain/policy/rule-metadata.js');
  const shipped = new Map(
    (await readPolicyFiles(shippedPolicyDirectory())).map((file) => [file.name, file.body_sha256]),
  );
  return {
    bundle,
    origin: { ...origin, entrypoints: [...origin.entrypoints] },
    policies: files.map(({ name, content_type, version, summary, tier, body_sha256, body }) => ({
      name,
      content_type,
      // Every file of the set is compiled into it, or its data: one that is not in force is not in the set.
      active: true,
      protected: shipped.has(name),
      as_shipped: shipped.get(name) === body_sha256,
      current_version: version,
      summary,
      tier,
      package: content_type === 'rego' ? packageOf(body) : null,
      body_sha256,
      bytes: Buffer.byteLength(body),
      rules: content_type === 'rego' ? [...rulesOf(body)] : [],
    })),
  };
}
