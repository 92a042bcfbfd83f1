import { sql } from 'kysely';
import { GateError } from '../../domain/errors.js';
import {
  type Ceremony,
  CEREMONY_PURPOSES,
  type PasskeyStore,
  type Recovery,
  type StoredPasskey,
} from '../../domain/review/passkey-store.js';
import type { Dispositions } from '../../domain/review/ports.js';
import { leftOf } from '../../contracts/tenant-dispositions.js';
import { unlink } from './chat-link-store.js';
import { passkeyStandings, type PasskeyStandingsOptions, type Person, type Standing } from './passkey-standings.js';
import type { ReviewTables } from './tables.js';

const MAC_FORM = 'gate.passkey/1';
const CEREMONY_FORM = 'gate.passkey-ceremony/1';
const RECOVERY_FORM = 'gate.passkey-recovery/1';
const MAC_USE = 'passkey';
const NOBODY = { registered: false, credentials: [], recovery_sha256: null, role: null, since_ms: null, left: 0 };
/** Whose row says that somebody was the first administrator. No tenant has an empty name. */
const FOUNDED = { tenant: '', subject: 'system:first-administrator' };
/** Attempts of a ceremony that cannot be finished any more. */
const ENDED = 1_000_000;
/** Why nothing of a person's counts. */
const NOT_WHOLE =
  'what the store says of the passkeys of this person is not what Gate wrote last: another operator allows to replace them';

export interface PasskeyStoreOptions extends Omit<PasskeyStandingsOptions, 'timesTakenOut'> {
  readonly dispositions?: Pick<Dispositions, 'recordTakenOut' | 'timesTakenOut'> | undefined;
}

/**
 * The approvers' passkeys in HIL's store. A row that Gate did not write is refused: otherwise whoever can edit the store could put a key of
 * his own under another name. Which rows count, and not those of earlier, stands in a row of its own (`passkey-standings.ts`). The counter is
 * outside the MAC, because it changes with every use.
 */
