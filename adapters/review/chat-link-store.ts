import { chat, type ChatLink, linkOwnerOf } from '../../contracts/chat-link.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { GateError } from '../../domain/errors.js';
import type { ChatLinkStore, TenantLink } from '../../domain/review/chat-links.js';
import { CLICK_LIFE_MS } from '../../domain/review/chat-signature.js';
import type { Store } from '../store/database.js';
import { askOrUnavailable } from '../store/jobs.js';
import { statement } from '../store/statement.js';
import { type Ready, writeTogether } from '../store/write-together.js';
import { asked, untilUnchanged } from './faults.js';

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
const INSERT = statement(
  `insert into chat_links (tenant, oidc_sub, slack_user_id, teams_user_id, linked_ms, mac) values (?, ?, ?, ?, ?, ?)
     on conflict (tenant, oidc_sub) do nothing`,
);
const IN_PLACE_OF = 'where tenant = ? and oidc_sub = ? and mac = ?';
const UPDATE = statement(
  `update chat_links set slack_user_id = ?, teams_user_id = ?, linked_ms = ?, mac = ? ${IN_PLACE_OF}`,
);
const DROP_READ = statement(`delete from chat_links ${IN_PLACE_OF}`);
const DROP = statement(`delete from chat_links where tenant = ? and oidc_sub = ?`);
const VERIFIED = statement(`update chat_links set verified_ms = ? where tenant = ? and oidc_sub = ?`);
const ACCEPT = statement(`insert into chat_clicks (digest, at_ms) values (?, ?) on conflict (digest) do nothing`);
/** Fails where it was used, and with it the link that is written beside it. */
const USE = statement(`insert into chat_clicks (digest, at_ms) values (?, ?)`);
const USED = statement<{ digest: string }>(`select digest from chat_clicks where digest = ?`);
const RELEASE = statement(`delete from chat_clicks where digest = ?`);
/** A click is of the last five minutes by its own time, and that may be as far ahead. */
const FORGET = statement(`delete from chat_clicks where at_ms < ?`);

/** Takes a person's links away, as part of another write. */
export const unlink = ({ tenant, oidc_sub }: Pick<StoredLink, 'tenant' | 'oidc_sub'>): Ready => ({
  of: DROP,
  values: [tenant, oidc_sub],
});

/**
 * Links of people to their accounts in chats. A MAC covers each, because a link lets whoever has the account decide: one that was put into
 * the store from outside is nobody's.
 */
export function chatLinkStoreOver<Tables>(
  store: Store<Tables>,
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
    // An earlier Gate kept links of an operator under a second name, under which nobody sees them.
    if (linkOwnerOf(row.oidc_sub) !== row.oidc_sub) return false;
    try {
      return keys.authentic(row.mac, messageOf(row), MAC_USE);
    } catch {
      return false;
    }
  };
  const stored = async (tenant: string, sub: string): Promise<StoredLink | undefined> =>
    (await ask(ONE, tenant, sub)).rows[0];
  const found = (row: StoredLink | undefined): StoredLink | null => (row && holds(row) ? row : null);

  /** False where another row than the one that was read is there by now. */
  const dropped = async ({ tenant, oidc_sub, mac }: StoredLink): Promise<boolean> =>
    (await ask(DROP_READ, tenant, oidc_sub, mac)).changes === 1;

  const accepted = async (digest: string): Promise<boolean> => (await ask(ACCEPT, digest, clock())).changes === 1;

  /** An account may have one row of a tenant: one that is nobody's makes room. A code that is refused here is used up. */
  async function makeFree({ tenant, oidc_sub, ...accounts }: Omit<StoredLink, 'mac'>, code: string | undefined) {
    if (code !== undefined && (await ask(USED, code)).rows.length > 0) throw new GateError('link_code_invalid');
    for (const of of chat.options) {
      const id = accounts[`${of}_user_id`];
      if (id === null) continue;
      const { rows } = await ask(BY[of], id);
      for (const other of rows) {
        if (other.tenant !== tenant || other.oidc_sub === oidc_sub) continue;
        if (holds(other)) {
          // Somebody else may have used the code between the look at it and the one at the account.
          const isUsed = code !== undefined && !(await accepted(code));
          throw new GateError(isUsed ? 'link_code_invalid' : 'channel_already_linked');
        }
        await dropped(other);
      }
    }
  }

  /**
   * False where another row than the one that was read is there by now: with what that says, an account that was taken away would be back. A
   * code is used up by the link that it makes, in one transaction: after a crash there are both or none.
   */
  async function put(row: Omit<StoredLink, 'mac'>, read: StoredLink | undefined, code?: string): Promise<boolean> {
    const { tenant, oidc_sub, slack_user_id, teams_user_id } = row;
    const linked_ms = Number(row.linked_ms);
    const mac = keys.authenticate(messageOf(row), MAC_USE);
    const link: Ready = read
      ? { of: UPDATE, values: [slack_user_id, teams_user_id, linked_ms, mac, tenant, oidc_sub, read.mac] }
      : { of: INSERT, values: [tenant, oidc_sub, slack_user_id, teams_user_id, linked_ms, mac] };
    if (code === undefined) return (await ask(link.of, ...link.values)).changes === 1;
    return asked(() => writeTogether(store, [link, { of: USE, values: [code, clock()] }]));
  }

  return {
    async get(tenant, sub) {
      const row = found(await stored(tenant, sub));
      return row && shown(row);
    },
    upsert: (tenant, { oidc_sub, slack_user_id, teams_user_id }, code) =>
      untilUnchanged('the link', async () => {
        const read = await stored(tenant, oidc_sub);
        const known = found(read);
        const row = {
          tenant,
          oidc_sub,
          slack_user_id: slack_user_id ?? known?.slack_user_id ?? null,
          teams_user_id: teams_user_id ?? known?.teams_user_id ?? null,
          linked_ms: clock(),
          verified_ms: read?.verified_ms ?? null,
        };
        await makeFree(row, code);
        const isPut = await put(row, read, code).catch(async (error: unknown) => {
          // The store lets one person of a tenant have an account, and a code be used once. Somebody else may have been faster.
          await makeFree(row, code);
          throw error;
        });
        return isPut ? { done: shown(row) } : null;
      }),
    clear: (tenant, sub, of) =>
      untilUnchanged('the link', async () => {
        const known = await stored(tenant, sub);
        if (known === undefined) return { done: false };
        // Which accounts it names is not Gate's word.
        if (!holds(known)) return (await dropped(known)) ? { done: true } : null;
        if (known[`${of}_user_id`] === null) return { done: false };
        const rest = { ...known, [`${of}_user_id`]: null };
        const isLast = rest.slack_user_id === null && rest.teams_user_id === null;
        return (isLast ? await dropped(known) : await put(rest, known)) ? { done: true } : null;
      }),
    async linksOf(chat, userId) {
      const { rows } = await ask(BY[chat], userId);
      return rows.filter(holds).map((row): TenantLink => ({ ...shown(row), tenant: row.tenant }));
    },
    async verified({ tenant, oidc_sub }) {
      await ask(VERIFIED, clock(), tenant, oidc_sub);
    },
    async accept(digest) {
      await ask(FORGET, clock() - 2 * CLICK_LIFE_MS);
      return accepted(digest);
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
  last_verified: clickedAt(verified_ms),
});

/** No MAC covers it: what is no time is none. */
function clickedAt(ms: StoredLink['verified_ms']): string | null {
  const at = new Date(ms === null ? Number.NaN : Number(ms));
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}
