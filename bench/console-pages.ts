import type { Page } from '../console/visit.js';

/** What the services of the benchmark hold, by the names that addresses have for it. */
export interface HeldThere {
  /** A call that waits, and one that was decided. */
  readonly review: string;
  readonly decided: string;
  /** A decision link of the first. */
  readonly link: string;
  readonly call: string;
  readonly agent: string;
  readonly case: string;
  readonly policy: string;
  /** A policy of data, which has two versions. */
  readonly document: string;
  readonly template: string;
  /** The page of the queue behind all others. */
  readonly lastOfQueue: string;
  /** Rows of the ledger. */
  readonly rows: number;
}

/** A page at one of its addresses. `what` tells that address from the others of the page. */
export interface AskedPage {
  readonly page: string;
  readonly what: string;
  readonly address: string;
}
/** A page of which nobody knows an address here. */
export interface NotAsked {
  readonly page: string;
  readonly why: string;
}

/** What stands in the place of a parameter, by the part of the path before it: `hil/:id`. */
const NAMED: Readonly<Record<string, keyof HeldThere | { readonly as: string }>> = {
  'hil/:id': 'review',
  'correlation/:cid': 'call',
  'agents/:agent': 'agent',
  'cases/:id': 'case',
  'policies/:name': 'policy',
  'templates/:name': 'template',
  'versions/:version': { as: '1' },
};

type Elsewhere = Readonly<Record<string, readonly (readonly [what: string, address: (held: HeldThere) => string])[]>>;
/** Pages whose path alone asks for nothing, or for something else than what is there. */
const IN_PLACE: Elsewhere = {
  '/hil/:id/note': [['', ({ decided }) => `/hil/${decided}/note`]],
  '/audit/correlation': [['', ({ call }) => `/audit/correlation?id=${call}`]],
  '/decide/redeem': [['', ({ link }) => `/decide/redeem?token=${link}`]],
  '/policies/:name/diff': [['', ({ document }) => `/policies/${document}/diff?from=1&to=2`]],
  // To count walks the whole chain, once at a time for a tenant: many who ask at once would measure who is told to wait.
  '/compliance': [['its form, nothing counted', () => '/compliance']],
};
/** What costs more than the page as somebody comes to it first. */
const ALSO: Elsewhere = {
  '/hil': [
    ['its last page', ({ lastOfQueue }) => lastOfQueue],
    ['a search', ({ agent }) => `/hil?q=${agent}`],
    ['a search for what no call has', () => '/hil?q=nothing+has+this'],
    ['what was denied', () => '/hil?status=denied'],
    [
      'the part that the list loads',
      ({ lastOfQueue }) => `${lastOfQueue}${lastOfQueue.includes('?') ? '&' : '?'}part=rows`,
    ],
  ],
  '/hil/:id': [['the part that opens beside the list', ({ review }) => `/hil/${review}?part=detail`]],
  '/audit': [
    ['behind half of the rows', ({ rows }) => `/audit?before=${Math.floor(rows / 2)}`],
    ['an agent in 7 days', ({ agent }) => `/audit?agent=${agent}&window=7d`],
    ['denied of every agent', () => '/audit?verdict=deny'],
    ['a tool that nobody used', () => '/audit?tool=nothing'],
  ],
  '/audit/hunt': [['30 days', () => '/audit/hunt?window=30d']],
  '/audit/agents/:agent/narrative': [['a day', ({ agent }) => `/audit/agents/${agent}/narrative?window=1d`]],
  '/agents': [['all, 30 days', () => '/agents?show=all&window=30d']],
  '/agents/:agent': [['30 days', ({ agent }) => `/agents/${agent}?window=30d`]],
};
/** The paths that are written here by hand, each of which must be a page of the console. */
export const BY_HAND: readonly string[] = [...Object.keys(IN_PLACE), ...Object.keys(ALSO)];

/** What somebody comes to first on each page that is asked. */
export function firstOfEach(asked: readonly (AskedPage | NotAsked)[]): readonly AskedPage[] {
  const first = new Map<string, AskedPage>();
  for (const one of asked) if ('address' in one && !first.has(one.page)) first.set(one.page, one);
  return [...first.values()];
}

/** Every page of the console with what to ask it for: a page that somebody adds is asked, or told as not asked. */
export function askedPages(pages: readonly Page[], held: HeldThere): readonly (AskedPage | NotAsked)[] {
  return pages.flatMap(({ path: page }): readonly (AskedPage | NotAsked)[] => {
    const at = (places: Elsewhere[string]) => places.map(([what, address]) => ({ page, what, address: address(held) }));
    const also = at(ALSO[page] ?? []);
    if (IN_PLACE[page]) return [...at(IN_PLACE[page]), ...also];
    const found = addressIn(page, held);
    return 'unknown' in found
      ? [{ page, why: `nothing here is known by ${found.unknown}` }, ...also]
      : [{ page, what: '', address: found.address }, ...also];
  });
}

function addressIn(path: string, held: HeldThere): { readonly address: string } | { readonly unknown: string } {
  const parts = path.split('/');
  const filled: string[] = [];
  for (const [at, part] of parts.entries()) {
    const named = `${parts[at - 1]}/${part}`;
    const known = NAMED[named];
    if (part.startsWith(':') && known === undefined) return { unknown: named };
    filled.push(
      known === undefined ? part : encodeURIComponent(typeof known === 'string' ? String(held[known]) : known.as),
    );
  }
  return { address: filled.join('/') };
}