export function passkeyStore(options: PasskeyStoreOptions): PasskeyStore {
  const { store, keys, asked, dispositions } = options;
  const { db } = store;
  const standings = passkeyStandings({
    ...options,
    timesTakenOut: (person) => dispositions?.timesTakenOut(person) ?? 0,
  });
  const authenticated = ({ credential_id, tenant, subject, public_key, created_ms }: Omit<Stored, 'counter' | 'mac'>) =>
    JSON.stringify([MAC_FORM, credential_id, tenant, subject, public_key, Number(created_ms)]);

  /** Everything of somebody but his standing, in the write that takes that. */
  const taking = ({ tenant, subject }: Person) => [
    db.deleteFrom('passkeys').where('tenant', '=', tenant).where('subject', '=', subject),
    db.deleteFrom('passkey_ceremonies').where('tenant', '=', tenant).where('subject', '=', subject),
    db.deleteFrom('passkey_recoveries').where('tenant', '=', tenant).where('subject', '=', subject),
    // An account of his would decide for whoever has the name next.
    unlink({ tenant, oidc_sub: subject }),
  ];

  return {
    async begin(ceremony) {
      const mac = keys.authenticate(ceremonyText(ceremony), MAC_USE);
      await asked(() =>
        db
          .insertInto('passkey_ceremonies')
          .values({ ...ceremony, attempts: 0, mac })
          .execute(),
      );
    },

    async begun({ tenant, subject, purpose }, now) {
      await asked(() => db.deleteFrom('passkey_ceremonies').where('expires_ms', '<=', now).execute());
      const rows = await asked(() =>
        db
          .selectFrom('passkey_ceremonies')
          .select('created_ms')
          .where('tenant', '=', tenant)
          .where('subject', '=', subject)
          .where('purpose', '=', purpose)
          .execute(),
      );
      return rows.map(({ created_ms }) => Number(created_ms));
    },

    async keepNewest({ tenant, subject, purpose }, most) {
      const newest = db
        .selectFrom('passkey_ceremonies')
        .select('id_sha256')
        .where('tenant', '=', tenant)
        .where('subject', '=', subject)
        .where('purpose', '=', purpose)
        .orderBy('created_ms', 'desc')
        .limit(most);
      await asked(() =>
        db
          .deleteFrom('passkey_ceremonies')
          .where('tenant', '=', tenant)
          .where('subject', '=', subject)
          .where('purpose', '=', purpose)
          .where('id_sha256', 'not in', newest)
          .execute(),
      );
    },

    async attempt(id_sha256, { tenant, subject, now, most }) {
      const { numUpdatedRows } = await asked(() =>
        db
          .updateTable('passkey_ceremonies')
          .set({ attempts: sql<number>`attempts + 1` })
          .where('id_sha256', '=', id_sha256)
          .where('tenant', '=', tenant)
          .$if(subject !== null, (of) => of.where('subject', '=', subject ?? ''))
          .where('expires_ms', '>', now)
          .where('attempts', '<', most)
          .executeTakeFirst(),
      );
      if (numUpdatedRows !== 1n) return null;
      const found = await asked(() =>
        db.selectFrom('passkey_ceremonies').selectAll().where('id_sha256', '=', id_sha256).executeTakeFirst(),
      );
      if (!found) return null;
      const { mac, ...row } = found;
      const purpose = CEREMONY_PURPOSES.find((known) => known === row.purpose);
      const ceremony = { ...row, created_ms: Number(row.created_ms), expires_ms: Number(row.expires_ms) };
      return purpose && keys.authentic(mac, ceremonyText(ceremony), MAC_USE) ? { ...ceremony, purpose } : null;
    },

    async end(id_sha256) {
      const { numDeletedRows } = await asked(() =>
        db.deleteFrom('passkey_ceremonies').where('id_sha256', '=', id_sha256).executeTakeFirst(),
      );
      return numDeletedRows === 1n;
    },

    async complete(id_sha256, passkey, purpose) {
      const replaces = purpose === 'recover';
      const mac = keys.authenticate(authenticated(passkey), MAC_USE);
      const { credential_id, tenant, subject } = passkey;
      const founds = purpose === 'found';
      return standings.change(
        { tenant, subject },
        async ({ whole, registered, credentials, recovery_sha256, role, since_ms, left }) => {
          if (founds && (registered || (await standings.of(FOUNDED)).registered))
            throw new GateError('recovery_refused', 'somebody is the first administrator already');
          // Begun before the first was made, it would be the second, and nobody's session asked for it.
          if (purpose === 'first' && registered) throw new GateError('passkey_session_required');
          if (!whole && !replaces) throw new GateError('passkey_refused', NOT_WHOLE);
          const begun = await asked(() =>
            db
              .selectFrom('passkey_ceremonies')
              .select('id_sha256')
              .where('id_sha256', '=', id_sha256)
              .where('attempts', '<', ENDED)
              .executeTakeFirst(),
          );
          if (!begun) return null;
          const taken = await asked(() =>
            db
              .selectFrom('passkeys')
              .select('credential_id')
              // One key is one person, under whatever id and in whatever encoding.
              .where(({ eb, or }) =>
                or([eb('credential_id', '=', credential_id), eb('key_sha256', '=', passkey.key_sha256)]),
              )
              .executeTakeFirst(),
          );
          if (taken) throw new GateError('passkey_known');
          const kept = replaces ? [] : credentials;
          return {
            counts: {
              registered: true,
              credentials: [...kept, credential_id],
              recovery_sha256: replaces ? null : recovery_sha256,
              role: founds ? 'admin' : role,
              since_ms,
              left,
            },
            beside: [
              // First of the rest: where somebody else was faster it fails, and with it everything.
              ...(founds ? [standings.first(FOUNDED, { ...NOBODY, registered: true })] : []),
              ...(replaces
                ? [
                    // Also what a session that was stolen with the lost passkey began.
                    db.deleteFrom('passkey_ceremonies').where('tenant', '=', tenant).where('subject', '=', subject),
                    db.deleteFrom('passkeys').where('tenant', '=', tenant).where('subject', '=', subject),
                    db.deleteFrom('passkey_recoveries').where('tenant', '=', tenant).where('subject', '=', subject),
                  ]
                : [db.deleteFrom('passkey_ceremonies').where('id_sha256', '=', id_sha256)]),
              db.insertInto('passkeys').values({ ...passkey, mac }),
            ],
          };
        },
      );
    },

    async allowRecovery(recovery, invited) {
      const { tenant, subject, token_sha256 } = recovery;
      const row = { ...recovery, attempts: 0, mac: keys.authenticate(recoveryText(recovery), MAC_USE) };
      return standings.change({ tenant, subject }, async ({ registered, credentials, role, since_ms, left }) => {
        // Who has a passkey is invited by nobody: the token would give somebody else his name.
        if (invited !== undefined && credentials.length > 0) return null;
        return {
          counts: {
            registered,
            credentials,
            recovery_sha256: token_sha256,
            role: invited?.as ?? role,
            // Who had the name and has no passkey any more was taken out.
            since_ms: invited !== undefined && registered ? invited.at_ms : since_ms,
            left,
          },
          beside: [
            // What an earlier token began would use this one up. It counts on among what the person began.
            db
              .updateTable('passkey_ceremonies')
              .set({ attempts: ENDED })
              .where('tenant', '=', tenant)
              .where('subject', '=', subject)
              .where('purpose', '=', 'recover'),
            db
              .insertInto('passkey_recoveries')
              .values(row)
              .onConflict((on) => on.columns(['tenant', 'subject']).doUpdateSet(row)),
          ],
        };
      });
    },

    remove: (person) =>
      standings.change(person, async ({ whole, stored, generation, left: before }) => {
        // Of somebody whose row is gone this process may still know that he was there.
        if (whole && stored === null) return null;
        const left = before + 1;
        await asked(async () =>
          dispositions?.recordTakenOut({ ...personOf(person), generation: generation + 1, left }),
        );
        return { counts: { ...NOBODY, registered: true, left }, beside: taking(person) };
      }),

    async takenOut() {
      const people = await standings.everybody();
      const stand = await Promise.all(people.map((person) => standings.of(person)));
      return people.flatMap((person, at) => {
        const { whole, role, credentials, generation, left } = stand[at] as Standing;
        if (!whole || left === 0) return [];
        // Of a name that somebody has again, a copy may hold the same person with an earlier generation.
        const isGone = role === null && credentials.length === 0;
        return [{ ...person, generation: isGone ? generation : 1, left }];
      });
    },

    async standTakenOut({ tenant, subject, generation, ...said }) {
      const [person, left] = [{ tenant, subject }, leftOf(said)];
      let isTaken = false;
      await standings.change(person, async (now) => {
        const { whole, stored, generation: _, passkeys: __, ...counts } = now;
        const isBehind = (stored ?? 0) < generation;
        // Copies count their generations each for itself: they tell who came later only where the file says nothing else.
        const isEarlier = counts.left < left || (said.left === undefined && isBehind);
        isTaken = !whole || stored === null || isEarlier;
        // Also of somebody whom this copy does not know yet: whoever has the name next is a later one.
        if (isTaken) return { counts: { ...NOBODY, registered: true, left }, generation, beside: taking(person) };
        return isBehind ? { counts, generation, beside: [] } : null;
      });
      return isTaken;
    },

    async recoverable({ tenant, subject, token_sha256, now }) {
      const own = { tenant, subject };
      const { recovery_sha256 } = await standings.of(own);
      const found = await asked(() =>
        db
          .selectFrom('passkey_recoveries')
          .select(['expires_ms', 'mac'])
          .where('tenant', '=', tenant)
          .where('subject', '=', subject)
          .where('token_sha256', '=', token_sha256)
          .where('expires_ms', '>', now)
          .executeTakeFirst(),
      );
      const text = recoveryText({ ...own, token_sha256, expires_ms: Number(found?.expires_ms) });
      return found !== undefined && recovery_sha256 === token_sha256 && keys.authentic(found.mac, text, MAC_USE);
    },

    async registered(tenant, subject) {
      return (await standings.of({ tenant, subject })).registered;
    },

    async founded() {
      return (await standings.of(FOUNDED)).registered;
    },

    async roleOf(tenant, subject) {
      return (await standings.of({ tenant, subject })).role;
    },

    async approvers(tenant) {
      const people = await standings.withRole(tenant);
      return people.flatMap(({ subject, role, since_ms, passkeys }) =>
        role === null || passkeys.length === 0 ? [] : [{ subject, since_ms }],
      );
    },

    async of(tenant, subject) {
      const { passkeys } = await standings.of({ tenant, subject });
      return passkeys
        .filter((row) => keys.authentic(row.mac, authenticated(row), MAC_USE))
        .map(
          ({ credential_id, public_key, counter, created_ms }): StoredPasskey => ({
            credential_id,
            tenant,
            subject,
            public_key,
            counter: Number(counter),
            created_ms: Number(created_ms),
          }),
        );
    },

    async used(credential_id, from, to) {
      const { numUpdatedRows } = await asked(() =>
        db
          .updateTable('passkeys')
          .set({ counter: to })
          .where('credential_id', '=', credential_id)
          .where('counter', '=', from)
          .executeTakeFirst(),
      );
      return numUpdatedRows === 1n;
    },
  };
}

const personOf = ({ tenant, subject }: Person): Person => ({ tenant, subject });

type Stored = Omit<ReviewTables['passkeys'], 'key_sha256'>;

const ceremonyText = (of: Omit<Ceremony, 'purpose'> & { readonly purpose: string }): string =>
  JSON.stringify([
    CEREMONY_FORM,
    of.id_sha256,
    of.challenge_sha256,
    of.tenant,
    of.subject,
    of.purpose,
    of.created_ms,
    of.expires_ms,
  ]);

const recoveryText = ({ tenant, subject, token_sha256, expires_ms }: Recovery): string =>
  JSON.stringify([RECOVERY_FORM, tenant, subject, token_sha256, expires_ms]);
