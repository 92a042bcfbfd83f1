import type { FastifyRequest } from 'fastify';
import { addressBeforeForm } from '../../console/pages/queue/list-address.js';
import type { Action, Page } from '../../console/visit.js';
import type { OwnRequests } from './own-requests.js';
import { formOf } from './form.js';
import { ownPath } from './sign-in/own-path.js';

/** Where somebody signs in who wanted this page. */
export const signInFor = (wanted: string): string =>
  wanted !== '/' ? `/login?${new URLSearchParams({ return_to: wanted }).toString()}` : '/login';

/**
 * Where somebody signs in whose session ended on a page of this console, to come back to it. What a refused form left in the address bar is
 * the path of the form: of it the page above is meant, with the list that the form carries.
 */
export function signInAgain({
  own,
  pages,
  actions,
}: {
  readonly own: () => Pick<OwnRequests, 'cameFrom'>;
  readonly pages: readonly Pick<Page, 'path'>[];
  readonly actions: readonly Pick<Action, 'path'>[];
}): (request: FastifyRequest) => string {
  const patterns = pages.map(({ path }) => path.split('/'));
  const formsAlone = new Set<string>(
    actions.map(({ path }) => path).filter((path) => !pages.some((page) => page.path === path)),
  );
  const isPage = (path: string): boolean => !formsAlone.has(path) && patterns.some((pattern) => fits(path, pattern));
  return (request) => {
    const from = ownPath(own().cameFrom(request));
    const [path = '/'] = from.split('?');
    if (isPage(path)) return signInFor(from);
    const parts = path.split('/');
    while (parts.length > 1 && !isPage(parts.join('/'))) parts.pop();
    return signInFor(addressBeforeForm(parts.join('/') || '/', formOf(request.body)));
  };
}

const fits = (path: string, pattern: readonly string[]): boolean => {
  const parts = path.split('/');
  return (
    parts.length === pattern.length &&
    pattern.every((part, at) => part === parts[at] || (part.startsWith(':') && parts[at] !== ''))
  );
};
