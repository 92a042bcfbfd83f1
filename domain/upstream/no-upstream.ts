import { GateError } from '../errors.js';
import type { Upstream } from './upstream.js';

/** Used when no tools are configured: nothing is ever sent, and the caller is told so. */
export const noUpstream: Upstream = {
  callTool: async () => ({ kind: 'not_sent', reason: 'no upstream is configured' }),
  control: () => Promise.reject(new GateError('upstream_not_configured')),
  close: () => Promise.resolve(),
};
