import { z } from 'zod';
import { MOST_TEAMS, ownerTeam } from '../../contracts/identity.js';
import { GateError } from '../errors.js';
import { parseStrictJson } from '../mcp/strict-json.js';

/** How people sign in at the console whom HIL knows by its word alone. */
export const VOUCHED_METHODS = ['oidc', 'saml', 'basic-admin', 'operator-mtls'] as const;
type VouchedMethod = (typeof VOUCHED_METHODS)[number];

/** `none`: somebody who may do nothing any more. */
export const VOUCHED_ROLES = ['none', 'viewer', 'approver', 'admin'] as const;
export type VouchedRole = (typeof VOUCHED_ROLES)[number];

/** Somebody whom the console vouches for, as `X-Gate-Decision-Principal` says it. */
export interface Vouched {
  readonly subject: string;
  readonly tenant: string;
  readonly method: VouchedMethod;
  readonly role: VouchedRole;
  /** When the session was opened that the word comes from, or the role taken away. A word of an earlier session gives nothing back. */
  readonly since_ms: number;
  /** When what the person may do ends whatever is said until then; `null` where nobody said so. */
  readonly until_ms: number | null;
  /** The teams to which somebody belongs who is no administrator. */
  readonly teams?: readonly string[] | undefined;
}

/**
 * How each method names people. No name of one method is one of another, nor an operator's by token (`operator:`), nor Gate's own
 * (`system:`): otherwise one person could be two, or somebody else.
 */
const SUBJECTS: Readonly<Record<VouchedMethod, RegExp>> = {
  oidc: /^oidc:[\x21-\x7e]{1,255}$/,
  saml: /^saml:[\x21-\x7e]{1,255}$/,
  'basic-admin': /^basic:[A-Za-z0-9._-]{1,63}$/,
  'operator-mtls': /^mtls:spiffe:\/\/[\x21-\x7e]{1,255}$/,
};

const vouched = z
  .strictObject({
    subject: z.string(),
    tenant: z.string().regex(/^[A-Za-z0-9._-]{1,63}$/),
    method: z.enum(VOUCHED_METHODS),
    // Who names no role vouches for somebody who decides: the header is there for nothing else.
    role: z.enum(VOUCHED_ROLES).default('approver'),
    // Who names no time is older than everybody who does.
    since_ms: z.int().nonnegative().default(0),
    until_ms: z.int().nonnegative().nullable().default(null),
    teams: z.array(ownerTeam).min(1).max(MOST_TEAMS).optional(),
  })
  .refine(({ subject, method }) => SUBJECTS[method].test(subject));

/** The longest header of somebody with the longest names. */
const LONGEST = 4_608;

/** How a decision names people besides: by the token of an operator, and by a passkey of HIL. */
const OPERATOR = /^operator:[A-Za-z0-9._-]{1,63}$/;
const PASSKEY = /^webauthn:[a-z0-9._-]{1,63}$/;
const PEOPLE = [OPERATOR, PASSKEY, ...Object.values(SUBJECTS)];

/** Whether a person can sign in under such a name; not whether there is one, nor whether a row's decider is a person (`deciders.ts`). */
export const isPersonsName = (text: string): boolean => PEOPLE.some((form) => form.test(text));

/** Whether the method names somebody so. */
export const isSubjectOf = (method: VouchedMethod, subject: string): boolean => SUBJECTS[method].test(subject);

/** Throws `unauthenticated` where what the console said of somebody is over. */
export function assertWordHolds({ until_ms }: Pick<Vouched, 'until_ms'>, nowMs: number): void {
  if (until_ms !== null && until_ms <= nowMs)
    throw new GateError('unauthenticated', 'What this person may do is over.');
}

/** The header's value: the hex of the UTF-8 of the JSON. */
export const vouchingText = ({ subject, tenant, method, role, since_ms, until_ms, teams = [] }: Vouched): string =>
  Buffer.from(
    JSON.stringify({ subject, tenant, method, role, since_ms, until_ms, ...(teams.length > 0 && { teams }) }),
  ).toString('hex');

/** Whom the header names; `null` for anything that is not exactly of its form. */
export function readVouching(text: string): Vouched | null {
  if (text.length > LONGEST) return null;
  const bytes = Buffer.from(text, 'hex');
  // Of other text than lower-case hex, the bytes are those of its beginning.
  if (bytes.toString('hex') !== text) return null;
  try {
    const read = vouched.safeParse(parseStrictJson(bytes.toString('utf8')));
    return read.success ? read.data : null;
  } catch {
    return null;
  }
}
