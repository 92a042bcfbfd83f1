import { type KeyRing, keyRing } from '../../domain/crypto/key-ring.js';

/** The key that seals every history a test makes, recorded ones included: fixed, so that they can be read again. For tests only. */
export const TEST_PAYLOAD_KEYS: KeyRing = keyRing(
  new Map([['test', Buffer.alloc(32, 'gate recorded history test key')]]),
);
