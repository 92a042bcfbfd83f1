import { z } from 'zod';
import { keyFor, taggedTexts } from '../crypto/tagged-text.js';

/** Who showed a passkey, and which. */
const passkeySession = z.strictObject({
  tenant: z.string(),
  subject: z.string(),
  credential_id: z.string(),
  expires_ms: z.number().int(),
});
export type PasskeySession = z.infer<typeof passkeySession>;

export const SESSION_LIFE_MS = 28_800_000;
const LABEL = 'gate.hil.passkey-session/v1';

/** Sessions as texts under a MAC, whose key is derived from the session key: they survive a restart, and another session key ends them all. */
export function createPasskeySessions(sessionKey: Uint8Array) {
  const texts = taggedTexts(keyFor(LABEL, sessionKey));
  return {
    open(of: Omit<PasskeySession, 'expires_ms'>, now: number): string {
      const session: PasskeySession = { ...of, expires_ms: now + SESSION_LIFE_MS };
      return texts.made(Buffer.from(JSON.stringify(session)).toString('base64url'));
    },
    /** `null` for a text that was not made with this key, or whose time is over. */
    read(value: string, now: number): PasskeySession | null {
      const text = texts.read(value);
      if (text === null) return null;
      const session = passkeySession.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
      return session.expires_ms > now ? session : null;
    },
  };
}
