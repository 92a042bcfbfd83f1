import type { TenantWarrantContent } from '../../contracts/tenant-lifecycle.js';
import { canonicalJson } from '../crypto/digest.js';

/** What the CA signs of a warrant. */
export const tenantWarrantBytes = (content: TenantWarrantContent): Buffer =>
  Buffer.from(`gate.tenant-step/1\n${canonicalJson(content)}`);
