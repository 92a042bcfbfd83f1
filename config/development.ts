import { port, setting } from './env.js';

/** What only `gate start` reads: the ports of the programs that it brings along. */
export const DEVELOPMENT_SETTINGS = {
  temporalPort: setting(
    'GATE_TEMPORAL_PORT',
    port(7233),
    'Port of the workflow engine that `gate start` runs; 0 takes a free one.',
  ),
  temporalUiPort: setting('GATE_TEMPORAL_UI_PORT', port(8233), "Port of the engine's web pages; 0 takes a free one."),
  workflowPagesPort: setting(
    'GATE_WORKFLOW_PAGES_PORT',
    port(8234),
    "Port of the engine's pages with their payloads in clear, behind the operator's token; 0 takes a free one.",
  ),
  demoUpstreamPort: setting(
    'GATE_DEMO_UPSTREAM_PORT',
    port(9000),
    'Port of the demonstration tools; 0 takes a free one.',
  ),
} as const;
