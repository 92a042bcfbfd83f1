import { createHash } from 'node:crypto';
import { type Chat, chat as chatNamed, linkedUserId } from '../../contracts/chat-link.js';
import { keyFor, taggedTexts } from '../crypto/tagged-text.js';

/** How long a code may be entered. A code that was used is remembered as long as a click, which is as long. */
export const LINK_CODE_LIFE_MS = 600_000;

const LABEL = 'gate.hil.link-code/v1';
const CODE = /^([a-z]{1,16})\.([A-Za-z0-9_-]{1,171})\.(\d{1,12})\.[A-Za-z0-9_-]{22}$/;

/** What a code proves: whoever has it has just clicked from this account. `digest` names the code among those that were used. */
export interface ProvedAccount {
  readonly chat: Chat;
  readonly userId: string;
  readonly digest: string;
}

/**
 * Codes that a chat shows to the account alone that clicked (docs/architecture/notifications.md#clicks). The key is derived from the session key,
 * so another session key voids every code.
 */
export function createLinkCodes({
  sessionKey,
  clock,
}: {
  readonly sessionKey: Uint8Array;
  readonly clock: () => number;
}) {
  const texts = taggedTexts(keyFor(LABEL, sessionKey), { bytes: 16 });
  return {
    codeOf(chat: Chat, userId: string): string {
      const until = Math.floor((clock() + LINK_CODE_LIFE_MS) / 1_000);
      return texts.made(`${chat}.${Buffer.from(userId).toString('base64url')}.${until}`);
    },
    /** `null` for a text that is no code of this Gate, or an old one. */
    read(code: string): ProvedAccount | null {
      const parts = CODE.exec(code.trim());
      if (!parts) return null;
      const [whole, word, user = '', until] = parts;
      if (texts.read(whole) === null) return null;
      const leftMs = Number(until) * 1_000 - clock();
      // One that holds for longer was given by a clock that was ahead: that it was used would be forgotten before its end.
      if (leftMs <= 0 || leftMs > LINK_CODE_LIFE_MS) return null;
      const userId = linkedUserId.safeParse(Buffer.from(user, 'base64url').toString('utf8'));
      const chat = chatNamed.safeParse(word);
      if (!userId.success || !chat.success) return null;
      const digest = createHash('sha256').update(`${LABEL} ${whole}`).digest('hex');
      return { chat: chat.data, userId: userId.data, digest };
    },
  };
}
export type LinkCodes = ReturnType<typeof createLinkCodes>;
