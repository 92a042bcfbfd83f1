import { sql } from 'kysely';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { GateError } from '../../domain/errors.js';
import type { PasskeyStore, StoredPasskey } from '../../domain/review/passkeys.js';
import type { Store } from '../store/database.js';
import { writeTogether } from '../store/write-together.js';
import type { ReviewTables } from './tables.js';

const MAC_FORM = 'gate.passkey/1';
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
    async begin({ id_sha256, challenge_sha256, tenant, subject, created_ms, expires_ms }) {
      await asked(() =>
        db
          .insertInto('passkey_ceremonies')
          .values({ id_sha256, challenge_sha256, tenant, subject, created_ms, expires_ms, attempts: 0 })
          .execute(),
      );
    },

    async begun(tenant, subject, now) {
      await asked(() => db.deleteFrom('passkey_ceremonies').where('expires_ms', '<=', now).execute());
      const rows = await asked(() =>
        db
          .selectFrom('passkey_ceremonies')
          .select('created_ms')
          .where('tenant', '=', tenant)
          .where('subject', '=', subject)
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
          .where('subject', '=', subject)
          .where('expires_ms', '>', now)
          .where('attempts', '<', most)
          .executeTakeFirst(),
      );
      if (numUpdatedRows !== 1n) return null;
      const found = await asked(() =>
        db
          .selectFrom('passkey_ceremonies')
          .select('challenge_sha256')
          .where('id_sha256', '=', id_sha256)
          .executeTakeFirst(),
      );
      return found ?? null;
    },

    async complete(id_sha256, passkey) {
      const mac = keys.authenticate(authenticated(passkey), MAC_USE);
      const taken = await asked(() =>
        db
          .selectFrom('passkeys')
          .select('credential_id')
          .where('credential_id', '=', passkey.credential_id)
          .executeTakeFirst(),
      );
      if (taken) throw new GateError('passkey_known');
      return asked(() =>
        writeTogether(store, [
          db.deleteFrom('passkey_ceremonies').where('id_sha256', '=', id_sha256),
          db.insertInto('passkeys').values({ ...passkey, mac }),
        ]),
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
