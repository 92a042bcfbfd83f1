import type { SandboxReport } from '../../contracts/sandbox.js';

/** A prediction that says only this. */
export const reportOf = (summary: string): SandboxReport => ({
  contract: 'gate.sandbox-report/v1',
  analyzer_version: '1',
  analyzed: true,
  operation_class: 'write',
  severity: 'risky',
  reversible: 'unknown',
  summary,
  reasons: [],
  targets: [],
  predicted_changes: [],
  scope: { targets: 1, wildcards: false, recursive: false },
  money: null,
});
