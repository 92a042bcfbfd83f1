/** The longest page that is opened after signing in. */
const LONGEST_RETURN = 2_000;

/** A path of this console; anything else is its first page. A browser would read `//` and `/\` as another host. */
export function ownPath(wanted: unknown): string {
  if (typeof wanted !== 'string' || wanted.length > LONGEST_RETURN || !/^\/(?![/\\])[\x21-\x7e]*$/.test(wanted))
    return '/';
  return wanted.includes('\\') ? '/' : wanted;
}
