import type { PendingRequest } from '../../contracts/review.js';
import type { PasskeyStore } from './passkey-store.js';

export interface ApproversOptions {
  readonly operators: (tenant: string) => readonly string[];
  /** Those of whom the console says so. */
  readonly vouched: (tenant: string) => Promise<readonly string[]>;
  readonly passkeys: Pick<PasskeyStore, 'approvers'>;
  /** The people for whom the agent of a row acts: they do not approve its calls. */
  readonly owners: (of: Pick<PendingRequest, 'tenant' | 'agent_id'>) => readonly string[];
}

/** Who may approve now (docs/architecture/reviews.md#quorum). What is said of a tenant is looked up once, for however many of its rows. */
export function createApprovers({ operators, vouched, passkeys, owners }: ApproversOptions) {
  /**
   * Everybody. Of the time at which a call was asked for, or an account linked, nobody who has the name of somebody earlier only since then: an
   * earlier vote or account of that name is not his.
   */
  async function everybody(tenant: string): Promise<(at_ms?: number) => readonly string[]> {
    const [people, holders] = await Promise.all([vouched(tenant), passkeys.approvers(tenant)]);
    return (at_ms) => [
      ...operators(tenant),
      ...people,
      ...holders
        .filter(({ since_ms }) => since_ms === null || at_ms === undefined || since_ms <= at_ms)
        .map(({ subject }) => subject),
    ];
  }

  return {
    everybody,
    /** Of each row without those whose agent asked for it. */
    async ofRows(tenant: string) {
      const all = await everybody(tenant);
      return (row: Pick<PendingRequest, 'tenant' | 'agent_id' | 'created_at'>): readonly string[] => {
        const own = owners(row);
        return all(Date.parse(row.created_at)).filter((subject) => !own.includes(subject));
      };
    },
  };
}
