import type { PasskeyRole } from '../../contracts/approval.js';

const PREFIX = 'webauthn:';

/** How somebody is named as a decider who is known by a passkey alone, and has no token. */
export const passkeyPerson = (name: string): string => `${PREFIX}${name}`;

export const isPasskeyPerson = (subject: string): boolean => subject.startsWith(PREFIX);

/** Somebody by the session of a passkey, who has no other credential. */
export interface PasskeyHolder {
  readonly subject: string;
  readonly tenant: string;
  readonly role: PasskeyRole;
  readonly credential_id: string;
  readonly expires_ms: number;
}
