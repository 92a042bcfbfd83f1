import type { PasskeyRole } from '../../contracts/approval.js';
import type { DecisionPrincipal } from '../../contracts/review.js';
import type { TakenOut } from '../../contracts/tenant-dispositions.js';

export interface StoredPasskey {
  readonly credential_id: string;
  readonly tenant: string;
  readonly subject: string;
  /** COSE_Key (RFC 9052), base64url. */
  readonly public_key: string;
  readonly counter: number;
  readonly created_ms: number;
}

export interface NewPasskey extends StoredPasskey {
  /** SHA-256 of the key as SubjectPublicKeyInfo in its one usual encoding, hex: COSE has several of one key. */
  readonly key_sha256: string;
}

/**
 * What a ceremony is for: a person's first passkey, one beside others, one in place of those that were lost (or of none, for who was invited),
 * that of the first administrator, or a session.
 */
export const CEREMONY_PURPOSES = ['first', 'add', 'recover', 'found', 'login'] as const;
export type CeremonyPurpose = (typeof CEREMONY_PURPOSES)[number];
/** What a ceremony may be that makes a passkey. */
export type RegistrationPurpose = Exclude<CeremonyPurpose, 'login'>;

/** A ceremony under way. Of what the browser holds only digests are stored. */
export interface Ceremony {
  readonly id_sha256: string;
  readonly challenge_sha256: string;
  readonly tenant: string;
  readonly subject: string;
  readonly purpose: CeremonyPurpose;
  readonly created_ms: number;
  readonly expires_ms: number;
}

/** That a person may replace his passkeys. */
export interface Recovery {
  readonly tenant: string;
  readonly subject: string;
  readonly token_sha256: string;
  readonly expires_ms: number;
}

/** Passkeys and what belongs to them in HIL's store. Throws `store_unavailable`. */
export interface PasskeyStore {
  begin(ceremony: Ceremony): Promise<void>;
  /** When this person's ceremonies of a purpose began that are still under way. Forgets those whose time is over. */
  begun(of: Pick<Ceremony, 'tenant' | 'subject' | 'purpose'>, now: number): Promise<readonly number[]>;
  /** Forgets a person's ceremonies of a purpose but the newest. */
  keepNewest(of: Pick<Ceremony, 'tenant' | 'subject' | 'purpose'>, most: number): Promise<void>;
  /** Counts an attempt to finish; `null` where no ceremony of this person, or without a subject of anybody, can be finished. */
  attempt(
    idSha256: string,
    of: { readonly tenant: string; readonly subject: string | null; readonly now: number; readonly most: number },
  ): Promise<Ceremony | null>;
  /** False when it was over already. */
  end(idSha256: string): Promise<boolean>;
  /**
   * Ends the registration and stores its passkey, of a recovery as the person's only one, which ends every other ceremony of his; all or
   * nothing. False when it was over already;
   * `passkey_known` also for its key under another id, `passkey_session_required` for a `first` that is none any more, `recovery_refused` for
   * a second one who would be the first administrator.
   */
  complete(idSha256: string, passkey: NewPasskey, purpose: RegistrationPurpose): Promise<boolean>;
  /**
   * In place of an earlier one of the same person, and of what was begun with that. With `invited` it invites: false then for somebody who has
   * a passkey.
   */
  allowRecovery(recovery: Recovery, invited?: { readonly as: PasskeyRole; readonly at_ms: number }): Promise<boolean>;
  /** Takes somebody's passkeys, role and accounts in chats. False for nobody. Nothing is taken while it cannot be recorded outside the store. */
  remove(of: Approver): Promise<boolean>;
  /** The names of which somebody was taken out, also where somebody has the name again. */
  takenOut(): Promise<readonly TakenOut[]>;
  /** Takes over that somebody was taken out. False where the store knows it, or knows who has the name since. */
  standTakenOut(person: TakenOut): Promise<boolean>;
  /** Whether the token is the person's, and not over; the passkey that is registered with it uses it up. */
  recoverable(asked: Omit<Recovery, 'expires_ms'> & { readonly now: number }): Promise<boolean>;
  /** Whether the person ever had a passkey; also where the store says nothing any more that Gate wrote last. */
  registered(tenant: string, subject: string): Promise<boolean>;
  /** Whether there ever was a first administrator. */
  founded(): Promise<boolean>;
  /** Of somebody who has no token; `null` for everybody else, and where the row is not what Gate wrote last. */
  roleOf(tenant: string, subject: string): Promise<PasskeyRole | null>;
  /**
   * Who has a role of his own and a passkey, in one read. A row that Gate did not write, or whose key is not here, is nobody.
   */
  approvers(tenant: string): Promise<readonly PasskeyApprover[]>;
  /** A person's passkeys. A row that Gate did not write, or that was put back, is none. */
  of(tenant: string, subject: string): Promise<readonly StoredPasskey[]>;
  /** Compare-and-set of the counter. */
  used(credentialId: string, from: number, to: number): Promise<boolean>;
}

/** Somebody who may approve with nothing but a passkey. */
export interface PasskeyApprover {
  readonly subject: string;
  /** Since when the name is this person's, where somebody had it before; `null` otherwise. */
  readonly since_ms: number | null;
}

/** An approver whose other credential was checked. */
export type Approver = Pick<DecisionPrincipal, 'subject' | 'tenant'>;
