import type { Commands } from './program.js';

/** The operator's commands for waiting calls and for the ledger. Each asks a running stack, a lite process, or a ledger file. */
export const OPERATOR_COMMANDS: Commands = {
  pending: async () => (await import('./pending.js')).registerPending,
  approvals: async () => (await import('./approvals.js')).registerApprovals,
  tools: async () => (await import('./tools.js')).registerTools,
  uncertain: async () => (await import('./uncertain.js')).registerUncertain,
  chats: async () => (await import('./chats.js')).registerChats,
  decide: async () => (await import('./decide.js')).registerDecide,
  audit: async () => (await import('./audit.js')).registerAudit,
  narrative: async () => (await import('./narrative.js')).registerNarrative,
  checkpoint: async () => (await import('./checkpoint.js')).registerCheckpoint,
  prove: async () => (await import('./prove.js')).registerProve,
  verify: async () => (await import('./verify.js')).registerVerify,
  persona: async () => (await import('./persona.js')).registerPersona,
};

/** Lite, and the commands for its file. */
export const LITE_COMMANDS: Commands = {
  lite: async () => (await import('./lite.js')).registerLite,
  report: async () => (await import('./report.js')).registerReport,
  pins: async () => (await import('./pins.js')).registerPins,
  export: async () => (await import('./export.js')).registerExport,
  backup: async () => (await import('./backup.js')).registerBackup,
  restore: async () => (await import('./restore.js')).registerRestore,
  replay: async () => (await import('./replay.js')).registerReplay,
  why: async () => (await import('./why.js')).registerWhy,
};
