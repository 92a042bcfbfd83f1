import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Kysely, type Selectable, sql } from 'kysely';
import { consoleMigrations } from '../../migrations/console.js';
import { CLOCKS_APART_MS } from '../../domain/clocks.js';
import { within } from '../../domain/within.js';
import { assertWritable } from '../store/writable.js';
import { openStore, type Store, type StoreTarget } from '../store/database.js';
import { writeTogether } from '../store/write-together.js';
import { ANSWER_MS, askedOf } from './asked.js';
import { type SavedSearches, type SearchTables, searchesOver } from './saved-searches.js';
import { type DeviceGrants, deviceGrants, type GrantTable } from './device-grants.js';
import type { OpenSession, SignedIn } from './signed-in.js';

export type { OpenSession, SignedIn };

export interface Session extends SignedIn {
  /** Names the session in the store; of no use to a browser. */
  readonly id: string;
  readonly openedMs: number;
  /** When it ends unless it is used. */
  readonly untilMs: number;
  /** Its time began anew, so the browser's cookie has to as well. */
  readonly isRenewed?: boolean;
  /** Goes into the forms of this session. */
  readonly csrf: string;
}

export interface SessionStore {
  /** Opens a session; returns what the browser keeps, which is stored nowhere. */
  open(who: SignedIn): Promise<string>;
  /** The same, and ends what the person has open in that tenant with another role, or other teams: all of it, or nothing. */
  enter(who: SignedIn): Promise<string>;
  /** The session of a cookie, whose time begins anew; `null` for one that ended, or that Gate did not write. */
  of(cookie: string, how?: { readonly renews: boolean }): Promise<Session | null>;
  /** The session of a command line's token; no use of it makes it longer. `null` like above, and for a cookie. */
  ofToken(token: string): Promise<OpenSession | null>;
  /** What everybody has open, the newest first. */
  everything(): Promise<readonly OpenSession[]>;
  /** What a person has open, the newest first. */
  openOf(who: Pick<SignedIn, 'subject' | 'tenant'>): Promise<readonly OpenSession[]>;
  end(id: string): Promise<void>;
  /** Ends a session of this person; `false` where there is no such one. */
  endOf(who: Pick<SignedIn, 'subject' | 'tenant'>, id: string): Promise<boolean>;
  /** Ends the session of a command line's token, where there is one. */
  endToken(token: string): Promise<void>;
  /** Ends every session of a person in a tenant. */
  endAllOf(who: Pick<SignedIn, 'subject' | 'tenant'>): Promise<void>;
  /** Ends every session of a person in other tenants than this one (`null`: in all), and says in which there were some. */
  endElsewhere(who: { readonly subject: string; readonly tenant: string | null }): Promise<readonly string[]>;
  /** What command lines ask for, and who gave it to them. */
  readonly grants: DeviceGrants;
  ready(): Promise<void>;
  close(): Promise<void>;
}

export interface SessionOptions {
  /** 32 bytes. Another key ends every session. */
  readonly key: Uint8Array;
  /** A session ends after this time without a request. */
  readonly idleMs: number;
  readonly clock?: () => number;
  /** How long the store may say nothing. */
  readonly answerMs?: number;
}

export interface SessionTables extends GrantTable, SearchTables {
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
    kind: string;
    asked_from: string | null;
    /** JSON: a list of teams; `null` where there is none. */
    teams: string | null;
    mac: string;
  };
}
type Row = Selectable<SessionTables['console_sessions']>;

const COOKIE = /^[A-Za-z0-9_-]{43}$/;
/** A name of its own, so that whoever finds one in a log or a file knows what it is. */
const TOKEN = /^gate_cli_[A-Za-z0-9_-]{43}$/;
/** A request writes to the store at most this often. */
const SEEN_EVERY_MS = 60_000;
/** Open sessions of one person, all of which are listed: one that nobody sees would be ended by nobody. Beyond them that ends which was unused the longest. */
export const MOST_OPEN = 200;
/** Of everybody. */
const MOST_OF_ALL = 10_000;
const teamsText = (teams: readonly string[] = []): string | null => (teams.length === 0 ? null : JSON.stringify(teams));
const MAC_FORM = 'gate.console-session/4';

/** The sessions in a store of their own, which their `close` closes. */
export const openSessionStore = async ({
  target,
  ...options
}: SessionOptions & { readonly target: StoreTarget }): Promise<SessionStore & { readonly searches: SavedSearches }> =>
  sessionStoreOver(await openStore<SessionTables>(target, consoleMigrations), options);

/**
 * Sessions in SQLite or Postgres (docs/architecture/console.md#sessions). They survive a restart. A row is found by an HMAC of its cookie and
 * carries one over who it is, so that neither a reader nor a writer of the store can act as anybody. The searches that people keep are in the
 * same store.
 */
