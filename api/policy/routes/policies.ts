import { z } from 'zod';
import type { PolicyFile } from '../../../domain/policy/policy-sources.js';
import type { ServiceApp } from '../../plugins/service.js';

/** Policy sheet 8: a row of the active set. The floor is protected: it can be neither deactivated nor deleted. */
const policyRow = z.object({
  name: z.string(),
  content_type: z.enum(['rego', 'json']),
  active: z.boolean(),
  protected: z.boolean(),
  current_version: z.number().int(),
  deleted_at: z.null(),
  summary: z.string().nullable(),
  tier: z.string().nullable(),
  body_sha256: z.string(),
});

/** Policy sheet 9: what is active, by name. */
export function policyRoutes(app: ServiceApp, files: readonly PolicyFile[]): void {
  const policies = files.map(({ name, content_type, version, summary, tier, body_sha256 }) => ({
    name,
    content_type,
    active: true,
    protected: true,
    current_version: version,
    deleted_at: null,
    summary,
    tier,
    body_sha256,
  }));
  app.get('/policies', { schema: { response: { 200: z.object({ policies: z.array(policyRow) }) } } }, () => ({
    policies,
  }));
}
