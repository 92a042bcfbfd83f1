import ipaddr from 'ipaddr.js';

/** A host from a URL or a connector without brackets and trailing dot, in lower case. */
export const bareHost = (host: string): string =>
  (host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host).replace(/\.$/, '').toLowerCase();

/**
 * The canonical address that the operating system takes a host text for; null for a name. Accepts everything that `getaddrinfo` reads as a
 * number: dotted, decimal, hexadecimal and octal IPv4, and IPv6 with or without a zone.
 */
export function literalAddress(host: string): string | null {
  const bare = bareHost(host);
  if (!ipaddr.isValid(bare)) return null;
  return ipaddr.process(bare).toString();
}

/**
 * Whether an address belongs to the public Internet. IPv4 within IPv6 is judged as IPv4. Addresses that tunnel to another one (6to4,
 * Teredo, NAT64) are not public, because the tunnel decides who answers (docs/architecture/outbound.md#public-addresses). Text that is not an
 * address is not public.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  if (parsed.range() !== 'unicast') return false;
  // Nothing is assigned outside 2000::/3, but the range table calls those addresses unicast.
  return parsed.kind() === 'ipv4' || ((parsed.toByteArray()[0] as number) & 0xe0) === 0x20;
}

/**
 * The lowest address, IPv4 before IPv6, then by bytes: the same set of answers always gives the same choice. Throws on text that is not an
 * address.
 */
export function lowestAddress(addresses: readonly string[]): string {
  const sorted = addresses
    .map((address) => ipaddr.process(address))
    .sort((a, b) => a.toByteArray().length - b.toByteArray().length || Buffer.compare(bytes(a), bytes(b)));
  const [first] = sorted;
  if (first === undefined) throw new RangeError('no address to choose from');
  return first.toString();
}

const bytes = (address: ipaddr.IPv4 | ipaddr.IPv6): Uint8Array => Uint8Array.from(address.toByteArray());
