import { type KeyRing, parseKeyRing } from '../../domain/crypto/key-ring.js';

/** Seals the policies of tests; fixed, since several processes open one store. */
export const POLICY_KEYS: KeyRing = parseKeyRing(`test:${'89abcdef01234567'.repeat(4)}`);
