import { sql } from 'kysely';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { GateError } from '../../domain/errors.js';
import {
  type Ceremony,
  CEREMONY_PURPOSES,
  type PasskeyStore,
  type Recovery,
  type StoredPasskey,
} from '../../domain/review/passkeys.js';
import type { Store } from '../store/database.js';
import { writeTogether } from '../store/write-together.js';
import type { ReviewTables } from './tables.js';

const MAC_FORM = 'gate.passkey/1';
const CEREMONY_FORM = 'gate.passkey-ceremony/1';
const RECOVERY_FORM = 'gate.passkey-recovery/1';
const MAC_USE = 'passkey';

export interface PasskeyStoreOptions {
  readonly store: Store<ReviewTables>;
  readonly keys: KeyRing;
  readonly asked: <Result>(query: () => Promise<Result>) => Promise<Result>;
}

/**
 * The approvers' passkeys in HIL's store. A row that Gate did not write is refused: otherwise whoever can edit the store could put a key of
 * his own under another name. The counter is outside the MAC, because it changes with every use.
 */
export function passkeyStore({ store, keys, asked }: PasskeyStoreOptions): PasskeyStore {
  const { db } = store;
  const authenticated = ({ credential_id, tenant, subject, public_key, created_ms }: Omit<Stored, 'counter' | 'mac'>) =>
    JSON.stringify([MAC_FORM, credential_id, tenant, subject, public_key, Number(created_ms)]);

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

    async complete(id_sha256, passkey, replaces) {
      const mac = keys.authenticate(authenticated(passkey), MAC_USE);
      const { credential_id, tenant, subject } = passkey;
      const taken = await asked(() =>
        db.selectFrom('passkeys').select('credential_id').where('credential_id', '=', credential_id).executeTakeFirst(),
      );
      if (taken) throw new GateError('passkey_known');
      return asked(() =>
        writeTogether(store, [
          db.deleteFrom('passkey_ceremonies').where('id_sha256', '=', id_sha256),
          ...(replaces ? [db.deleteFrom('passkeys').where('tenant', '=', tenant).where('subject', '=', subject)] : []),
          db.insertInto('passkeys').values({ ...passkey, mac }),
        ]),
      );
    },

    async allowRecovery(recovery) {
      const row = { ...recovery, attempts: 0, mac: keys.authenticate(recoveryText(recovery), MAC_USE) };
      await asked(() =>
        db
          .insertInto('passkey_recoveries')
          .values(row)
          .onConflict((on) => on.columns(['tenant', 'subject']).doUpdateSet(row))
          .execute(),
      );
    },

    async recover({ tenant, subject, token_sha256, now, most }) {
      const own = { tenant, subject };
      const { numUpdatedRows } = await asked(() =>
        db
          .updateTable('passkey_recoveries')
          .set({ attempts: sql<number>`attempts + 1` })
          .where('tenant', '=', tenant)
          .where('subject', '=', subject)
          .where('expires_ms', '>', now)
          .where('attempts', '<', most)
          .executeTakeFirst(),
      );
      if (numUpdatedRows !== 1n) return false;
      const found = await asked(() =>
        db
          .deleteFrom('passkey_recoveries')
          .where('tenant', '=', tenant)
          .where('subject', '=', subject)
          .where('token_sha256', '=', token_sha256)
          .returning(['expires_ms', 'mac'])
          .executeTakeFirst(),
      );
      const expires_ms = Number(found?.expires_ms);
      return (
        found !== undefined && keys.authentic(found.mac, recoveryText({ ...own, token_sha256, expires_ms }), MAC_USE)
      );
    },

    async of(tenant, subject) {
      const rows = await asked(() =>
        db.selectFrom('passkeys').selectAll().where('tenant', '=', tenant).where('subject', '=', subject).execute(),
      );
      return rows
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

type Stored = ReviewTables['passkeys'];

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
