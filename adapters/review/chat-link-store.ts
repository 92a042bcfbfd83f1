import type { ChatLink } from '../../contracts/chat-link.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { GateError } from '../../domain/errors.js';
import type { ChatLinkStore, TenantLink } from '../../domain/review/chat-links.js';
import { CLICK_LIFE_MS } from '../../domain/review/chat-signature.js';
import type { Store } from '../store/database.js';
import { askOrUnavailable } from '../store/jobs.js';
import { statement } from '../store/statement.js';

interface StoredLink {
  readonly tenant: string;
  readonly oidc_sub: string;
  readonly slack_user_id: string | null;
  readonly teams_user_id: string | null;
  readonly linked_ms: number | string;
  readonly verified_ms: number | string | null;
  readonly mac: string;
}

const MAC_FORM = 'gate.chat-link/1';
const MAC_USE = 'chat-link';
const COLUMNS = 'tenant, oidc_sub, slack_user_id, teams_user_id, linked_ms, verified_ms, mac';
const ONE = statement<StoredLink>(`select ${COLUMNS} from chat_links where tenant = ? and oidc_sub = ?`);
const BY = {
  slack: statement<StoredLink>(`select ${COLUMNS} from chat_links where slack_user_id = ?`),
  teams: statement<StoredLink>(`select ${COLUMNS} from chat_links where teams_user_id = ?`),
};
const UPSERT = statement(
  `insert into chat_links (tenant, oidc_sub, slack_user_id, teams_user_id, linked_ms, mac) values (?, ?, ?, ?, ?, ?)
     on conflict (tenant, oidc_sub) do update set slack_user_id = excluded.slack_user_id,
       teams_user_id = excluded.teams_user_id, linked_ms = excluded.linked_ms, mac = excluded.mac`,
);
const DROP = statement(`delete from chat_links where tenant = ? and oidc_sub = ?`);
const VERIFIED = statement(`update chat_links set verified_ms = ? where tenant = ? and oidc_sub = ?`);
const ACCEPT = statement(`insert into chat_clicks (digest, at_ms) values (?, ?) on conflict (digest) do nothing`);
const RELEASE = statement(`delete from chat_clicks where digest = ?`);
/** A click is of the last five minutes by its own time, and that may be as far ahead. */
const FORGET = statement(`delete from chat_clicks where at_ms < ?`);

/**
 * Links of people to their accounts in chats. A MAC covers each, because a link lets whoever has the account decide: one that was put into
 * the store from outside is nobody's.
 */
export function chatLinkStoreOver<Tables>(
  store: Pick<Store<Tables>, 'db' | 'ask'>,
  { keys, clock }: { readonly keys: KeyRing; readonly clock: () => number },
): ChatLinkStore {
  const ask = askOrUnavailable(store);
  const messageOf = ({
    tenant,
    oidc_sub,
    slack_user_id,
    teams_user_id,
    linked_ms,
  }: Omit<StoredLink, 'mac' | 'verified_ms'>) =>
    JSON.stringify([MAC_FORM, tenant, oidc_sub, slack_user_id, teams_user_id, Number(linked_ms)]);
  const holds = (row: StoredLink): boolean => {
    try {
      return keys.authentic(row.mac, messageOf(row), MAC_USE);
    } catch {
      return false;
    }
  };
  const find = async (tenant: string, sub: string): Promise<StoredLink | null> =>
    (await ask(ONE, tenant, sub)).rows.find(holds) ?? null;

  async function write(row: Omit<StoredLink, 'mac' | 'verified_ms'>): Promise<ChatLink> {
    const { tenant, oidc_sub, slack_user_id, teams_user_id, linked_ms } = row;
    for (const [chat, id] of [
      ['slack', slack_user_id],
      ['teams', teams_user_id],
    ] as const)
      if (
        id !== null &&
        (await ask(BY[chat], id)).rows.some((other) => other.tenant === tenant && other.oidc_sub !== oidc_sub)
      )
        throw new GateError('channel_already_linked');
    const mac = keys.authenticate(messageOf(row), MAC_USE);
    await ask(UPSERT, tenant, oidc_sub, slack_user_id, teams_user_id, Number(linked_ms), mac);
    return shown((await find(tenant, oidc_sub)) ?? { ...row, verified_ms: null });
  }

  return {
    async get(tenant, sub) {
      const row = await find(tenant, sub);
      return row && shown(row);
    },
    async upsert(tenant, { oidc_sub, slack_user_id, teams_user_id }) {
      const known = await find(tenant, oidc_sub);
      return write({
        tenant,
        oidc_sub,
        slack_user_id: slack_user_id ?? known?.slack_user_id ?? null,
        teams_user_id: teams_user_id ?? known?.teams_user_id ?? null,
        linked_ms: clock(),
      });
    },
    async clear(tenant, sub, chat) {
      const known = await find(tenant, sub);
      if (known === null || known[`${chat}_user_id`] === null) return false;
      const rest = { ...known, [`${chat}_user_id`]: null };
      if (rest.slack_user_id === null && rest.teams_user_id === null) await ask(DROP, tenant, sub);
      else await write(rest);
      return true;
    },
    async linksOf(chat, userId) {
      const { rows } = await ask(BY[chat], userId);
      return rows.filter(holds).map((row): TenantLink => ({ ...shown(row), tenant: row.tenant }));
    },
    async verified({ tenant, oidc_sub }) {
      await ask(VERIFIED, clock(), tenant, oidc_sub);
    },
    async accept(digest) {
      await ask(FORGET, clock() - 2 * CLICK_LIFE_MS);
      return (await ask(ACCEPT, digest, clock())).changes === 1;
    },
    async release(digest) {
      await ask(RELEASE, digest);
    },
  };
}

const shown = ({
  oidc_sub,
  slack_user_id,
  teams_user_id,
  linked_ms,
  verified_ms,
}: Omit<StoredLink, 'mac'>): ChatLink => ({
  oidc_sub,
  slack_user_id,
  teams_user_id,
  linked_at: new Date(Number(linked_ms)).toISOString(),
  last_verified: verified_ms === null ? null : new Date(Number(verified_ms)).toISOString(),
});
