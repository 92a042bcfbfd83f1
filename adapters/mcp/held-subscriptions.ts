import { randomUUID } from 'node:crypto';
import { CLIENT_CAPABILITIES } from '../../contracts/call.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import type { SubscriptionStore } from '../../domain/mcp/held-subscriptions.js';
import type { UpstreamCaller } from '../../domain/upstream/upstream.js';
import type { Store } from '../store/database.js';

export interface SubscriptionTables {
  mcp_subscriptions: {
    id: string;
    holder: string;
    tenant: string;
    agent: string;
    client_can: string;
    sealed: Uint8Array;
    since_ms: number;
    until_ms: number;
  };
}
type Row = Pick<
  SubscriptionTables['mcp_subscriptions'],
  'id' | 'holder' | 'tenant' | 'agent' | 'client_can' | 'sealed'
>;

const COLUMNS = ['id', 'holder', 'tenant', 'agent', 'client_can', 'sealed'] as const;
/** The time of what its holder gave up: before every other one. */
const GIVEN_UP = 0;

/** The address of a resource may be private, so it is sealed for its row. What no key opens any more counts for nothing, and goes. */
export const heldSubscriptionsOver = (
  { db }: Pick<Store<SubscriptionTables>, 'db'>,
  { keys, now = Date.now }: { readonly keys: KeyRing; readonly now?: () => number },
): SubscriptionStore => {
  const context = ({ id, holder, tenant, agent, client_can }: Omit<Row, 'sealed'>) =>
    `gate.mcp-subscription/${JSON.stringify([id, holder, tenant, agent, client_can])}`;
  const uriOf = (row: Row): string | null => {
    try {
      return keys.open(row.sealed, context(row)).toString('utf8');
    } catch {
      return null;
    }
  };
  const remove = async (ids: readonly string[]): Promise<void> => {
    if (ids.length === 0) return;
    await db.deleteFrom('mcp_subscriptions').where('id', 'in', ids).where('until_ms', '<=', now()).execute();
  };
  const letGo = async (ids: readonly string[]): Promise<void> => {
    if (ids.length === 0) return;
    await db.updateTable('mcp_subscriptions').set({ until_ms: GIVEN_UP }).where('id', 'in', ids).execute();
  };
  /** Many holders of an agent hold the same few resources: each of these is one text in memory. */
  async function opened<Read extends Row>(rows: readonly Read[]): Promise<(Read & { readonly uri: string })[]> {
    const texts = new Map<string, string>();
    const read: (Read & { readonly uri: string })[] = [];
    const lost: string[] = [];
    for (const row of rows) {
      const uri = uriOf(row);
      if (uri === null) lost.push(row.id);
      else {
        const text = texts.get(uri) ?? uri;
        texts.set(uri, text);
        read.push({ ...row, uri: text });
      }
    }
    await letGo(lost);
    await remove(lost);
    return read;
  }
  return {
    async of(caller) {
      const rows = await db
        .selectFrom('mcp_subscriptions')
        .select(COLUMNS)
        .where(({ and }) => and(columnsOf(caller)))
        .where('until_ms', '>', now())
        .orderBy('since_ms')
        .orderBy('id')
        .execute();
      return (await opened(rows)).map(({ id, holder, uri }) => ({ id, holder, uri }));
    },
    async add(caller, { holder, uri, untilMs }) {
      const row = { id: randomUUID(), holder, ...columnsOf(caller) };
      const sealed = keys.seal(uri, context(row));
      await db
        .insertInto('mcp_subscriptions')
        .values({ ...row, sealed, since_ms: now(), until_ms: untilMs })
        .execute();
    },
    letGo,
    async letGoOf(holder) {
      await db.updateTable('mcp_subscriptions').set({ until_ms: GIVEN_UP }).where('holder', '=', holder).execute();
    },
    async renew(holder, untilMs) {
      const { numUpdatedRows } = await db
        .updateTable('mcp_subscriptions')
        .set({ until_ms: untilMs })
        .where('holder', '=', holder)
        .where('until_ms', '>', now())
        .executeTakeFirstOrThrow();
      return numUpdatedRows > 0n;
    },
    async over(limit, without) {
      const rows = await db
        .selectFrom('mcp_subscriptions')
        .select(COLUMNS)
        .where('until_ms', '<=', now())
        .where(({ and, not }) => and(without.map((caller) => not(and(columnsOf(caller))))))
        .orderBy('until_ms')
        .limit(limit)
        .execute();
      return (await opened(rows)).map(({ id, holder, uri, ...row }) => ({ id, holder, uri, caller: callerOf(row) }));
    },
    remove,
  };
};

const abilitiesText = ({ client_can: can = [] }: UpstreamCaller): string => can.join('+');

const columnsOf = (caller: UpstreamCaller) => ({
  tenant: caller.tenant,
  agent: caller.agent,
  client_can: abilitiesText(caller),
});

function callerOf({ tenant, agent, client_can }: Pick<Row, 'tenant' | 'agent' | 'client_can'>): UpstreamCaller {
  const said = client_can.split('+');
  const can = CLIENT_CAPABILITIES.filter((name) => said.includes(name));
  return { tenant, agent, ...(can.length > 0 && { client_can: can }) };
}
