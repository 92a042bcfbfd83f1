import { PASSKEY_ROLES, type PasskeyRole } from '../../contracts/approval.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { isPasskeyPerson, passkeyPerson } from '../../domain/review/passkey-people.js';
import type { Store } from '../store/database.js';
import { writeTogether } from '../store/write-together.js';
import { untilUnchanged } from './faults.js';
import type { ReviewTables } from './tables.js';

const FORM = 'gate.passkey-standing/1';
const USE = 'passkey';

/** What counts of a person's passkeys. */
interface Counts {
  /** Whether a passkey was ever registered. */
  readonly registered: boolean;
  readonly credentials: readonly string[];
  /** SHA-256 of the token of recovery that may be used; `null` for none. */
  readonly recovery_sha256: string | null;
  /** Of somebody who has no token beside the passkey; `null` for everybody else. */
  readonly role: PasskeyRole | null;
  /** Since when the name is this person's, where somebody had it before who was taken out; `null` otherwise. */
  readonly since_ms: number | null;
  /** How often somebody of this name was taken out before. */
  readonly left: number;
}

/** Whose passkeys they are. */
export interface Person {
  readonly tenant: string;
  readonly subject: string;
}

/** Somebody with a role of his own, and his passkeys that count. */
type Holder = Person & Pick<Standing, 'role' | 'since_ms' | 'passkeys'>;

export interface Standing extends Counts {
  /** False where the row is not what Gate wrote, is gone, or is older than this process knows: then nothing counts. */
  readonly whole: boolean;
  /** The rows of the passkeys that count; their own MACs are not checked here. */
  readonly passkeys: readonly Omit<ReviewTables['passkeys'], 'key_sha256'>[];
  /** Grows with each change. */
  readonly generation: number;
  /** The generation of the row as it is; `null` without a row. */
  readonly stored: number | null;
}

type Written = Parameters<typeof writeTogether>[1][number];
interface Change {
  readonly counts: Counts;
  /** The least that the next row has. */
  readonly generation?: number;
  /** Stored with it. */
  readonly beside: readonly Written[];
}

export interface PasskeyStandingsOptions {
  readonly store: Store<ReviewTables>;
  readonly keys: KeyRing;
  readonly asked: <Result>(query: () => Promise<Result>) => Promise<Result>;
  /** How often somebody of this name was taken out, as it is written down outside the store. */
  readonly timesTakenOut: (person: Person) => number;
  /** For a store that this process alone writes: `forget` is to be called when it undid what stood. */
  readonly alone?: ((forget: () => void) => void) | undefined;
}

/**
 * One row per person, under a MAC and with a generation, names the passkeys and the token that count. So the row of a passkey that was
 * replaced, or of a token that was used, counts for nothing when somebody puts it back; and neither does an older row of this table, while a
 * process runs that has seen a later one (SECURITY.md).
 */
