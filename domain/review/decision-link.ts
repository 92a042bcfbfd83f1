import { type LinkedAction, linkedAction } from '../../contracts/decision-link.js';
import { keyFor, taggedTexts } from '../crypto/tagged-text.js';

export interface DecisionLink {
  readonly pending_id: string;
  readonly action: LinkedAction;
  /** Epoch seconds. */
  readonly exp: number;
}

/** How long a link may be asked to hold, in seconds. */
export const LINK_LIFE_SECONDS = { least: 60, most: 86_400 } as const;

const LABEL = 'gate.hil.decision-link/v1';
const TOKEN =
  /^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.([a-z]{1,16})\.(\d{1,12})\.[0-9a-f]{64}$/;

export interface DecisionLinks {
  /** `{pending_id}.{action}.{exp}.{sig}`. The same link is the same token. */
  tokenOf(link: DecisionLink): string;
  /** The link of a token that was made with this key, expired or not; `null` for every other text. */
  linkOf(token: string): DecisionLink | null;
}

/**
 * Links to a decision (docs/architecture/reviews.md#decision-links). A token names a row and an action and says that Gate made it. It is no
 * credential: whoever follows it must still be allowed to decide. The key is derived from the session key (HMAC-SHA-256, RFC 2104), so
 * another session key voids every link.
 */
export function createDecisionLinks(sessionKey: Uint8Array): DecisionLinks {
  const texts = taggedTexts(keyFor(LABEL, sessionKey), { spelled: 'hex' });
  return {
    tokenOf: ({ pending_id, action, exp }) => texts.made(`${pending_id}.${action}.${exp}`),
    linkOf(token) {
      const parts = TOKEN.exec(token);
      if (!parts) return null;
      const [, pending_id = '', word, exp] = parts;
      const action = linkedAction.safeParse(word);
      // Compared as it was written: 007 is another text than 7.
      if (!action.success || texts.read(token) === null) return null;
      return { pending_id, action: action.data, exp: Number(exp) };
    },
  };
}

/** Where a person opens a link at the console. */
export const redeemUrl = (consoleUrl: string, token: string): string =>
  `${consoleUrl.replace(/\/$/, '')}/decide/redeem?token=${encodeURIComponent(token)}`;
