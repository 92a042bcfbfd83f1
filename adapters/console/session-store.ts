import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { consoleMigrations } from '../../migrations/console.js';
import { errorText, GateError } from '../../domain/errors.js';
import { assertWritable } from '../store/writable.js';
import { openStore, type Store, type StoreTarget } from '../store/database.js';

/** Who opened a session, and how. */
export interface SignedIn {
  readonly subject: string;
  readonly tenant: string;
  readonly mode: string;
  readonly role: string;
  /** When the session ends whatever the person does; `null`: after a time without a request. */
  readonly endsMs?: number | null;
}

export interface Session extends SignedIn {
  /** Names the session in the store; of no use to a browser. */
  readonly id: string;
  readonly openedMs: number;
  /** Its time began anew, so the browser's cookie has to as well. */
  readonly isRenewed?: boolean;
  /** Goes into the forms of this session. */
  readonly csrf: string;
}

export interface SessionStore {
  /** Opens a session; returns what the browser keeps, which is stored nowhere. */
  open(who: SignedIn): Promise<string>;
  /** The session of a cookie, whose time begins anew; `null` for one that ended, or that Gate did not write. */
  of(cookie: string, how?: { readonly renews: boolean }): Promise<Session | null>;
  end(id: string): Promise<void>;
  /** Ends every session of a person; with `but`, those of any other role. */
  endAllOf(who: Pick<SignedIn, 'subject' | 'tenant'>, but?: { readonly role: string }): Promise<void>;
  ready(): Promise<void>;
  close(): Promise<void>;
}

export interface SessionStoreOptions {
  readonly target: StoreTarget;
  /** 32 bytes. Another key ends every session. */
  readonly key: Uint8Array;
  /** A session ends after this time without a request. */
  readonly idleMs: number;
  readonly clock?: () => number;
}

interface Tables {
  console_sessions: {
    id: string;
    subject: string;
    tenant: string;
    mode: string;
    role: string;
    opened_ms: number;
    seen_ms: number;
    until_ms: number;
    ends_ms: number | string | null;
    mac: string;
  };
}

const COOKIE = /^[A-Za-z0-9_-]{43}$/;
/** A request writes to the store at most this often. */
const SEEN_EVERY_MS = 60_000;
const MAC_FORM = 'gate.console-session/3';

/**
 * Sessions in SQLite or Postgres (docs/architecture/console.md#sessions). They survive a restart. A row is found by an HMAC of its cookie and
 * carries one over who it is, so that neither a reader nor a writer of the store can act as anybody.
 */
export async function openSessionStore({
  target,
  key,
  idleMs,
  clock = Date.now,
}: SessionStoreOptions): Promise<SessionStore> {
  const store: Store<Tables> = await openStore<Tables>(target, consoleMigrations);
  const { db } = store;
  const derived = (use: string, text: string) => createHmac('sha256', key).update(`${use}\n${text}`).digest('hex');
  const macOf = (id: string, { subject, tenant, mode, role, endsMs }: SignedIn, openedMs: number, untilMs: number) =>
    derived('row', JSON.stringify([MAC_FORM, id, subject, tenant, mode, role, endsMs ?? null, openedMs, untilMs]));
  const asked = async <Value>(ask: () => Promise<Value>): Promise<Value> => {
    try {
      return await ask();
    } catch (error) {
      throw new GateError('store_unavailable', `the console's sessions: ${errorText(error)}`, { cause: error });
    }
  };
  return {
    async open(who) {
      const cookie = randomBytes(32).toString('base64url');
      const now = clock();
      const id = derived('id', cookie);
      const { subject, tenant, mode, role, endsMs = null } = who;
      const times = { opened_ms: now, seen_ms: now, until_ms: now + idleMs, ends_ms: endsMs };
      await asked(async () => {
        await db.deleteFrom('console_sessions').where('until_ms', '<=', now).execute();
        await db
          .insertInto('console_sessions')
          .values({ id, subject, tenant, mode, role, ...times, mac: macOf(id, who, now, now + idleMs) })
          .execute();
      });
      return cookie;
    },
    async of(cookie, { renews } = { renews: true }) {
      if (!COOKIE.test(cookie)) return null;
      const now = clock();
      const id = derived('id', cookie);
      const row = await asked(() =>
        db.selectFrom('console_sessions').selectAll().where('id', '=', id).executeTakeFirst(),
      );
      if (!row || Number(row.until_ms) <= now) return null;
      const endsMs = row.ends_ms === null ? null : Number(row.ends_ms);
      if (endsMs !== null && endsMs <= now) return null;
      const openedMs = Number(row.opened_ms);
      const mac = Buffer.from(macOf(id, { ...row, endsMs }, openedMs, Number(row.until_ms)));
      const stored = Buffer.from(row.mac);
      if (mac.length !== stored.length || !timingSafeEqual(mac, stored)) return null;
      const isRenewed = renews && now - Number(row.seen_ms) >= SEEN_EVERY_MS;
      if (isRenewed) {
        const until_ms = now + idleMs;
        // A store that takes no writes still says who somebody is, until that time is over.
        await db
          .updateTable('console_sessions')
          .set({ seen_ms: now, until_ms, mac: macOf(id, { ...row, endsMs }, openedMs, until_ms) })
          .where('id', '=', id)
          .execute()
          .catch(() => undefined);
      }
      const { subject, tenant, mode, role } = row;
      return { id, subject, tenant, mode, role, endsMs, openedMs, isRenewed, csrf: derived('csrf', cookie) };
    },
    end: async (id) => void (await asked(() => db.deleteFrom('console_sessions').where('id', '=', id).execute())),
    endAllOf: async ({ subject, tenant }, but) =>
      void (await asked(() =>
        db
          .deleteFrom('console_sessions')
          .where('subject', '=', subject)
          .where('tenant', '=', tenant)
          .$if(but !== undefined, (those) => those.where('role', '<>', but?.role ?? ''))
          .execute(),
      )),
    async ready() {
      await asked(() => db.selectFrom('console_sessions').select('id').limit(1).execute());
      await assertWritable(store.sqlite);
    },
    close: () => store.close(),
  };
}
