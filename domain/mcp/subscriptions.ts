import type { JsonObject } from '../../contracts/json.js';
import { GateError } from '../errors.js';
import { concerns, LONGEST_URI } from './held-subscriptions.js';
import { membersOf, objectText } from './reply.js';

/** The request of revision 2026-07-28 whose answer is a stream of what its client wants to hear of. */
export const LISTEN_METHOD = 'subscriptions/listen';
/** Of the revisions with sessions. */
export const SUBSCRIBE = 'resources/subscribe';
export const UNSUBSCRIBE = 'resources/unsubscribe';
const ID_KEY = 'io.modelcontextprotocol/subscriptionId';

const LISTS = ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged'] as const;
/** What each list's change is called, and the capability that promises it. */
const CHANGES: Readonly<Record<(typeof LISTS)[number], readonly [method: string, capability: string]>> = {
  toolsListChanged: ['notifications/tools/list_changed', 'tools'],
  promptsListChanged: ['notifications/prompts/list_changed', 'prompts'],
  resourcesListChanged: ['notifications/resources/list_changed', 'resources'],
};
export const UPDATED = 'notifications/resources/updated';

/** So many resources, and so many tasks, are named in one request. */
export const MOST_NAMED = 50;

/** What a client wants to hear of, or what it will hear of. */
export interface SubscriptionFilter {
  readonly toolsListChanged?: true;
  readonly promptsListChanged?: true;
  readonly resourcesListChanged?: true;
  readonly resourceSubscriptions?: readonly string[];
  readonly taskIds?: readonly string[];
}

const isObject = (value: unknown): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

const invalid = (what: string) => new GateError('mcp_envelope_invalid', `${LISTEN_METHOD}: ${what}`);

/** The filter of a request. Throws `mcp_envelope_invalid`; members of extensions that Gate does not have are not honored. */
export function subscriptionFilterIn({ params }: JsonObject): SubscriptionFilter {
  const asked = isObject(params) ? params['notifications'] : undefined;
  if (!isObject(asked)) throw invalid('`params.notifications` is to be an object: what there is to hear of');
  const names = (member: string): readonly string[] => {
    const said = asked[member] ?? [];
    const isList = Array.isArray(said) && said.every((one) => typeof one === 'string' && one.length <= LONGEST_URI);
    if (!isList) throw invalid(`\`${member}\` is to be a list of texts of at most ${LONGEST_URI} characters`);
    const different = [...new Set(said as string[])];
    if (different.length > MOST_NAMED) throw invalid(`\`${member}\` has more than ${MOST_NAMED} members`);
    return different;
  };
  const wanted = LISTS.filter((list) => {
    const said = asked[list] ?? false;
    if (typeof said !== 'boolean') throw invalid(`\`${list}\` is to be true or false`);
    return said;
  });
  const [resources, tasks] = [names('resourceSubscriptions'), names('taskIds')];
  return {
    ...Object.fromEntries(wanted.map((list) => [list, true])),
    ...(resources.length > 0 && { resourceSubscriptions: resources }),
    ...(tasks.length > 0 && { taskIds: tasks }),
  };
}

/** What of it an upstream with these capabilities tells; tasks are Gate's own. */
export function promisedOf(asked: SubscriptionFilter, capabilities: JsonObject): SubscriptionFilter {
  const promises = (capability: string, member: string): boolean => {
    const said = capabilities[capability];
    return isObject(said) && said[member] === true;
  };
  const lists = LISTS.filter((list) => asked[list] && promises(CHANGES[list][1], 'listChanged'));
  return {
    ...Object.fromEntries(lists.map((list) => [list, true])),
    ...(asked.resourceSubscriptions &&
      promises('resources', 'subscribe') && { resourceSubscriptions: asked.resourceSubscriptions }),
  };
}

/** Whether somebody with this filter is told of what an upstream says. `params` is the text of an object. */
export function isWanted(filter: SubscriptionFilter, method: string, params: string): boolean {
  if (LISTS.some((list) => filter[list] && CHANGES[list][0] === method)) return true;
  if (method !== UPDATED || !filter.resourceSubscriptions) return false;
  const uri = membersOf(params)?.get('uri');
  const updated: unknown = uri === undefined ? undefined : JSON.parse(uri);
  return typeof updated === 'string' && concerns(updated, filter.resourceSubscriptions);
}

/** Whether it hears of anything from the upstream. */
export const hearsUpstream = (filter: SubscriptionFilter): boolean =>
  Object.keys(filter).some((member) => member !== 'taskIds');

/** The parameters of a notification with the id of the request that it is sent for. */
export function stamped(params: string, id: string | number): string {
  const members = new Map(membersOf(params) ?? []);
  const meta = new Map(membersOf(members.get('_meta') ?? '') ?? []).set(ID_KEY, JSON.stringify(id));
  return objectText(members.set('_meta', objectText(meta)));
}

/** The same without that id: a client does not know the requests that Gate sent to the server. */
export function unstamped(params: string): string {
  const members = new Map(membersOf(params) ?? []);
  const meta = new Map(membersOf(members.get('_meta') ?? '') ?? []);
  meta.delete(ID_KEY);
  if (meta.size > 0) members.set('_meta', objectText(meta));
  else members.delete('_meta');
  return objectText(members);
}

/** All changes of lists that a server with these capabilities tells; `null` where it tells of none. */
export function promisedLists(capabilities: JsonObject): SubscriptionFilter | null {
  const promised = promisedOf(Object.fromEntries(LISTS.map((list) => [list, true])), capabilities);
  return Object.keys(promised).length > 0 ? promised : null;
}

export const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
export const acknowledged = (filter: SubscriptionFilter, id: string | number): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    method: ACKNOWLEDGED,
    params: { notifications: filter, _meta: { [ID_KEY]: id } },
  });

/** What ends a stream that is not broken: the answer to its request. */
export const subscriptionEnded = (id: string | number): string =>
  JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', _meta: { [ID_KEY]: id } } });
