/** The demonstration tools, which the shipped data classes. */
export const DEMO_UPSTREAM = 'demo';
/** Where agents run their tools themselves and only ask Gate. */
export const OWN_TOOLS = 'own-tools';

/**
 * The name under which an upstream's tools are classed: the one it was given, else where it is. Another address is another upstream, so
 * that a class never passes to a server it was not meant for. Credentials and queries of an address are no part of it.
 */
export function upstreamName(given: {
  readonly name?: string | undefined;
  readonly url?: string | undefined;
  readonly command?: readonly string[] | undefined;
}): string {
  if (given.name) return given.name;
  if (given.command) return `stdio:${given.command.join(' ')}`;
  if (!given.url) return OWN_TOOLS;
  const { protocol, host, pathname } = new URL(given.url);
  return `${protocol}//${host}${pathname}`;
}
