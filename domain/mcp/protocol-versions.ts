/** Revisions of MCP with sessions, the newest first. What the upstream speaks is its own matter. */
export const SESSION_VERSIONS: readonly string[] = [
  '2025-11-25',
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
  '2024-10-07',
];

/** The first revision whose clients take an event without data, which names the place to go on from. */
export const RESUMABLE_FROM = '2025-11-25';
