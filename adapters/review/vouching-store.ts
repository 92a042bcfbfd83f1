import type { KeyRing } from '../../domain/crypto/key-ring.js';
import type { KeptVouching, VouchingStore } from '../../domain/review/vouched-people.js';
import type { VouchedRole } from '../../domain/review/vouching.js';
import type { Store } from '../store/database.js';
import { askOrUnavailable } from '../store/jobs.js';
import { statement } from '../store/statement.js';
import { untilUnchanged } from './faults.js';

interface StoredVouching {
  readonly tenant: string;
  readonly subject: string;
  readonly role: string;
  readonly since_ms: number | string;
  readonly vouched_ms: number | string;
  readonly mac: string;
}

const MAC_FORM = 'gate.vouching/2';
const MAC_USE = 'vouching';
const OF = statement<StoredVouching>(
  `select tenant, subject, role, since_ms, vouched_ms, mac from vouched_people where tenant = ? and subject = ?`,
);
// Only in the place of the row that was read: a word that came between is looked at first.
const KEEP = statement(
  `insert into vouched_people (tenant, subject, role, since_ms, vouched_ms, mac) values (?, ?, ?, ?, ?, ?)
     on conflict (tenant, subject) do update set role = excluded.role, since_ms = excluded.since_ms,
       vouched_ms = excluded.vouched_ms, mac = excluded.mac
       where vouched_people.mac = ?`,
);
const ELSEWHERE = statement<StoredVouching>(
  `select tenant, subject, role, since_ms, vouched_ms, mac from vouched_people where subject = ? and tenant <> ?`,
);
const APPROVERS = statement<StoredVouching>(
  `select tenant, subject, role, since_ms, vouched_ms, mac from vouched_people
     where tenant = ? and vouched_ms > ? and vouched_ms <= ? and role in ('approver', 'admin') order by subject`,
);

/** What the console said last of each person. A MAC covers each row: whoever writes to the store makes nobody an approver. */
export function vouchingStoreOver<Tables>(
  store: Pick<Store<Tables>, 'db' | 'ask'>,
  { keys }: { readonly keys: KeyRing },
): VouchingStore {
  const ask = askOrUnavailable(store);
  const messageOf = ({ tenant, subject, role, since_ms, vouched_ms }: Omit<StoredVouching, 'mac'>) =>
    JSON.stringify([MAC_FORM, tenant, subject, role, Number(since_ms), Number(vouched_ms)]);
  const holds = (row: StoredVouching): boolean => {
    try {
      return keys.authentic(row.mac, messageOf(row), MAC_USE);
    } catch {
      return false;
    }
  };
  const kept = (row: StoredVouching): KeptVouching => ({
    tenant: row.tenant,
    subject: row.subject,
    // Where its MAC holds, Gate wrote it; elsewhere it is not looked at.
    role: row.role as VouchedRole,
    since_ms: Number(row.since_ms),
    vouched_ms: Number(row.vouched_ms),
  });
  const standingIn = (row: StoredVouching | undefined): KeptVouching | null =>
    row === undefined ? null : holds(row) ? kept(row) : { ...kept(row), role: 'none' };
  return {
    async change({ tenant, subject }, next) {
      await untilUnchanged('what is known of this person', async () => {
        const row = (await ask(OF, tenant, subject)).rows[0];
        const made = next(standingIn(row));
        if (made === null) return { done: undefined };
        const mac = keys.authenticate(messageOf(made), MAC_USE);
        const { role, since_ms, vouched_ms } = made;
        const { changes } = await ask(KEEP, tenant, subject, role, since_ms, vouched_ms, mac, row?.mac ?? '');
        return changes > 0 ? { done: undefined } : null;
      });
    },
    async standing({ tenant, subject }) {
      return standingIn((await ask(OF, tenant, subject)).rows[0]);
    },
    async elsewhere({ tenant, subject }) {
      const { rows } = await ask(ELSEWHERE, subject, tenant);
      return rows.filter(holds).map(kept);
    },
    async approvers(tenant, since, until) {
      const { rows } = await ask(APPROVERS, tenant, since, until);
      return rows.filter(holds).map(({ subject }) => subject);
    },
  };
}
