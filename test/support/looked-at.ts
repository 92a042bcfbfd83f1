import { PAGES } from '../../console/routes.js';

/*
 * The addresses at which pages of the console are looked at by axe, in both themes, and at the narrowest and the widest window. A page of somebody
 * or something is in one of the lists: the one whose services give it most to show. So is any other page that needs more than its path to show
 * much; where it is in none, it is looked at with those of the queue.
 */

const pathOf = (address: string): string => address.split('?', 1)[0] ?? '';

/** Pages of the queue and what leads from it: of a call that waits and one that was decided. */
export const ofQueue = (
  row: { readonly id: string; readonly correlation_id: string },
  decided: { readonly id: string },
): readonly string[] => {
  const listed = queueOf(row, decided);
  const elsewhere = new Set([...listed, ...ofPolicies(''), ...ofLedger('', '')].map(pathOf));
  return [...listed, ...PAGES.map(({ path }) => path).filter((path) => !path.includes(':') && !elsewhere.has(path))];
};
const queueOf = (row: { readonly id: string; readonly correlation_id: string }, decided: { readonly id: string }) => [
  '/',
  `/hil/${row.id}`,
  `/hil/${row.id}/modify`,
  `/hil/${decided.id}`,
  `/hil/${decided.id}/note`,
  '/hil?status=denied',
  '/decide/redeem?token=x',
  '/audit',
  '/audit?tool=wire_transfer',
  `/audit/correlation/${row.correlation_id}`,
  '/health-of-services',
  '/tenants',
  '/me',
  '/device',
  '/agents/axe',
  '/agents/stopped-axe',
  '/grants',
  '/measurements',
  '/stops',
  '/decoys',
  '/upstreams',
  '/audit/agents/axe/narrative',
];

/** Pages of policies, of which one has two versions. */
export const ofPolicies = (name: string) => [
  '/policies',
  '/policies/new',
  '/policies/suggestions',
  '/policies/templates',
  '/policies/templates/money_moves.rego',
  `/policies/${name}`,
  `/policies/${name}/edit`,
  `/policies/${name}/lab`,
  `/policies/${name}/versions/2`,
  `/policies/${name}/diff?from=1&to=2`,
];

/** Pages over the ledger, with a case there. */
export const ofLedger = (caseAt: string, call: string) => [
  caseAt,
  '/cases',
  '/audit?agent=pay-bot',
  '/audit/hunt?window=24h',
  `/audit/correlation/${call}?judged=again`,
  `/audit/correlation?id=${call}`,
  '/exports',
  '/agents',
  '/agents/pay-bot',
  '/compliance?from=2020-01-01&to=2100-01-01',
  '/settings',
  '/brain',
];
