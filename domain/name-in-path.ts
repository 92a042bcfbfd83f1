/**
 * A name as one part of an address's path, and what of it has to stand in the query instead: whoever reads an address resolves `.` and `..` in
 * each spelling (`%2E%2E`), so of these the path has a dash.
 */
export const nameInPath = (name: string): { readonly part: string; readonly query: string | undefined } =>
  name === '.' || name === '..' ? { part: '-', query: name } : { part: encodeURIComponent(name), query: undefined };
