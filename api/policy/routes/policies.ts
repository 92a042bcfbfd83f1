import { z } from 'zod';
import { policyFile, type PolicyList, policyList } from '../../../contracts/policy.js';
import { GateError } from '../../../domain/errors.js';
import type { PolicySet } from '../../../domain/policy/policy-set.js';
import { readPolicyFiles, shippedPolicyDirectory } from '../../../adapters/policy/policy-sources.js';
import type { ServiceApp } from '../../plugins/app.js';

/** The files that this process has loaded and judges with: all of them, and the text of one. */
export function policyRoutes(app: ServiceApp, set: PolicySet): void {
  let answer: Promise<PolicyList> | undefined;
  app.get('/policies', { schema: { response: { 200: policyList } } }, () => (answer ??= listOf(set)));
  app.get(
    '/policies/:name',
    { schema: { params: z.strictObject({ name: z.string() }), response: { 200: policyFile } } },
    async ({ params: { name } }) => {
      const row = (await (answer ??= listOf(set))).policies.find((policy) => policy.name === name);
      const file = set.files.find((one) => one.name === name);
      if (!row || !file) throw new GateError('not_found');
      return { ...row, current_body: file.body, current_body_sha256: file.body_sha256 };
    },
  );
}

/** A loaded set never changes, so its files are described once. */
async function listOf({ bundle, files, origin }: PolicySet): Promise<PolicyList> {
  // Only this list needs the YAML parser.
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
      // Every file of a set is compiled into it or is its data, so every listed file is active.
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
