import { LITE_COMMANDS, OPERATOR_COMMANDS } from './file-commands.js';
import { runCommand } from './program.js';

process.exitCode = await runCommand(process.argv, {
  start: async () => (await import('./start.js')).registerStart,
  serve: async () => (await import('./serve.js')).registerServe,
  worker: async () => (await import('./serve.js')).registerWorker,
  config: async () => (await import('./config.js')).registerConfig,
  doctor: async () => (await import('./doctor.js')).registerDoctor,
  prepare: async () => (await import('./prepare.js')).registerPrepare,
  'dev-pki': async () => (await import('./dev-pki.js')).registerDevPki,
  identity: async () => (await import('./identity.js')).registerIdentity,
  keys: async () => (await import('./keys.js')).registerKeys,
  agents: async () => (await import('./agents.js')).registerAgents,
  grants: async () => (await import('./grants.js')).registerGrants,
  decoys: async () => (await import('./decoys.js')).registerDecoys,
  upstreams: async () => (await import('./upstreams.js')).registerUpstreams,
  contain: async () => (await import('./contain.js')).registerContain,
  stops: async () => (await import('./stops.js')).registerStopList,
  release: async () => (await import('./release.js')).registerRelease,
  budget: async () => (await import('./budget.js')).registerBudget,
  tenant: async () => (await import('./tenant.js')).registerTenant,
  token: async () => (await import('./token.js')).registerToken,
  'mcp-bridge': async () => (await import('./mcp-bridge.js')).registerMcpBridge,
  policy: async () => (await import('./policy.js')).registerPolicy,
  brain: async () => (await import('./brain.js')).registerBrain,
  console: async () => (await import('./console.js')).registerConsole,
  login: async () => (await import('./login.js')).registerLogin,
  logout: async () => (await import('./logout.js')).registerLogout,
  whoami: async () => (await import('./whoami.js')).registerWhoami,
  history: async () => (await import('./history.js')).registerHistory,
  ...OPERATOR_COMMANDS,
  ...LITE_COMMANDS,
  lite: async () => {
    const { registerLite } = await import('./lite.js');
    return (program) =>
      registerLite(program, async () => (await import('../stack/unknown-settings.js')).unknownSettings);
  },
});
