import { GateError } from '../../domain/errors.js';

/**
 * The address of a path at a neighbour. Throws `not_found` where a URL would lead elsewhere: `.` and `..` are parts of a path that
 * `encodeURIComponent` leaves as they are, and that a URL resolves.
 */
export function addressAt(url: string, path: string): string {
  const [written = ''] = path.split('?', 1);
  const address = new URL(path, url);
  if (address.origin !== new URL(url).origin || address.pathname !== written)
    throw new GateError('not_found', 'There is nothing of that name.');
  return address.href;
}
