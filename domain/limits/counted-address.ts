import ipaddr from 'ipaddr.js';

/** Of an IPv6 address, what whoever has one can choose freely begins here. */
const SUBSCRIBER_BITS = 64;

/** In the spelling that proxies write, where 7 is no IPv4 address. */
const isAddress = (text: string): boolean => ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text);

/** An address without the port and the brackets that some proxies write into `X-Forwarded-For`; IPv4 within IPv6 as IPv4. */
export function bareAddress(text: string): string {
  const bare = /^\[([^[\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text;
  return isAddress(bare) ? ipaddr.process(bare).toString() : text;
}

/** This machine, which has 16 million addresses of IPv4 and one of IPv6, and any program on it may ask from each. */
const LOOPBACK = '127.0.0.0/8';

/**
 * What limits count an address as: an IPv4 address by itself, IPv6 by its /64, this machine's own as one. Text that is no address is counted as
 * it stands.
 */
export function countedAddress(text: string): string {
  const bare = bareAddress(text);
  if (isAddress(bare) && ipaddr.parse(bare).range() === 'loopback') return LOOPBACK;
  if (!ipaddr.IPv6.isValid(bare)) return bare;
  const whole = ipaddr.IPv6.parse(bare).toByteArray();
  const kept = whole.map((byte, at) => (at < SUBSCRIBER_BITS / 8 ? byte : 0));
  return `${ipaddr.fromByteArray(kept).toString()}/${SUBSCRIBER_BITS}`;
}

/** Whether an address, with a port or without, is one of these or in one of these ranges. */
export function isAmong(listed: readonly string[]): (text: string) => boolean {
  const ranges = listed.map((one) => rangeOf(one));
  return (text) => {
    const bare = bareAddress(text);
    if (!isAddress(bare)) return false;
    const address = ipaddr.process(bare);
    return ranges.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits));
  };
}

/** Throws on text that is no address and no range. A range of IPv4 within IPv6 is one of IPv4. */
function rangeOf(listed: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  const [base, bits] = ipaddr.parseCIDR(listed.includes('/') ? listed : `${listed}/${listed.includes(':') ? 128 : 32}`);
  return base instanceof ipaddr.IPv6 && base.isIPv4MappedAddress() && bits >= 96
    ? [base.toIPv4Address(), bits - 96]
    : [base, bits];
}
