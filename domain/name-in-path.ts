/**
 * A name as one part of an address's path, and what of it has to stand in the query instead: whoever reads an address resolves `.` and `..` in
 * each spelling (`%2E%2E`), so of these the path has a dash.
 */
export const nameInPath = (name: string): { readonly part: string; readonly query: string | undefined } =>
  name === '.' || name === '..' ? { part: '-', query: name } : { part: escapedInPath(name), query: undefined };

/** A text as a part of an address. Half of a surrogate pair, for which UTF-8 has no bytes, is a replacement character there instead of an error. */
export const escapedInPath = (text: string): string => encodeURIComponent(text.toWellFormed());
