import { type KeyRing, parseKeyRing } from '../../domain/crypto/key-ring.js';

/** As a setting (`GATE_PAYLOAD_KEYS`). Seals every history a test makes, the recorded ones included: fixed, so that they can be read again. */
export const TEST_PAYLOAD_KEYS_SETTING = `recorded:${'0123456789abcdef'.repeat(4)}`;

/** Opens the histories of tests, and nothing else: it protects no secret. */
export const TEST_PAYLOAD_KEYS: KeyRing = parseKeyRing(TEST_PAYLOAD_KEYS_SETTING);
