import { randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import type { Kysely, Selectable } from 'kysely';
import type { AskingDevice } from '../../contracts/console.js';
import { countedAddress } from '../../domain/limits/counted-address.js';
import type { OpenSession } from './signed-in.js';

/** What a command line hears that asks whether somebody agreed. */
export type Collected =
  /** Given once: the token stands nowhere but here. */
  | { readonly is: 'given'; readonly token: string; readonly by: OpenSession; readonly untilMs: number }
  /** `replayed`: the code was used before; the token that it gave has ended. */
  | { readonly is: 'pending' | 'slow_down' | 'denied' | 'expired' | 'unknown' | 'replayed' };

/** Device authorizations (RFC 8628) as the console keeps them. */
export interface DeviceGrants {
  /**
   * Begins one. If its address has as many open ones as it may, the oldest of them that no person has looked at is forgotten; if all addresses
   * together have as many as they may, the oldest such one of the address that has the most. `null` if no code is free.
   */
  begin(from: string): Promise<{ readonly deviceCode: string; readonly userCode: string } | null>;
  /**
   * Who waits under a code that a person typed, in any case and with any separators; `null` for a code that nobody waits under. What was
   * looked at so is not forgotten for others.
   */
  asking(userCode: string): Promise<AskingDevice | null>;
  /** Lets the device act for the person of the session, or refuses it. `false` where nobody waits under the code any more. */
  answer(userCode: string, by: { readonly session: string } | 'refused'): Promise<boolean>;
  /** The token, once, where somebody agreed whose session still stands and, by `stands`, still means somebody. */
  collect(deviceCode: string, stands: (session: OpenSession) => Promise<boolean>): Promise<Collected>;
}

export interface GrantTable {
  console_device_grants: {
    id: string;
    user_code: string;
    state: string;
    asked_ms: number | string;
    until_ms: number | string;
    asked_from: string;
    interval_secs: number | string;
    polled_ms: number | string | null;
    /** When a person looked at it first. */
    seen_ms: number | string | null;
    session_id: string | null;
    token_id: string | null;
    mac: string;
  };
}
type Row = Selectable<GrantTable['console_device_grants']>;

export interface DeviceGrantsOptions {
  readonly db: Kysely<GrantTable>;
  /** An HMAC with the console's key. */
  readonly derived: (use: string, text: string) => string;
  readonly asked: <Value>(ask: () => Promise<Value>) => Promise<Value>;
  readonly clock: () => number;
  readonly tokenOf: () => { readonly token: string; readonly id: string };
  /** A session that stands. */
  readonly sessionOf: (id: string) => Promise<OpenSession | null>;
  /** Opens the session of a token, in the same transaction, and returns when it ends; `null` where the session that agreed has ended. */
  readonly give: (
    transaction: Kysely<GrantTable>,
    token: { readonly id: string; readonly approvedBy: OpenSession; readonly askedFrom: string },
  ) => Promise<number | null>;
  readonly end: (id: string) => Promise<void>;
}

/** How long a person may take. */
export const GRANT_LIFE_MS = 600_000;
/** How often a command line may ask; more often adds as much again (RFC 8628, section 3.5). */
export const POLL_SECS = 5;
/** A poll that comes so much early is in time: the way to here is not equally long each time. */
const EARLY_MS = 1_000;
/** Whoever asks needs no credential, so what they leave in the store is bounded: so many that wait for a person, and as many that are over. */
const MOST_OPEN = 1_000;
/** So many of one address: at the fastest that it may begin them, a person has most of a minute to look at one. */
const MOST_OF_ADDRESS = 500;
const DEVICE_CODE = /^[A-Za-z0-9_-]{43}$/;
/** Without vowels, so that no code is a word, and without digits, which are mistaken for letters (RFC 8628, section 6.1). */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const CODE_LETTERS = 8;
const CODE = /^[BCDFGHJKLMNPQRSTVWXZ]{8}$/;
/** Two devices would have to draw the same of 25,600,000,000 codes. */
const DRAWS = 3;
const MAC_FORM = 'gate.console-device-grant/1';

/** `WDJB-MJHT`: as it is shown. */
const userCodeShown = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`;

/** What a person typed as it is compared; `null` for what no code is. */
export function userCodeTyped(text: string): string | null {
  const code = text.length > 64 ? '' : text.toUpperCase().replaceAll(/[\s.-]/g, '');
  return CODE.test(code) ? code : null;
}

/**
 * Grants in the store of the sessions (docs/architecture/console.md#the-command-line). Both codes are kept as HMACs, and a row carries one over
 * what it says, so that a reader of the store can collect nothing and a writer can agree for nobody.
 */
export function deviceGrants(options: DeviceGrantsOptions): DeviceGrants {
  const { db, derived, asked, clock, tokenOf, sessionOf, give, end } = options;
  const macOf = (row: Omit<Row, 'mac' | 'interval_secs' | 'polled_ms' | 'seen_ms'>): string => {
    const { id, user_code, state, asked_from, session_id, token_id } = row;
    const times = [Number(row.asked_ms), Number(row.until_ms)];
    return derived(
      'grant',
      JSON.stringify([MAC_FORM, id, user_code, state, asked_from, session_id, token_id, ...times]),
    );
  };
  const isGates = (row: Row): boolean => {
    const [right, stored] = [Buffer.from(macOf(row)), Buffer.from(row.mac)];
    return right.length === stored.length && timingSafeEqual(right, stored);
  };
  const changed = async (
    within: Kysely<GrantTable>,
    row: Row,
    change: Partial<Pick<Row, 'state' | 'session_id' | 'token_id'>>,
  ): Promise<boolean> => {
    const { numUpdatedRows } = await within
      .updateTable('console_device_grants')
      .set({ ...change, mac: macOf({ ...row, ...change }) })
      .where('id', '=', row.id)
      // Of two that change it at once the second finds another row than it read.
      .where('mac', '=', row.mac)
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  };
  const rowBy = async (column: 'id' | 'user_code', value: string): Promise<Row | null> => {
    const row = await asked(() =>
      db.selectFrom('console_device_grants').selectAll().where(column, '=', value).executeTakeFirst(),
    );
    return row && isGates(row) ? row : null;
  };
  const waiting = async (typed: string): Promise<(Row & { readonly code: string }) | null> => {
    const code = userCodeTyped(typed);
    const row = code === null ? null : await rowBy('user_code', derived('user code', code));
    if (code === null || row?.state !== 'asked' || Number(row.until_ms) <= clock()) return null;
    return { ...row, code: userCodeShown(code) };
  };

  const makeRoom = async (now: number, from: string): Promise<void> => {
    const open = await asked(() =>
      db
        .selectFrom('console_device_grants')
        .select(['id', 'asked_from', 'seen_ms'])
        .where('state', '=', 'asked')
        .where('until_ms', '>', now)
        .orderBy('asked_ms')
        .execute(),
    );
    const byAddress = new Map<string, typeof open>();
    for (const grant of open) {
      const address = countedAddress(grant.asked_from);
      const those = byAddress.get(address) ?? [];
      those.push(grant);
      byAddress.set(address, those);
    }
    const own = byAddress.get(countedAddress(from)) ?? [];
    const [most = []] = [...byAddress.values()].toSorted((one, other) => other.length - one.length);
    const [of, tooMany] =
      own.length >= MOST_OF_ADDRESS ? [own, own.length - MOST_OF_ADDRESS] : [most, open.length - MOST_OPEN];
    if (tooMany < 0) return;
    const unseenFirst = of.toSorted((one, other) => Number(one.seen_ms !== null) - Number(other.seen_ms !== null));
    const over = unseenFirst.slice(0, tooMany + 1).map(({ id }) => id);
    await asked(() =>
      db
        .deleteFrom('console_device_grants')
        .where('id', 'in', over)
        // Somebody may have agreed by now.
        .where('state', '=', 'asked')
        .execute(),
    );
  };

  return {
    async begin(askedFrom) {
      const now = clock();
      // One that is over is kept for as long again, to say so.
      await asked(() =>
        db
          .deleteFrom('console_device_grants')
          .where('until_ms', '<=', now - GRANT_LIFE_MS)
          .execute(),
      );
      await makeRoom(now, askedFrom);
      const deviceCode = randomBytes(32).toString('base64url');
      for (let draw = 0; draw < DRAWS; draw += 1) {
        const code = Array.from({ length: CODE_LETTERS }, () => LETTERS[randomInt(LETTERS.length)]).join('');
        const row = {
          id: derived('device code', deviceCode),
          user_code: derived('user code', code),
          state: 'asked',
          asked_ms: now,
          until_ms: now + GRANT_LIFE_MS,
          asked_from: askedFrom,
          session_id: null,
          token_id: null,
        };
        const { numInsertedOrUpdatedRows } = await asked(() =>
          db
            .insertInto('console_device_grants')
            .values({ ...row, interval_secs: POLL_SECS, polled_ms: null, seen_ms: null, mac: macOf(row) })
            .onConflict((conflict) => conflict.doNothing())
            .executeTakeFirst(),
        );
        if (numInsertedOrUpdatedRows === 1n) return { deviceCode, userCode: userCodeShown(code) };
      }
      return null;
    },
    async asking(typed) {
      const row = await waiting(typed);
      if (row === null) return null;
      if (row.seen_ms === null)
        await asked(() =>
          db.updateTable('console_device_grants').set({ seen_ms: clock() }).where('id', '=', row.id).execute(),
        );
      const { code, asked_from: askedFrom } = row;
      return { code, askedMs: Number(row.asked_ms), untilMs: Number(row.until_ms), askedFrom };
    },
    async answer(typed, by) {
      const row = await waiting(typed);
      if (row === null) return false;
      const change = by === 'refused' ? { state: 'denied' } : { state: 'approved', session_id: by.session };
      return asked(() => changed(db, row, change));
    },
    collect,
  };

  async function collect(deviceCode: string, stands: (session: OpenSession) => Promise<boolean>): Promise<Collected> {
    const row = DEVICE_CODE.test(deviceCode) ? await rowBy('id', derived('device code', deviceCode)) : null;
    if (row === null) return { is: 'unknown' };
    if (row.state === 'used') {
      // Two have the code, and nobody knows whose the token is.
      if (row.token_id !== null) await end(row.token_id);
      return { is: 'replayed' };
    }
    const now = clock();
    if (Number(row.until_ms) <= now) return { is: 'expired' };
    if (row.state === 'denied') return { is: 'denied' };
    const [polledMs, everySecs] = [row.polled_ms, row.interval_secs].map(Number) as [number, number];
    const isEarly = row.polled_ms !== null && now - polledMs < everySecs * 1_000 - EARLY_MS;
    await asked(() =>
      db
        .updateTable('console_device_grants')
        .set({ polled_ms: now, ...(isEarly && { interval_secs: everySecs + POLL_SECS }) })
        .where('id', '=', row.id)
        .execute(),
    );
    if (isEarly) return { is: 'slow_down' };
    if (row.state !== 'approved' || row.session_id === null) return { is: 'pending' };
    const approvedBy = await sessionOf(row.session_id);
    if (approvedBy === null || !(await stands(approvedBy))) return { is: 'denied' };
    const { token, id } = tokenOf();
    const untilMs = await asked(() =>
      db.transaction().execute(async (transaction) => {
        if (!(await changed(transaction, row, { state: 'used', token_id: id }))) return 'taken';
        return give(transaction, { id, approvedBy, askedFrom: row.asked_from });
      }),
    );
    if (untilMs === 'taken') return collect(deviceCode, stands);
    return untilMs === null ? { is: 'denied' } : { is: 'given', token, by: approvedBy, untilMs };
  }
}
