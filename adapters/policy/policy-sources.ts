import { readdir, readFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { canonicalJson, sha256Hex } from '../../domain/crypto/digest.js';
import { shippedPath } from '../shipped.js';
import { headerOf } from '../../domain/policy/policy-header.js';
import type { PolicyFile } from '../../domain/policy/policy-files.js';

/** Folder and file names inside a policy folder. */
export const POLICY_LAYOUT = {
  rules: 'gate',
  library: join('gate', 'lib'),
  data: 'data.json',
  templates: 'templates',
  templateIndex: join('compiled', 'templates.json'),
  capabilities: 'capabilities.json',
  wasm: join('compiled', 'policy.wasm'),
  manifest: join('compiled', 'manifest.json'),
} as const;

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
        summary: headerOf(body).summary,
        tier: headerOf(body).tier,
        body,
      };
    }),
  );
  files.sort((a, b) => (a.name < b.name ? -1 : 1));
  const twice = files.find((file, index) => file.name === files[index + 1]?.name);
  if (twice) throw new Error(`two policy files are named ${twice.name}`);
  return files;
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
