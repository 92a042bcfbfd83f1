/** What parameters of a page's path stand for; every name that is not here stands for `id`. */
export interface PageNames {
  readonly id: string;
  readonly cid?: string;
  readonly agent?: string;
  readonly name?: string;
  readonly version?: string;
}

/** What a page needs in its address beside its path. */
const QUERIES: Readonly<Record<string, (names: PageNames) => string>> = {
  '/audit/correlation': ({ cid, id }) => `id=${cid ?? id}`,
  '/decide/redeem': () => 'token=x',
  '/policies/:name/diff': () => 'from=1&to=2',
};

/** An address of a page or a form, by its path in the table of routes. A page whose path says all that it needs is in no list here. */
export function pageAddress(path: string, names: PageNames): string {
  const { id, cid = id, agent = id, name = 'a.rego', version = '1' } = names;
  const known: Readonly<Record<string, string>> = { id, cid, agent, name, version };
  const address = path.replaceAll(/:(\w+)/g, (_, of: string) => known[of] ?? id);
  const query = QUERIES[path]?.(names);
  return query === undefined ? address : `${address}?${query}`;
}
