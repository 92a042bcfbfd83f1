import { z } from 'zod';

const micros = z.number().int();
const spent = {
  /** What calls cost that have ended. */
  spent_micros: micros,
  /** What calls that have not ended may still cost. */
  reserved_micros: micros,
};

/** Query of `GET /spend`: a month in UTC, without it the present one. */
export const spendQuery = z.strictObject({
  month: z
    .string()
    .regex(/^\d{4}-(?:0[1-9]|1[0-2])$/, 'must be a month as `2026-11`')
    .optional(),
});

/** Most agents of one answer. */
export const SPENDERS_LISTED = 1_000;

/** Answer of `GET /spend`: what a tenant spent in a month, and its agents, the dearest first. */
export const tenantSpend = z.object({
  tenant: z.string(),
  month: z.string(),
  ...spent,
  agents: z.array(z.object({ agent_name: z.string(), ...spent })),
});
export type TenantSpend = z.infer<typeof tenantSpend>;
