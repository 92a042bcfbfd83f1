import { LRUCache } from 'lru-cache';
import { CLOCKS_APART_MS } from '../clocks.js';
import { GateError } from '../errors.js';
import { roomFor } from '../room-for.js';
import { assertWordHolds, VOUCHED_ROLES, type Vouched, type VouchedRole } from './vouching.js';

/** What the console said last of somebody. */
export interface KeptVouching {
  readonly tenant: string;
  readonly subject: string;
  readonly role: VouchedRole;
  readonly since_ms: number;
  /** The word holds until `lifeMs` after this time: when it was said, or, of a word that ends sooner, earlier by as much. */
  readonly vouched_ms: number;
}

/**
 * The last word about each person, in HIL's store, for ever: without it, an earlier session's word would give back what it took away. Throws
 * `store_unavailable`.
 */
export interface VouchingStore {
  /**
   * Stores what `next` makes of the word that stands, which is `null` where there never was one; stores nothing for `null`. A row that Gate did
   * not write, or under a key that is gone, stands as `none` since its time.
   */
  change(
    whom: Pick<KeptVouching, 'tenant' | 'subject'>,
    next: (standing: KeptVouching | null) => KeptVouching | null,
  ): Promise<void>;
  /** The word that stands, as `change` says it. */
  standing(whom: Pick<KeptVouching, 'tenant' | 'subject'>): Promise<KeptVouching | null>;
  /** The words that stand about the same name in other tenants. */
  elsewhere(whom: Pick<KeptVouching, 'tenant' | 'subject'>): Promise<readonly KeptVouching[]>;
  /** Who may approve, of the words given after `since` and not after `until`. A row that Gate did not write is nobody. */
  approvers(tenant: string, since: number, until: number): Promise<readonly string[]>;
}

export interface VouchedPeople {
  /**
   * Keeps what the console says of somebody. Returns when it is stored. Throws `unauthenticated` for the word of a session that was opened before
   * the person's role became another one, for one that is over, and for one that was opened later than now.
   */
  heard(person: Vouched): Promise<void>;
}

/**
 * What stands after a word; `null` where the word is older than what stands and says something else. A word that
 * takes everything away holds whatever clock it was said by. Of two words of the same moment, the one that allows less holds.
 */
export function standingAfter(standing: KeptVouching | null, word: KeptVouching): KeptVouching | null {
  if (standing === null) return word;
  const since_ms = Math.max(standing.since_ms, word.since_ms);
  if (word.role === 'none' || word.role === standing.role) return { ...word, since_ms };
  if (word.since_ms > standing.since_ms) return word;
  const gives = ({ role }: KeptVouching): number => VOUCHED_ROLES.indexOf(role);
  return word.since_ms === standing.since_ms && gives(word) < gives(standing) ? word : null;
}

/**
 * The word as of now where it says that it is later: a clock was ahead when it was said, and it would stand against every session until that time
 * comes. Who lost his role has none all the same, and a session that was opened before now gives nothing back.
 */
const inTime = <Word extends Pick<KeptVouching, 'since_ms'>>(word: Word, now: number): Word =>
  isLater(word, now) ? { ...word, since_ms: now } : word;
const isLater = ({ since_ms }: Pick<KeptVouching, 'since_ms'>, now: number): boolean =>
  since_ms > now + CLOCKS_APART_MS;

/** Whom a provider names belongs to one tenant: who signs in for another one was moved. Others may have one name in several. */
const isOfOneTenant = (subject: string): boolean => /^(?:oidc|saml):/.test(subject);

/** The same word about the same person is written at most this often. */
const AGAIN_MS = 30_000;
const REMEMBERED = 10_000;

interface VouchedPeopleOptions<Store> {
  readonly store: Store;
  readonly lifeMs: number;
  readonly clock: () => number;
}

/** Who may approve for a tenant now, by what the console said last of each. */
export const vouchedApprovers =
  ({ store, lifeMs, clock }: VouchedPeopleOptions<Pick<VouchingStore, 'approvers'>>) =>
  (tenant: string): Promise<readonly string[]> => {
    const now = clock();
    return store.approvers(tenant, now - lifeMs, now + CLOCKS_APART_MS);
  };

/**
 * The people whom the console vouches for (docs/decisions/people-by-the-consoles-word.md). A word holds for `lifeMs`, until the end that it
 * names, or until the next one about the same person.
 */
export function createVouchedPeople({ store, lifeMs, clock }: VouchedPeopleOptions<VouchingStore>): VouchedPeople {
  const written = new LRUCache<string, { readonly role: VouchedRole; readonly sinceMs: number; readonly atMs: number }>(
    roomFor(REMEMBERED),
  );
  const againMs = Math.min(AGAIN_MS, lifeMs / 4);
  return {
    async heard(word) {
      const { tenant, subject, role, until_ms } = word;
      const now = clock();
      assertWordHolds(word, now);
      // Nobody knows what it is older than. That somebody may do nothing any more holds by whatever clock.
      if (role !== 'none' && isLater(word, now)) throw ahead();
      const { since_ms } = inTime(word, now);
      const key = JSON.stringify([tenant, subject]);
      const last = written.get(key);
      const isFresh = last !== undefined && last.atMs <= now && now - last.atMs < againMs;
      if (isFresh && last.role === role && last.sinceMs >= since_ms) {
        // Another process of HIL may have heard since that the role was taken away.
        const standing = await store.standing({ tenant, subject });
        if (standing?.role === role && standing.since_ms >= since_ms) return;
      }
      // The console tells it of tenants in which it ended a session; elsewhere nobody is left to say it.
      const elsewhere = isOfOneTenant(subject) && role !== 'none' ? await store.elsewhere({ tenant, subject }) : [];
      for (const later of elsewhere)
        if (isLater(later, now)) await store.change(later, (standing) => standing && inTime(standing, now));
      if (elsewhere.some((word) => word.role !== 'none' && inTime(word, now).since_ms > since_ms)) throw changed();
      for (const left of elsewhere) {
        if (left.role === 'none') continue;
        written.delete(JSON.stringify([left.tenant, subject]));
        await store.change(left, (standing) =>
          standing === null
            ? null
            : standingAfter(inTime(standing, now), { ...left, role: 'none', since_ms, vouched_ms: now }),
        );
      }
      let stands: KeptVouching | null = null;
      await store.change({ tenant, subject }, (standing) => {
        const vouched_ms = Math.min(now, until_ms === null ? now : until_ms - lifeMs);
        const stood = standing && inTime(standing, now);
        stands = standingAfter(stood, { tenant, subject, role, since_ms, vouched_ms });
        // As of now also where it refuses the word, so that the next session is later than it.
        return stands ?? (stood === standing ? null : stood);
      });
      const kept = stands as KeptVouching | null;
      if (kept === null) {
        written.delete(key);
        throw changed();
      }
      written.set(key, { role: kept.role, sinceMs: kept.since_ms, atMs: now });
    },
  };
}

const changed = (): GateError =>
  new GateError('unauthenticated', 'What this person may do was changed after this session was opened.');
const ahead = (): GateError =>
  new GateError(
    'unauthenticated',
    "This session was opened by a clock that is ahead of the review service's. Put it right, and sign in anew.",
  );