export function passkeyStandings({ store, keys, asked, timesTakenOut, alone }: PasskeyStandingsOptions) {
  const { db } = store;
  const seen = new Map<string, number>();
  // A generation that was rolled back never existed.
  alone?.(() => seen.clear());

  /** One statement: a standing beside the passkeys of another moment would be wrong about both. */
  const standingsOf = (tenant: string) =>
    db
      .selectFrom('passkey_standings as s')
      .leftJoin('passkeys as p', (on) => on.onRef('p.tenant', '=', 's.tenant').onRef('p.subject', '=', 's.subject'))
      .select(['s.subject', 's.generation', 's.counts', 's.mac as counts_mac'])
      .select(['p.credential_id', 'p.public_key', 'p.counter', 'p.created_ms', 'p.mac'])
      .where('s.tenant', '=', tenant);
  type Read = Awaited<ReturnType<ReturnType<typeof standingsOf>['execute']>>[number];

  async function of(person: Person): Promise<Standing> {
    const rows = await asked(() => standingsOf(person.tenant).where('s.subject', '=', person.subject).execute());
    return standingIn(person, rows);
  }

  /** What the rows of somebody say; throws where the ring lacks their key. */
  function standingIn(person: Person, rows: readonly Read[]): Standing {
    const key = keyOf(person);
    const known = seen.get(key) ?? 0;
    const [row] = rows;
    if (!row) return { ...NOTHING, whole: known === 0, registered: known > 0, generation: known, stored: null };
    const stored = Number(row.generation);
    const isOurs = keys.authentic(row.counts_mac, textOf(person, stored, row.counts), USE);
    if (!isOurs || stored < known) return { ...NOTHING, whole: false, registered: true, generation: known, stored };
    seen.set(key, Math.max(stored, seen.get(key) ?? 0));
    const counts = countsOf(row.counts);
    const passkeys = rows.flatMap(({ credential_id, public_key, counter, created_ms, mac }) =>
      credential_id !== null && public_key !== null && mac !== null && counts.credentials.includes(credential_id)
        ? [{ ...person, credential_id, public_key, counter: counter ?? 0, created_ms: created_ms ?? 0, mac }]
        : [],
    );
    return { ...counts, whole: true, passkeys, generation: stored, stored };
  }

  /**
   * What is changed. Where nothing counts that the store says, it does not say either how often one of the name was taken out: counted from 0,
   * whoever has the name next would be one of before to a later start, or one who was taken out nobody who was.
   */
  async function standing(person: Person): Promise<Standing> {
    const now = await of(person);
    if ((now.whole && now.stored !== null) || !isPasskeyPerson(person.subject)) return now;
    return { ...now, left: await asked(async () => timesTakenOut(person)) };
  }

  /** The next row in place of the one that was read; it changes nothing where another one is there by now. */
  function next(person: Person, { stored }: Standing, made: Counts, generation: number): Written {
    const counts = JSON.stringify(made);
    const mac = keys.authenticate(textOf(person, generation, counts), USE);
    const row = { ...person, generation, counts, mac };
    return stored === null
      ? db
          .insertInto('passkey_standings')
          .values(row)
          .onConflict((on) => on.columns(['tenant', 'subject']).doNothing())
      : db
          .updateTable('passkey_standings')
          .set(row)
          .where('tenant', '=', person.tenant)
          .where('subject', '=', person.subject)
          .where('generation', '=', stored);
  }

  return {
    of,

    /** The people of a tenant with a role of their own, in one read. Of a row whose key is not here nothing counts, and it hides nobody else's. */
    async withRole(tenant: string): Promise<readonly Holder[]> {
      const rows = await asked(() =>
        standingsOf(tenant)
          .where('s.subject', 'like', `${passkeyPerson('')}%`)
          .orderBy('s.subject')
          .execute(),
      );
      const bySubject = new Map<string, Read[]>();
      for (const row of rows) bySubject.set(row.subject, [...(bySubject.get(row.subject) ?? []), row]);
      return [...bySubject].map(([subject, own]): Holder => {
        const person = { tenant, subject };
        try {
          const { role, since_ms, passkeys } = standingIn(person, own);
          return { ...person, role, since_ms, passkeys };
        } catch {
          return { ...person, role: null, since_ms: null, passkeys: [] };
        }
      });
    },

    /** Everybody who ever had a role by a passkey alone, of all tenants. */
    async everybody(): Promise<readonly Person[]> {
      return asked(() =>
        db
          .selectFrom('passkey_standings')
          .select(['tenant', 'subject'])
          .where('subject', 'like', `${passkeyPerson('')}%`)
          .orderBy('tenant')
          .orderBy('subject')
          .execute(),
      );
    },

    /** A row of somebody who has none; storing it beside a change fails where there is one by then. */
    first(person: Person, counts: Counts): Written {
      const text = JSON.stringify(counts);
      const mac = keys.authenticate(textOf(person, 1, text), USE);
      return db.insertInto('passkey_standings').values({ ...person, generation: 1, counts: text, mac });
    },

    /** Changes what counts, with what belongs to it, all or nothing. False where `change` finds that nothing is to be changed. */
    async change(person: Person, change: (now: Standing) => Promise<Change | null>): Promise<boolean> {
      return untilUnchanged('what counts of the passkeys of this person', async () => {
        const now = await standing(person);
        const made = await change(now);
        if (made === null) return { done: false };
        const generation = Math.max(now.generation + 1, made.generation ?? 0);
        const row = next(person, now, made.counts, generation);
        if (!(await asked(() => writeTogether(store, [row, ...made.beside])))) return null;
        seen.set(keyOf(person), generation);
        return { done: true };
      });
    },
  };
}

const NOTHING = { credentials: [], recovery_sha256: null, role: null, since_ms: null, left: 0, passkeys: [] };

/** Rows of an earlier Gate name no role, not since when the name is this person's, and not how often one of the name was taken out. */
function countsOf(text: string): Counts {
  const read = JSON.parse(text) as Omit<Counts, 'role' | 'since_ms' | 'left'> & {
    readonly role?: string;
    readonly since_ms?: number | null;
    readonly left?: number;
  };
  const role = PASSKEY_ROLES.find((known) => known === read.role) ?? null;
  const { since_ms = null } = read;
  const isGone = read.registered && role === null && read.credentials.length === 0;
  return { ...read, role, since_ms, left: read.left ?? (since_ms !== null || isGone ? 1 : 0) };
}

const keyOf = ({ tenant, subject }: Person): string => JSON.stringify([tenant, subject]);

const textOf = ({ tenant, subject }: Person, generation: number, counts: string): string =>
  JSON.stringify([FORM, tenant, subject, generation, counts]);
