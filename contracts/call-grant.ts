import { z } from 'zod';

/** When within a week a grant counts: minutes of the day in a fixed offset from UTC, without daylight saving. */
export const recurrence = z.strictObject({
  tz_offset_minutes: z.number().int(),
  windows: z.array(
    z.strictObject({
      /** 0 is Monday. */
      weekdays: z.array(z.number().int()),
      start_minute: z.number().int(),
      /** Not in it. */
      end_minute: z.number().int(),
    }),
  ),
});
export type Recurrence = z.infer<typeof recurrence>;

/** A grant as its call carries it (docs/architecture/identity.md#grants). */
export interface CallGrant {
  readonly jti: string;
  /** `user:` and the person's subject at the issuer. */
  readonly act_sub: string;
  /** The issuer, by the name that the operator gave it. */
  readonly idp: string;
  readonly scope: readonly string[];
  readonly yellow_scope: readonly string[];
  /** Epoch seconds. */
  readonly exp: number;
  readonly nbf?: number;
  readonly max_uses?: number;
  readonly recurrence?: Recurrence;
}

/** What people are shown of the grant that a call came with, and what its rows say of it. */
export const delegation = z.strictObject({
  jti: z.uuid(),
  /** On whose behalf. */
  human_sub: z.string().max(300),
  idp: z.string().max(128),
  scope: z.array(z.string()),
  yellow_scope: z.array(z.string()),
  max_uses: z.number().int().nullable(),
  not_before: z.iso.datetime().nullable(),
  not_after: z.iso.datetime(),
  /** In words. */
  recurrence_summary: z.string().max(2_048).nullable(),
});
export type Delegation = z.infer<typeof delegation>;

/** An agent of another Gate as whose a call was asked for, by a token that was redeemed for it (docs/architecture/identity.md#actor-tokens). */
export interface CallActor {
  /** Its SPIFFE id, of the trust domain of its own Gate. */
  readonly sub: string;
  readonly iss: string;
  readonly jti: string;
}
