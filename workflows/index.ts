export { toolCall } from './tool-call/workflow.js';
export { review } from './review/workflow.js';
export { callback } from './callback/workflow.js';
export { probe } from './probe/workflow.js';
export { egress } from './egress/workflow.js';
export { reconcile } from './reconcile/workflow.js';
export { settleRow } from './settle-row/workflow.js';
export { warmUp } from './warm-up/workflow.js';
