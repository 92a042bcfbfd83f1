import { readdir, readFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { z } from 'zod';
import { canonicalDigest, canonicalJson, sha256Hex } from '../../domain/crypto/digest.js';
import { shippedPath } from '../shipped.js';

/** Folder and file names inside a policy folder. */
export const POLICY_LAYOUT = {
  rules: 'gate',
  data: 'data.json',
  capabilities: 'capabilities.json',
  wasm: join('compiled', 'policy.wasm'),
  manifest: join('compiled', 'manifest.json'),
} as const;

/** The only rule that the engine evaluates for a call; it returns everything (policies/gate/entrypoint/decision.rego). */
export const ENTRYPOINT = 'gate/entrypoint/decision';
/** What a tool's name says; evaluated once per name (policies/gate/entrypoint/tool.rego). */
export const TOOL_ENTRYPOINT = 'gate/entrypoint/tool';

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

/** The policy folder that ships with Gate. */
export const shippedPolicyDirectory = (): string => join(shippedPath('policies', POLICY_LAYOUT.data), '..');

/**
 * The files of the active set: every rule file except tests, and the data document, sorted by name. Names are base names and unique in a
 * set. Throws when a file cannot be read or a name appears twice.
 */
export async function readPolicyFiles(directory: string): Promise<readonly PolicyFile[]> {
  const root = join(directory, POLICY_LAYOUT.rules);
  const rules = (await readdir(root, { recursive: true }))
    .filter((path) => path.endsWith('.rego') && !path.endsWith('_test.rego'))
    .map((path) => join(root, path));
  const files = await Promise.all(
    [...rules, join(directory, POLICY_LAYOUT.data)].map(async (path): Promise<PolicyFile> => {
      const body = await readFile(path, 'utf8');
      return {
        name: path.slice(path.lastIndexOf(sep) + 1),
        content_type: path.endsWith('.rego') ? 'rego' : 'json',
        version: 1,
        body_sha256: sha256Hex(body),
        summary: headerOf(body, 'summary'),
        tier: headerOf(body, 'tier'),
        body,
      };
    }),
  );
  files.sort((a, b) => (a.name < b.name ? -1 : 1));
  const twice = files.find((file, index) => file.name === files[index + 1]?.name);
  if (twice) throw new Error(`two policy files are named ${twice.name}`);
  return files;
}

/** A `# Key: value` line in the comment block at the top of a rule file. Keys ignore case; the last one counts. */
function headerOf(body: string, key: string): string | null {
  let value: string | null = null;
  for (const line of body.split('\n')) {
    if (!line.startsWith('#')) break;
    const match = /^#\s*([A-Za-z][A-Za-z ]*):(.*)$/.exec(line);
    if (match?.[1]?.toLowerCase() === key) value = match[2]?.trim() || null;
  }
  return value;
}

/** The digest of the compiler's input: the rules and its capabilities. Data is not compiled and may change separately. */
export async function compiledSourcesSha256(directory: string, files: readonly PolicyFile[]): Promise<string> {
  const capabilities = await readFile(join(directory, POLICY_LAYOUT.capabilities), 'utf8');
  const rules = files
    .filter((file) => file.content_type === 'rego')
    .map(({ name, body_sha256 }) => ({ name, body_sha256 }));
  return sha256Hex(
    canonicalJson([...rules, { name: POLICY_LAYOUT.capabilities, body_sha256: sha256Hex(capabilities) }]),
  );
}

/** The hash of the active set, including data: `sha256:` over the canonical JSON of one row per file. */
export const bundleHash = (files: readonly PolicyFile[]): string =>
  canonicalDigest(
    files.map(({ name, content_type, version, body_sha256 }) => ({ name, content_type, version, body_sha256 })),
  );
