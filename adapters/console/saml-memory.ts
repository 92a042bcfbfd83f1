import { createHmac, timingSafeEqual } from 'node:crypto';
import { consoleMigrations } from '../../migrations/console.js';
import { openStore, type StoreTarget } from '../store/database.js';
import { askedOf } from './asked.js';

/** A sign-in that somebody began. */
export interface BegunSignIn {
  /** The id of the request that was sent to the provider. */
  readonly requestId: string;
  /** What the browser that began keeps. */
  readonly browser: string;
  /** The page that is opened afterwards. */
  readonly returnTo: string;
}

/** What the console has to remember between a browser's way to a SAML provider and its way back. It survives a restart. */
export interface SamlMemory {
  /** Remembers a sign-in under its relay state, for `BEGUN_LIFE_MS`. */
  begin(relayState: string, begun: BegunSignIn): Promise<void>;
  /** The sign-in of a relay state, for this browser, once: it is forgotten by that. `null` for every other one, and for another browser. */
  take(relayState: string, browser: string): Promise<Omit<BegunSignIn, 'browser'> | null>;
  /** Whether an assertion was not used before; `untilMs` is when it can be used no longer. */
  isFirst(assertion: { readonly issuer: string; readonly id: string; readonly untilMs: number }): Promise<boolean>;
  close(): Promise<void>;
}

/** How long somebody may take at the provider. */
export const BEGUN_LIFE_MS = 300_000;
/** Anybody may begin. Of more than these the oldest are forgotten, and their people begin again. */
const MOST_BEGUN = 10_000;
const MAC_FORM = 'gate.console-saml/1';

interface Tables {
  console_saml_requests: {
    id: string;
    request: string;
    browser: string;
    return_to: string;
    until_ms: number;
    mac: string;
  };
  console_saml_assertions: { id: string; until_ms: number };
}

/** In SQLite or Postgres, beside the sessions. Whoever reads the store finds neither a relay state nor what a browser keeps. */
export async function openSamlMemory({
  target,
  key,
  clock = Date.now,
}: {
  readonly target: StoreTarget;
  /** 32 bytes. With another key nothing is known that began before. */
  readonly key: Uint8Array;
  readonly clock?: () => number;
}): Promise<SamlMemory> {
  const store = await openStore<Tables>(target, consoleMigrations);
  const { db } = store;
  const derived = (use: string, ...texts: readonly unknown[]): string =>
    createHmac('sha256', key)
      .update(JSON.stringify([MAC_FORM, use, ...texts]))
      .digest('hex');
  const asked = askedOf("the console's sign-ins");
  const isEqual = (left: string, right: string): boolean =>
    left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right));
  return {
    begin: (relayState, { requestId, browser, returnTo }) =>
      asked(async () => {
        const now = clock();
        const id = derived('relay state', relayState);
        const row = { request: requestId, browser: derived('browser', browser), return_to: returnTo };
        const until_ms = now + BEGUN_LIFE_MS;
        const mac = derived('row', id, row.request, row.browser, row.return_to, until_ms);
        await db.deleteFrom('console_saml_requests').where('until_ms', '<=', now).execute();
        await db
          .insertInto('console_saml_requests')
          .values({ id, ...row, until_ms, mac })
          .execute();
        await db
          .deleteFrom('console_saml_requests')
          .where('id', 'in', (those) =>
            those
              .selectFrom('console_saml_requests')
              .select('id')
              .orderBy('until_ms', 'desc')
              .limit(MOST_BEGUN)
              .offset(MOST_BEGUN),
          )
          .execute();
      }),
    async take(relayState, browser) {
      const id = derived('relay state', relayState);
      const row = await asked(() =>
        db.deleteFrom('console_saml_requests').where('id', '=', id).returningAll().executeTakeFirst(),
      );
      if (!row) return null;
      const untilMs = Number(row.until_ms);
      const mac = derived('row', id, row.request, row.browser, row.return_to, untilMs);
      if (!isEqual(row.mac, mac) || untilMs <= clock()) return null;
      if (!isEqual(row.browser, derived('browser', browser))) return null;
      return { requestId: row.request, returnTo: row.return_to };
    },
    isFirst: ({ issuer, id, untilMs }) =>
      asked(async () => {
        await db.deleteFrom('console_saml_assertions').where('until_ms', '<=', clock()).execute();
        const { numInsertedOrUpdatedRows: inserted = 0n } = await db
          .insertInto('console_saml_assertions')
          .values({ id: derived('assertion', issuer, id), until_ms: untilMs })
          .onConflict((those) => those.column('id').doNothing())
          .executeTakeFirst();
        return inserted > 0n;
      }),
    close: () => store.close(),
  };
}
