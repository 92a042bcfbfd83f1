import type { DecoyAction, DecoyKind } from '../../contracts/decoy-kinds.js';
import type { DecoyHit } from '../../contracts/decoys.js';
import { uuidFromDigest } from '../crypto/digest.js';
import type { RevokedBy } from './revoked-by.js';

/** What nobody should call or use: who does shows that it acts for somebody else (docs/architecture/decoys.md). */
export interface Decoy {
  readonly id: string;
  /** `*`: of everybody. */
  readonly tenant: string;
  readonly name: string;
  readonly kind: DecoyKind;
  /** Of kind `value`. */
  readonly value: string | null;
  readonly isAdvertised: boolean;
  readonly action: DecoyAction;
  readonly schemaJson: string | null;
  readonly description: string | null;
}

/** As proxies and workers are told it. */
export interface ToldDecoy extends Decoy {
  readonly isRetired: boolean;
  readonly changedMs: number;
}

export interface KeptDecoy extends Decoy {
  readonly createdMs: number;
  readonly createdBy: string;
  /** Calls of the tenant that asks. */
  readonly hits: number;
  readonly lastHitMs: number | null;
}

/** How often the calls of an agent touched a decoy in all, as the store of its proxy counts it. */
export interface CountedHits {
  readonly decoyId: string;
  readonly tenant: string;
  readonly agent: string;
  readonly hits: number;
  readonly lastMs: number;
  readonly correlationId: string;
}
export interface KeptHits extends CountedHits {
  readonly decoy: Pick<Decoy, 'name' | 'kind'>;
  readonly firstMs: number;
  readonly contained: DecoyHit['contained'];
}

export type KnownHits = Pick<CountedHits, 'hits' | 'lastMs' | 'correlationId'>;
/** Whether it says nothing new. A proxy whose store was lost counts from one again: its calls are newer ones. */
export const isKnown = (told: CountedHits, known: KnownHits | null): boolean =>
  known !== null &&
  told.hits <= known.hits &&
  (told.correlationId === known.correlationId || told.lastMs <= known.lastMs);

export interface DecoyStore {
  /** Those that count for a tenant: its own, and everybody's of other names. By their names. */
  decoys(tenant: string): Promise<readonly KeptDecoy[]>;
  /** Throws `decoy_exists`, also for one with the same value, or `decoys_exhausted`. */
  addDecoy(decoy: Omit<Decoy, 'id'>, by: RevokedBy): Promise<KeptDecoy>;
  /** Throws `not_found`. */
  retireDecoy(of: Pick<Decoy, 'tenant' | 'name'>, by: RevokedBy): Promise<void>;
  /** The one with this id, also one that was retired. */
  decoyById(id: string): Promise<Decoy | null>;
  /** The hits of a tenant, the newest first; `DECOY_HITS_LISTED` at most. */
  decoyHits(tenant: string): Promise<readonly KeptHits[]>;
  /** Those of this agent that are known. */
  hitsKnown(of: Pick<CountedHits, 'decoyId' | 'tenant' | 'agent'>): Promise<KnownHits | null>;
  keepHits(counted: CountedHits, contained: DecoyHit['contained']): Promise<void>;
}

/** A decoy has one row, however often it is added and taken away. */
export const decoyIdOf = ({ tenant, name }: Pick<Decoy, 'tenant' | 'name'>): string =>
  uuidFromDigest('gate.identity-decoy', tenant, name);
export const hitsIdOf = ({ decoyId, tenant, agent }: Pick<CountedHits, 'decoyId' | 'tenant' | 'agent'>): string =>
  uuidFromDigest('gate.identity-decoy-hits', decoyId, tenant, agent);
