import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';

/** Every request of lite asks for the same few names. */
const known = new LRUCache<string, boolean>({
  max: 64,
  maxSize: 16_384,
  sizeCalculation: (_is, host) => host.length + 1,
});

/** Whether a host from a URL or a setting is this machine: `localhost`, 127.0.0.0/8 or ::1. */
export const isLoopback = (host: string): boolean => {
  if (host === 'localhost') return true;
  const before = known.get(host);
  if (before !== undefined) return before;
  const bare = host.replace(/^\[|\]$/g, '');
  const is = ipaddr.isValid(bare) && ipaddr.process(bare).range() === 'loopback';
  known.set(host, is);
  return is;
};