export function sessionStoreOver(
  store: Store<SessionTables>,
  { key, idleMs, clock = Date.now, answerMs = ANSWER_MS }: SessionOptions,
): SessionStore & { readonly searches: SavedSearches } {
  const { db } = store;
  const derived = (use: string, text: string) => createHmac('sha256', key).update(`${use}\n${text}`).digest('hex');
  const macOf = (row: Omit<Row, 'seen_ms' | 'mac'>) => {
    const { id, kind, subject, tenant, mode, role, asked_from, teams } = row;
    const endsMs = row.ends_ms === null ? null : Number(row.ends_ms);
    const all = [endsMs, Number(row.opened_ms), Number(row.until_ms), ...(teams === null ? [] : [teams])];
    return derived('row', JSON.stringify([MAC_FORM, id, kind, subject, tenant, mode, role, asked_from, ...all]));
  };
  const asked = askedOf("the console's sessions", answerMs);
  const isTheirs = (right: string, stored: string): boolean => {
    const [one, other] = [Buffer.from(right), Buffer.from(stored)];
    return one.length === other.length && timingSafeEqual(one, other);
  };
  /** A row as its session; `null` for one that ended, or that Gate did not write. */
  const standing = (row: Row | undefined): OpenSession | null => {
    const now = clock();
    if (!row || Number(row.until_ms) <= now || !isTheirs(macOf(row), row.mac)) return null;
    const { id, subject, tenant, mode, role, asked_from: askedFrom } = row;
    const endsMs = row.ends_ms === null ? null : Number(row.ends_ms);
    if (endsMs !== null && endsMs <= now) return null;
    const kind = row.kind === 'command-line' ? 'command-line' : 'browser';
    const [openedMs, seenMs, untilMs] = [row.opened_ms, row.seen_ms, row.until_ms].map(Number) as [
      number,
      number,
      number,
    ];
    // Opened under a clock that was ahead, it would stand as newer than a role that was taken away since.
    if (openedMs > now + CLOCKS_APART_MS) return null;
    const teams = row.teams === null ? {} : { teams: JSON.parse(row.teams) as readonly string[] };
    return { id, kind, subject, tenant, mode, role, endsMs, ...teams, openedMs, seenMs, untilMs, askedFrom };
  };
  const rowOf = (id: string) =>
    asked(() => db.selectFrom('console_sessions').selectAll().where('id', '=', id).executeTakeFirst());
  const newest = () => db.selectFrom('console_sessions').selectAll().orderBy('opened_ms', 'desc');
  const forgetOver = (of: Kysely<SessionTables>) => of.deleteFrom('console_sessions').where('until_ms', '<=', clock());
  const inserted = (into: Kysely<SessionTables>, row: Omit<Row, 'mac'>) =>
    into.insertInto('console_sessions').values({ ...row, mac: macOf(row) });
  const insert = async (into: Kysely<SessionTables>, row: Omit<Row, 'mac'>): Promise<void> => {
    await forgetOver(into).execute();
    await inserted(into, row).execute();
    await tooMany(into, row).execute();
  };
  const tooMany = (of: Kysely<SessionTables>, who: Pick<Row, 'subject' | 'tenant'>) =>
    of
      .deleteFrom('console_sessions')
      .where('id', 'in', (rows) =>
        rows
          .selectFrom('console_sessions')
          .select('id')
          .where('subject', '=', who.subject)
          .where('tenant', '=', who.tenant)
          .orderBy('seen_ms', 'desc')
          .orderBy('opened_ms', 'desc')
          .limit(MOST_OF_ALL)
          .offset(MOST_OPEN),
      );
  /** A browser's session that begins now, and what the browser keeps of it. */
  const begun = ({ subject, tenant, mode, role, endsMs: ends_ms = null, teams }: SignedIn) => {
    const cookie = randomBytes(32).toString('base64url');
    const now = clock();
    const times = { opened_ms: now, seen_ms: now, until_ms: now + idleMs, ends_ms };
    const id = derived('id', cookie);
    const row = {
      id,
      kind: 'browser',
      subject,
      tenant,
      mode,
      role,
      ...times,
      asked_from: null,
      teams: teamsText(teams),
    };
    return { cookie, row };
  };
  const allOf = ({ subject, tenant }: Pick<SignedIn, 'subject' | 'tenant'>, of: Kysely<SessionTables>) =>
    of.deleteFrom('console_sessions').where('subject', '=', subject).where('tenant', '=', tenant);
  /** A request writes seldom, and a store that takes no writes still says who somebody is, until that time is over. */
  const seen = async (row: Row, change: { readonly until_ms?: number }): Promise<void> => {
    const now = clock();
    const write = db
      .updateTable('console_sessions')
      .set({ seen_ms: now, ...change, mac: macOf({ ...row, ...change }) })
      .where('id', '=', row.id)
      .execute();
    await within(answerMs, write, () => new Error('no answer')).catch(() => undefined);
  };
  const end = async (id: string): Promise<void> =>
    void (await asked(() => db.deleteFrom('console_sessions').where('id', '=', id).execute()));
  const isSeldom = ({ seenMs }: OpenSession): boolean => clock() - seenMs >= SEEN_EVERY_MS;

  return {
    async open(who) {
      const { cookie, row } = begun(who);
      await asked(() => insert(db, row));
      return cookie;
    },
    async enter(who) {
      const { cookie, row } = begun(who);
      const others = (of: Kysely<SessionTables>) =>
        allOf(who, of).where(({ or, eb, fn, val }) =>
          or([eb('role', '<>', who.role), eb(fn.coalesce('teams', val('')), '<>', teamsText(who.teams) ?? '')]),
        );
      await asked(async () => {
        await forgetOver(db).execute();
        // In a file that this process owns nobody is given a token, which takes a transaction of Kysely's.
        if (store.ask) return void (await writeTogether(store, [inserted(db, row), others(db), tooMany(db, row)]));
        await db.transaction().execute(async (transaction) => {
          await inserted(transaction, row).execute();
          // Of two sign-ins at once the second one finds the session of the first. SQLite has one writer.
          if (store.kind === 'postgres')
            await sql`select pg_advisory_xact_lock(hashtextextended(${JSON.stringify(['console', who.tenant, who.subject])}, 0))`.execute(
              transaction,
            );
          // A token that one of these sessions is giving meanwhile is not seen by the first statement; after it none is given.
          await others(transaction).execute();
          await others(transaction).execute();
          await tooMany(transaction, row).execute();
        });
      });
      return cookie;
    },
    async of(cookie, { renews } = { renews: true }) {
      if (!COOKIE.test(cookie)) return null;
      const row = await rowOf(derived('id', cookie));
      const session = standing(row);
      if (!row || session === null) return null;
      const isRenewed = renews && isSeldom(session);
      const until = isRenewed ? { untilMs: clock() + idleMs } : {};
      if (until.untilMs !== undefined) await seen(row, { until_ms: until.untilMs });
      return { ...session, ...until, isRenewed, csrf: derived('csrf', cookie) };
    },
    async ofToken(token) {
      if (!TOKEN.test(token)) return null;
      const row = await rowOf(derived('token', token));
      const session = standing(row);
      if (row && session && isSeldom(session)) await seen(row, {});
      return session;
    },
    async everything() {
      const rows = await asked(() => newest().limit(MOST_OF_ALL).execute());
      return rows.flatMap((row) => standing(row) ?? []);
    },
    async openOf({ subject, tenant }) {
      const theirs = newest().where('subject', '=', subject).where('tenant', '=', tenant);
      const rows = await asked(() => theirs.limit(MOST_OPEN).execute());
      return rows.flatMap((row) => standing(row) ?? []);
    },
    endOf: async ({ subject, tenant }, id) => {
      const { numDeletedRows } = await asked(() =>
        db
          .deleteFrom('console_sessions')
          .where('id', '=', id)
          .where('subject', '=', subject)
          .where('tenant', '=', tenant)
          .executeTakeFirst(),
      );
      return numDeletedRows === 1n;
    },
    endToken: async (token) => end(derived('token', token)),
    end,
    async endAllOf(who) {
      const all = allOf(who, db);
      // Twice, as above.
      await asked(() => all.execute());
      await asked(() => all.execute());
    },
    async endElsewhere({ subject, tenant }) {
      const others = db
        .deleteFrom('console_sessions')
        .where('subject', '=', subject)
        .$if(tenant !== null, (those) => those.where('tenant', '<>', tenant ?? ''))
        .returningAll();
      // Twice, as above.
      const ended = [...(await asked(() => others.execute())), ...(await asked(() => others.execute()))];
      return [...new Set(ended.filter((row) => isTheirs(macOf(row), row.mac)).map((row) => row.tenant))];
    },
    grants: deviceGrants({
      db: db as unknown as Kysely<GrantTable>,
      derived,
      asked,
      clock,
      tokenOf() {
        const token = `gate_cli_${randomBytes(32).toString('base64url')}`;
        return { token, id: derived('token', token) };
      },
      sessionOf: async (id) => standing(await rowOf(id)),
      async give(within, { id, approvedBy, askedFrom }) {
        const transaction = within as unknown as Kysely<SessionTables>;
        // Holds whoever ends the session back until the token is there to be ended as well.
        const { numUpdatedRows } = await transaction
          .updateTable('console_sessions')
          .set({ mode: approvedBy.mode })
          .where('id', '=', approvedBy.id)
          .executeTakeFirst();
        if (numUpdatedRows !== 1n) return null;
        const now = clock();
        const { subject, tenant, mode, role, endsMs, teams } = approvedBy;
        const ends = Math.min(now + idleMs, endsMs ?? Infinity);
        const times = { opened_ms: now, seen_ms: now, until_ms: ends, ends_ms: ends };
        await insert(transaction, {
          id,
          kind: 'command-line',
          subject,
          tenant,
          mode,
          role,
          ...times,
          asked_from: askedFrom,
          teams: teamsText(teams),
        });
        return ends;
      },
      end,
    }),
    async ready() {
      await asked(() => db.selectFrom('console_sessions').select('id').limit(1).execute());
      await assertWritable(store.sqlite);
    },
    searches: searchesOver(store, clock),
    close: () => store.close(),
  };
}
