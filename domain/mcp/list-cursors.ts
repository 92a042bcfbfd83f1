import type { Json } from '../../contracts/json.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { agentIdentity, type SessionOwner } from './session.js';

/** Opaque, and given out by an upstream: no server needs a longer one. */
const MAX_CURSOR_BYTES = 8_192;
/** The longest that is opened: one of an upstream, sealed, as text. */
export const MAX_SEALED_CURSOR = 12_288;

/**
 * Where in a list an upstream goes on, as its clients are told it: sealed with a key of the proxy, for its agent and its list. So an agent reads nothing in
 * it, and brings the upstream nothing but what that upstream gave out, whichever replica it asks. Nothing is stored.
 */
export function listCursors({ keys }: { readonly keys: KeyRing }) {
  const context = ({ tenant, spiffe }: SessionOwner, method: string) =>
    `gate.mcp-cursor/${JSON.stringify([tenant, agentIdentity(spiffe), method])}`;
  return {
    /** `null` where it is none, or too long to be one. */
    seal(owner: SessionOwner, method: string, cursor: Json): string | null {
      if (typeof cursor !== 'string' || Buffer.byteLength(cursor) > MAX_CURSOR_BYTES) return null;
      return keys.seal(cursor, context(owner, method)).toString('base64url');
    },

    /** The upstream's own; `null` where Gate did not seal it for this agent and this list. */
    open(owner: SessionOwner, method: string, sealed: string): string | null {
      const bytes = Buffer.from(sealed, 'base64url');
      // The decoder passes over what is no base64.
      if (sealed.length > MAX_SEALED_CURSOR || bytes.toString('base64url') !== sealed) return null;
      try {
        return keys.open(bytes, context(owner, method)).toString('utf8');
      } catch {
        return null;
      }
    },
  };
}
export type ListCursors = ReturnType<typeof listCursors>;
