import ipaddr from 'ipaddr.js';

/** Host text as a URL or a connector gives it, without brackets and trailing dot, in lower case. */
export const bareHost = (host: string): string =>
  (host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host).replace(/\.$/, '').toLowerCase();

/**
 * The address a host text means to the operating system, canonical; null for a name. Reads what `getaddrinfo` reads as a number:
 * dotted, decimal, hexadecimal and octal IPv4, IPv6 with and without a zone.
 */
export function literalAddress(host: string): string | null {
  const bare = bareHost(host);
  if (!ipaddr.isValid(bare)) return null;
  return ipaddr.process(bare).toString();
}

/**
 * Whether an address belongs to the public Internet. IPv4 within IPv6 is judged as IPv4; addresses that are tunnelled to another one
 * (6to4, Teredo, NAT64) are not public, because who answers is decided elsewhere (docs/architecture/egress.md#public-addresses). Text
 * that is no address is not public.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  if (parsed.range() !== 'unicast') return false;
  // Outside 2000::/3 nothing is assigned, and the range table calls it unicast.
  return parsed.kind() === 'ipv4' || ((parsed.toByteArray()[0] as number) & 0xe0) === 0x20;
}

/** IPv4 first, then by bytes: the same answer set always gives the same choice. Not every text is an address: those throw. */
export function lowestAddress(addresses: readonly string[]): string {
  const sorted = addresses
    .map((address) => ipaddr.process(address))
    .sort((a, b) => a.toByteArray().length - b.toByteArray().length || Buffer.compare(bytes(a), bytes(b)));
  const [first] = sorted;
  if (first === undefined) throw new RangeError('no address to choose from');
  return first.toString();
}

const bytes = (address: ipaddr.IPv4 | ipaddr.IPv6): Uint8Array => Uint8Array.from(address.toByteArray());
