import ipaddr from 'ipaddr.js';

/** Whether a host from a URL or a setting is this machine: `localhost`, 127.0.0.0/8 or ::1. */
export const isLoopback = (host: string): boolean => {
  if (host === 'localhost') return true;
  const bare = host.replace(/^\[|\]$/g, '');
  return ipaddr.isValid(bare) && ipaddr.process(bare).range() === 'loopback';
};
