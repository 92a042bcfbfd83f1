/** What some tests need and not every machine has; `.ci/run` knows the words. */
export type Need =
  | 'chromium'
  | 'dev-full'
  | 'go'
  | 'opa'
  | 'loop-device'
  | 'mcp-conformance'
  | 'mcp-inspector'
  | 'mcp-python'
  | 'node24'
  | 'openssl'
  | 'other-user'
  | 'prlimit'
  | 'proc-net'
  | 'pyiceberg'
  | 'python3'
  | 'schemathesis'
  | 'sdk-frameworks'
  | 'sdk-python'
  | 'single-executable'
  | 'small-disk'
  | 'softhsm2'
  | 'swtpm';

/** The end of the title of a test that is skipped where something is not there: the end of the run names it (`not-run.mjs`). */
export const needs = (what: Need, there: boolean): string => (there ? '' : ` (needs ${what})`);
