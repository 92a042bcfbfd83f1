import { passesForAnother, prefixedName, prefixedUri, uriPassesForAnother } from './prefixed-names.js';
import { MAX_URI as LONGEST_URI, MAX_NAME as LONGEST_NAME } from './read-methods.js';
import { itemsOf, membersOf, objectText } from './reply.js';

interface ListShape {
  readonly items: string;
  readonly named: string;
  readonly rename: (prefix: string, own: string) => string;
  readonly passes: (own: string, looksOfOthers: ReadonlySet<string>) => boolean;
  readonly longest: number;
}

const NAMES = { named: 'name', rename: prefixedName, passes: passesForAnother, longest: LONGEST_NAME } as const;
const ADDRESSES = { rename: prefixedUri, passes: uriPassesForAnother, longest: LONGEST_URI } as const;

/** The lists that several upstreams have together: where their items are, and which member of an item is its name. */
const LISTS: ReadonlyMap<string, ListShape> = new Map([
  ['tools/list', { items: 'tools', ...NAMES }],
  ['prompts/list', { items: 'prompts', ...NAMES }],
  ['resources/list', { items: 'resources', named: 'uri', ...ADDRESSES }],
  ['resources/templates/list', { items: 'resourceTemplates', named: 'uriTemplate', ...ADDRESSES }],
]);

/** The member of a list's result that holds its items. */
export const itemsMember = (method: string): string => LISTS.get(method)?.items ?? 'items';

/** One upstream's page of a list, under the names that agents know. */
export interface RenamedPage {
  readonly items: readonly string[];
  readonly nextCursor: string | null;
  /** Items that nobody could call, or whose name passes for one of another upstream. */
  readonly leftOut: number;
}

const textOf = (json: string | undefined): string | null =>
  json?.startsWith('"') === true ? (JSON.parse(json) as string) : null;

/** `null` where the result is no page of this list. Everything but the names stays as the upstream wrote it. */
export function renamedPage(
  method: string,
  result: string,
  prefix: string,
  looksOfOthers: ReadonlySet<string>,
): RenamedPage | null {
  const shape = LISTS.get(method);
  const members = membersOf(result);
  const items = itemsOf(members?.get(shape?.items ?? '') ?? '');
  if (!shape || !members || !items) return null;
  const kept: string[] = [];
  let leftOut = 0;
  for (const item of items) {
    const said = membersOf(item);
    const own = textOf(said?.get(shape.named));
    const name = own === null ? null : shape.rename(prefix, own);
    const fits = name !== null && own !== '' && name.length <= shape.longest;
    if (!said || own === null || !fits || shape.passes(own, looksOfOthers)) leftOut += 1;
    else kept.push(objectText(new Map(said).set(shape.named, JSON.stringify(name))));
  }
  return { items: kept, nextCursor: textOf(members.get('nextCursor')), leftOut };
}

/** The result of a call with the addresses of resources as agents may read them; the same text where it names none. */
export function renamedResult(method: string, result: string, prefix: string): string {
  if (!result.includes('"uri"') && !result.includes('\\u')) return result;
  if (method === 'resources/read')
    return edited(result, 'contents', (list) => eachOf(list, (one) => uriIn(one, prefix)));
  if (method === 'prompts/get')
    return edited(result, 'messages', (list) =>
      eachOf(list, (message) => edited(message, 'content', (content) => contentIn(content, prefix))),
    );
  return edited(result, 'content', (list) => eachOf(list, (one) => contentIn(one, prefix)));
}

/** The parameters of a notification about a resource. */
export const renamedUri = uriIn;

function contentIn(content: string, prefix: string): string {
  if (content.startsWith('[')) return eachOf(content, (one) => contentIn(one, prefix));
  switch (textOf(membersOf(content)?.get('type'))) {
    case 'resource_link':
      return uriIn(content, prefix);
    case 'resource':
      return edited(content, 'resource', (resource) => uriIn(resource, prefix));
    default:
      return content;
  }
}

function uriIn(object: string, prefix: string): string {
  return edited(object, 'uri', (uri) => {
    const own = textOf(uri);
    return own === null ? uri : JSON.stringify(prefixedUri(prefix, own));
  });
}

function edited(object: string, member: string, change: (value: string) => string): string {
  const members = membersOf(object);
  const value = members?.get(member);
  if (!members || value === undefined) return object;
  const changed = change(value);
  return changed === value ? object : objectText(new Map(members).set(member, changed));
}

function eachOf(list: string, change: (item: string) => string): string {
  const items = itemsOf(list);
  if (!items) return list;
  const changed = items.map(change);
  return changed.every((item, at) => item === items[at]) ? list : `[${changed.join(',')}]`;
}
