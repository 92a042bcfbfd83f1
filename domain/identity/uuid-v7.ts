import { randomBytes, randomInt } from 'node:crypto';

/** A counter of 12 bits begins in its lower half, so that 2,048 ids at least follow in one millisecond. */
const COUNTED = 1 << 12;
let lastMs = -1;
let counter = 0;

/**
 * A version 7 UUID (RFC 9562 5.7): 48 bits of Unix milliseconds, a counter (6.2, method 1), then random bits. Of two that one process makes for one
 * time, or for a later one, the later sorts later.
 */
export function uuidV7(nowMs: number = Date.now()): string {
  counter = nowMs === lastMs ? counter + 1 : randomInt(COUNTED / 2);
  lastMs = nowMs;
  // More in one millisecond than can be counted: the order of those is lost, and nothing else.
  const counted = counter % COUNTED;
  const bytes = randomBytes(16);
  bytes.writeUIntBE(nowMs, 0, 6);
  bytes.writeUInt16BE(0x7000 | counted, 6);
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Sorts before every one that was made at that time or later. */
export function firstUuidV7(atMs: number): string {
  const hex = Math.max(0, Math.floor(atMs)).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}
