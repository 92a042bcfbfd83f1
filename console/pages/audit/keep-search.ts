import { isStorable } from '../../../contracts/storable.js';
import { GateError } from '../../../domain/errors.js';
import { addressOf } from '../../ui/addresses.js';
import { withTyped } from '../../ui/typed.js';
import type { Action, Form } from '../../visit.js';
import { asked } from './asked.js';
import { AUDIT } from './audit.js';
import { LONGEST_NAME } from './searches.js';

/** Keeps what the audit page was asked, for the same person on any device. */
export const SAVE_SEARCH: Action = {
  path: '/audit/searches',
  role: 'viewer',
  does: 'keep a search of the audit',
  written: { name: 'Name of the search' },
  async act({ services }, form) {
    assertKeepable(form);
    const query = asked(queryIn(form));
    await services.searches.save({ name: nameIn(form), query });
    return addressOf('/audit', query);
  },
  refused: async (visit, form) => withTyped(form, await AUDIT.show({ ...visit, query: queryIn(form) })),
};

export const FORGET_SEARCH: Action = {
  path: '/audit/searches/forget',
  role: 'viewer',
  does: 'forget a search that was kept',
  written: {},
  async act({ services }, form) {
    assertKeepable(form);
    // As it stands in an address: a page holds no character that nobody sees.
    await services.searches.forget(kept(new URLSearchParams(`name=${form.get('name')}`).get('name') ?? ''));
    return addressOf('/audit', asked(queryIn(form)));
  },
  refused: (visit, form) => AUDIT.show({ ...visit, query: queryIn(form) }),
};

function nameIn(form: Form): string {
  const name = form.get('name').trim();
  if (name === '' || name.length > LONGEST_NAME)
    throw new GateError('invalid_request', `a search is kept under a name of 1 to ${LONGEST_NAME} characters`);
  return kept(name);
}

function kept(name: string): string {
  if (!isStorable(name)) throw new GateError('invalid_request', 'the name holds a character that no store keeps');
  return name;
}

/** Characters of a search in an address, where most letters are written as several: a browser sends it, and a server reads it, with room to spare. */
const MOST_QUERY = 4_096;
const isTooLong = (query: string): boolean => new URLSearchParams(query).toString().length > MOST_QUERY;

/** What a form says comes back in the address of the next page, and in every page of whoever keeps it. */
function assertKeepable(form: Form): void {
  if (isTooLong(form.get('query')))
    throw new GateError('invalid_request', `what is looked for has more than ${MOST_QUERY} characters in an address`);
}

/** What the page said when the form was sent; nothing of what is too long to be an address. */
function queryIn(form: Form): Record<string, string> {
  const query = form.get('query');
  return isTooLong(query) ? {} : Object.fromEntries(new URLSearchParams(query));
}
