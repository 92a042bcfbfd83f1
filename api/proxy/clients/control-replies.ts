import type { Json } from '../../../contracts/json.js';

/** What an upstream answered to a control method; `null` without a body. */
export type ControlReply = { readonly status: number; readonly text: string; readonly failed: boolean } | null;

/** What Gate answers where it has nothing to say but that it did as asked. */
export const emptyReply = (id: Json): ControlReply => ({
  status: 200,
  text: JSON.stringify({ jsonrpc: '2.0', id, result: {} }),
  failed: false,
});
