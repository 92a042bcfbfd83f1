/** The workflows after a release with a bug in the call's one: every workflow task of a call fails, and the engine tries it for ever. */
export async function toolCall(): Promise<never> {
  throw new TypeError('a bug nobody foresaw');
}
export { callback } from '../../workflows/callback/workflow.js';
export { reconcile } from '../../workflows/reconcile/workflow.js';
