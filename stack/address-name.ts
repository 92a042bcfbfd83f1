/** The name by which a listener's host is called and printed: wildcard addresses are reached as localhost. */
export const addressName = (host: string): string =>
  host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
