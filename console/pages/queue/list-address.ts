import { listedStatus, riskTier } from '../../../contracts/review.js';
import { GateError } from '../../../domain/errors.js';
import { isUuid } from '../../../domain/uuid.js';
import type { QueueQuery } from '../../services.js';
import { caseAddress } from '../../ui/addresses.js';
import type { Form, Visit } from '../../visit.js';

/** The call that the address names. Throws `not_found` for what is no id. */
export function callIdOf({ params: { id = '' } }: Pick<Visit, 'params'>): string {
  if (!isUuid(id)) throw new GateError('not_found', 'There is no such call.');
  return id;
}

/** Rows of one page of the list. */
export const ROWS = 100;
export const STATUSES = listedStatus.options;

/** What the list is asked for, from the address. What the address has wrong is left out. */
export function queueQuery({ query }: Pick<Visit, 'query'>): QueueQuery {
  const status = STATUSES.find((one) => one === query['status']) ?? 'pending';
  const risk = riskTier.safeParse(query['risk']).data;
  return {
    status,
    // What expires first is what somebody has to look at first.
    sort: status === 'pending' ? 'oldest' : 'newest',
    limit: ROWS,
    ...(query['cursor'] && { cursor: query['cursor'] }),
    ...(query['q'] && { q: query['q'].slice(0, 256) }),
    ...(risk && { riskTier: risk }),
  };
}

/** The same list at another place: the address of a row, a page or a filter. */
export function listAddress(path: string, query: QueueQuery, more: Readonly<Record<string, string>> = {}): string {
  const text = new URLSearchParams({ ...fieldsOf(query), ...more }).toString();
  return text === '' ? path : `${path}?${text}`;
}

const fieldsOf = ({ status, q, riskTier: risk, cursor }: QueueQuery): Record<string, string> => ({
  ...(status !== 'pending' && { status }),
  ...(q && { q }),
  ...(risk && { risk }),
  ...(cursor && { cursor }),
});

/** The list as a field of a form, with its page: a row beyond the first page has its neighbours there alone. */
export const listField = (query: QueueQuery): string => new URLSearchParams(fieldsOf(query)).toString();

/** The decision link by which somebody came to a call; `''` for none. Nobody has looked yet whether it holds. */
export const linkIn = ({ query }: Pick<Visit, 'query'>): string => query['link'] ?? '';

/** The visit of a form, with the list and the decision link as they were on the page of the form. */
export const inList = <Of extends Pick<Visit, 'query'>>(visit: Of, form: Form): Of => ({
  ...visit,
  query: { ...Object.fromEntries(new URLSearchParams(form.get('list'))), link: form.get('link') },
});

/** Where calls were ticked: on the page of a case, or in the list with its filter and page. */
export interface TickedOn {
  readonly caseId: string | null;
  readonly query: QueueQuery;
}

export function tickedOn(visit: Pick<Visit, 'query'>, form: Form): TickedOn {
  const id = form.get('case');
  return { caseId: isUuid(id) ? id : null, query: queueQuery(inList(visit, form)) };
}

/** The page on which they were ticked, to go back to. */
export const backAddress = ({ caseId, query }: TickedOn): string =>
  caseId === null ? listAddress('/hil', query) : caseAddress(caseId);

/** The page that a form stood on, where its address says the path alone: with the list, or the case, that the form carries. */
export function addressBeforeForm(path: string, form: Form): string {
  const on = tickedOn({ query: {} }, form);
  if (path === '/hil') return backAddress(on);
  return path.startsWith('/hil/') ? listAddress(path, on.query) : path;
}
