import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { errorText } from '../../domain/errors.js';
import type { KeyUse } from '../../contracts/identity.js';

const FORM = 'gate.sealed-key/1';

/** Whether a text says that it is a sealed key, of this form or another. */
export const isSealedKey = (text: string): boolean => text.startsWith('gate.sealed-key/');

/** A private key (PEM) as it is kept: one line, encrypted under the active key of the ring. What it is for is sealed with it: the one cannot be put in the place of the other. */
export const sealKey = (keys: KeyRing, use: KeyUse, pem: string): string =>
  `${FORM} ${keys.seal(pem, contextOf(use)).toString('base64')}\n`;

/** The PEM of a sealed key. Throws for a key in clear text, one that was changed, of another use, or under a key that the ring lacks. */
export function openKey(keys: KeyRing, use: KeyUse, text: string): string {
  const [form, body = '', ...more] = text.trim().split(' ');
  if (form !== FORM || more.length > 0) throw new Error(`is no sealed key (${FORM}); a key in clear text is not read`);
  try {
    return keys.open(Buffer.from(body, 'base64'), contextOf(use)).toString('utf8');
  } catch (error) {
    throw new Error(`cannot be opened with these keys: ${errorText(error)}`, { cause: error });
  }
}

const contextOf = (use: KeyUse): string => `${FORM}/${use}`;
