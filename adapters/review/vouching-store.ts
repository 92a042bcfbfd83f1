import type { KeyRing } from '../../domain/crypto/key-ring.js';
import type { VouchingStore } from '../../domain/review/vouched-people.js';
import type { Store } from '../store/database.js';
import { askOrUnavailable } from '../store/jobs.js';
import { statement } from '../store/statement.js';

interface StoredVouching {
  readonly tenant: string;
  readonly subject: string;
  readonly role: string;
  readonly vouched_ms: number | string;
  readonly mac: string;
}

const MAC_FORM = 'gate.vouching/1';
const MAC_USE = 'vouching';
// Whoever may approve no more loses that at once, also by a clock that is behind.
const KEEP = statement(
  `insert into vouched_people (tenant, subject, role, vouched_ms, mac) values (?, ?, ?, ?, ?)
     on conflict (tenant, subject) do update set role = excluded.role, vouched_ms = excluded.vouched_ms, mac = excluded.mac
       where vouched_people.vouched_ms <= excluded.vouched_ms or excluded.role in ('none', 'viewer')`,
);
const FORGET = statement(`delete from vouched_people where vouched_ms <= ?`);
const APPROVERS = statement<StoredVouching>(
  `select tenant, subject, role, vouched_ms, mac from vouched_people
     where tenant = ? and vouched_ms > ? and role in ('approver', 'admin') order by subject`,
);

/** What the console said last of each person. A MAC covers each row: whoever writes to the store makes nobody an approver. */
export function vouchingStoreOver<Tables>(
  store: Pick<Store<Tables>, 'db' | 'ask'>,
  { keys }: { readonly keys: KeyRing },
): VouchingStore {
  const ask = askOrUnavailable(store);
  const messageOf = ({ tenant, subject, role, vouched_ms }: Omit<StoredVouching, 'mac'>) =>
    JSON.stringify([MAC_FORM, tenant, subject, role, Number(vouched_ms)]);
  const holds = (row: StoredVouching): boolean => {
    try {
      return keys.authentic(row.mac, messageOf(row), MAC_USE);
    } catch {
      return false;
    }
  };
  return {
    async keep(vouching, forgetBefore) {
      const { tenant, subject, role, vouched_ms } = vouching;
      await ask(FORGET, forgetBefore);
      await ask(KEEP, tenant, subject, role, vouched_ms, keys.authenticate(messageOf(vouching), MAC_USE));
    },
    async approvers(tenant, since) {
      const { rows } = await ask(APPROVERS, tenant, since);
      return rows.filter(holds).map(({ subject }) => subject);
    },
  };
}
