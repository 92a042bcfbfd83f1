import { createPrivateKey } from 'node:crypto';
import { type HeldKey, keyInMemory } from '../../domain/identity/held-key.js';

/** The private key of a CA: in PEM, or where it is kept. */
export type CaKey = string | HeldKey;
export const heldKeyOf = (key: CaKey): HeldKey => (typeof key === 'string' ? keyInMemory(createPrivateKey(key)) : key);
