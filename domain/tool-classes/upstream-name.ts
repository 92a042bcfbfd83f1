/** The demonstration tools, which the shipped data classes. */
export const DEMO_UPSTREAM = 'demo';
/** For several upstreams together; their prefixes tell their tools apart. */
export const SEVERAL_UPSTREAMS = 'upstreams';
/** For agents that run their tools themselves and only ask Gate. */
export const OWN_TOOLS = 'own-tools';

/**
 * The name under which an upstream's tools are classed: its given name, otherwise its address or command. Another address is another
 * upstream, so that a class never applies to a server it was not meant for. Credentials and queries of an address are left out.
 */
export function upstreamName(given: {
  /** There are several, each with a prefix that the operator chose: it names the tools, wherever they are. */
  readonly several?: boolean;
  readonly name?: string | undefined;
  readonly url?: string | undefined;
  readonly command?: readonly string[] | undefined;
}): string {
  if (given.name) return given.name;
  if (given.several) return SEVERAL_UPSTREAMS;
  if (given.command) return `stdio:${given.command.join(' ')}`;
  if (!given.url) return OWN_TOOLS;
  const { protocol, host, pathname } = new URL(given.url);
  return `${protocol}//${host}${pathname}`;
}
