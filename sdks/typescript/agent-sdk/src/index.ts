export {
  type AdapterOptions,
  gateBeforeTool,
  gateComputerUse,
  gateInputGuardrail,
  gateTool,
  gateToolCalls,
  gateTools,
  type Refusal,
  refusalText,
} from './adapters.js';
export {
  GateConfigError,
  GateDenied,
  GateError,
  GateMalformedCall,
  GatePending,
  GateRateLimited,
  GateTransportError,
} from './errors.js';
export { denialPanel } from './denial-panel.js';
export {
  type CallOptions,
  type GuardOptions,
  guardToolCall,
  inspectToolUse,
  inspectToolUses,
  isApproved,
  resolvePending,
} from './inspect.js';
export type { CallbackOptions, GateOptions } from './options.js';
export {
  inspectRealtimeFunctionCall,
  isRealtimeFunctionCallDone,
  normalizeRealtimeFunctionCall,
  type RealtimeFunctionCallDone,
} from './realtime.js';
export type { Advice, CallContext, Denial, DenialDetail, Limited, ResolveOptions, ToolCall, Verdict } from './types.js';
export { gateWrap } from './wrap/gate-wrap.js';
