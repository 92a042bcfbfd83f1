import { createHmac, timingSafeEqual } from 'node:crypto';

export interface TaggedTextForm {
  /** What is authenticated before the text itself; nothing where the key is for these texts alone. */
  readonly prefix?: string;
  /** How much of the tag is kept, from 16 to 32 bytes. */
  readonly bytes?: number;
  readonly spelled?: 'base64url' | 'hex';
}

export interface TaggedTexts {
  /** `{text}.{tag}`. The same text is the same tagged text. Throws RangeError for a text with half a character: its bytes are those of others. */
  made(text: string): string;
  /** The text of what was made with this key, in the one spelling in which it is made; `null` for anything else. */
  read(tagged: string): string | null;
}

/** The key for texts of one kind. Another key that it is derived from, or another label, voids them all. */
export const keyFor = (label: string, from: Uint8Array): Buffer => createHmac('sha256', from).update(label).digest();

/**
 * Texts under a MAC (HMAC-SHA-256, RFC 2104), for somebody to keep who cannot change them. Whoever reads one keeps nothing: it survives a restart.
 * The tag is compared in constant time, and as it is written: another spelling of the same bytes is another text.
 */
export function taggedTexts(
  key: Uint8Array,
  { prefix = '', bytes = 32, spelled = 'base64url' }: TaggedTextForm = {},
): TaggedTexts {
  const tagOf = (text: string): string =>
    createHmac('sha256', key)
      .update(prefix + text)
      .digest()
      .subarray(0, bytes)
      .toString(spelled);
  return {
    made(text) {
      if (!text.isWellFormed()) throw new RangeError('a text under a tag has half a character');
      return `${text}.${tagOf(text)}`;
    },
    read(tagged) {
      const dot = tagged.lastIndexOf('.');
      if (dot === -1) return null;
      const text = tagged.slice(0, dot);
      // In UTF-8 each half of a character is U+FFFD.
      if (!text.isWellFormed()) return null;
      const [offered, right] = [Buffer.from(tagged.slice(dot + 1)), Buffer.from(tagOf(text))];
      return offered.length === right.length && timingSafeEqual(offered, right) ? text : null;
    },
  };
}
