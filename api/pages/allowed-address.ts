import type { FastifyRequest } from 'fastify';
import { isLoopback } from '../../domain/outbound/loopback.js';

export interface AddressRules {
  /** Allowed names besides loopback, without a port. */
  readonly allowedHosts: readonly string[];
  /** The listener is reachable from this machine only. */
  readonly loopback: boolean;
  /** Pages from which a browser may ask, besides those of the `Host`: a proxy in front may call Gate by another name. */
  readonly origins?: readonly string[];
}

/**
 * Protects against DNS rebinding, where a web page's name is made to resolve to this machine. The `Host` must be a name that Gate is known
 * by, and a browser's request must come from a page of Gate's own. A listener for others that lists no names accepts any `Host`; its tokens
 * protect it.
 */
export function isAllowedAddress(
  { headers: { host, origin } }: Pick<FastifyRequest, 'headers'>,
  { allowedHosts, loopback, origins = [] }: AddressRules,
): boolean {
  const known = (name: string) => isLoopback(name) || allowedHosts.includes(name);
  const checksHost = loopback || allowedHosts.length > 0;
  if (checksHost && !known(nameOf(host ?? ''))) return false;
  if (origin === undefined || origins.includes(origin)) return true;
  if (!URL.canParse(origin)) return false;
  const { host: from } = new URL(origin);
  return checksHost ? known(nameOf(from)) && from === host : from === host;
}

/** Without the port; an IPv6 literal keeps its brackets. Undefined for anything that is not a name with an optional port. */
const nameOf = (host: string): string => (/^(\[[^\]]*\]|[^:]*)(?::\d{1,5})?$/.exec(host)?.[1] ?? '').toLowerCase();
