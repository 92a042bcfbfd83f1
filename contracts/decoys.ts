import { z } from 'zod';
import { decoyAction, decoyKind } from './decoy-kinds.js';
import { label, standingReason } from './identity.js';

const instant = z.iso.datetime();

/** The decoys of this tenant are everybody's, where a tenant has none of its own by that name. */
export const EVERY_TENANT = '*';
/** Most decoys of a tenant: each is on the list that every proxy keeps in memory, and a value is looked for in every call. */
export const DECOYS_MOST = 200;
/** Most entries of one list of hits. */
export const DECOY_HITS_LISTED = 1_000;
/** Letters and digits that a value has at least: a shorter one stands in what has nothing to do with it. */
export const DECOY_VALUE_LEAST = 8;

export const decoyTenant = z.union([label, z.literal(EVERY_TENANT)]);
export const decoyName = z.string().regex(/^[A-Za-z0-9._-]{1,128}$/);

/** A tool that nobody should call, or a value that nobody should use. */
export const decoyRecord = z.strictObject({
  id: z.uuid(),
  tenant: decoyTenant,
  /** Of the tool; of a value, what people call it. */
  name: decoyName,
  kind: decoyKind,
  /** Whether agents see the tool in `tools/list`. */
  advertised: z.boolean(),
  action: decoyAction,
  /** What `tools/list` shows of it: a JSON object. */
  schema_json: z.string().nullable(),
  description: z.string().nullable(),
  /** The beginning of a value and how long it is; the whole is shown to nobody. */
  value_hint: z.string().nullable(),
  created_at: instant,
  created_by: z.string(),
  /** Calls of this tenant that touched it. */
  hits: z.number().int(),
  last_hit_at: instant.nullable(),
});
export type DecoyRecord = z.infer<typeof decoyRecord>;
/** Answer of `GET /decoys`: those that count for the tenant, its own and everybody's. */
export const decoyList = z.strictObject({ decoys: z.array(decoyRecord) });

/** Body of `POST /decoys`. */
export const newDecoy = z.strictObject({
  tenant: decoyTenant,
  name: decoyName,
  kind: decoyKind.default('tool'),
  /** Of kind `value`: what nobody should use. Found in any case, with other separators, and encoded. */
  value: z.string().min(1).max(512).optional(),
  advertised: z.boolean().default(false),
  /** `suspend` by default where it is advertised, else `force_hil`. Any other is `decoy_invalid`. */
  action: z.string().max(32).optional(),
  /** The input of the tool in lists: a JSON Schema of type `object`. */
  schema_json: z.string().max(16_384).optional(),
  description: z.string().min(1).max(1_000).optional(),
  reason: standingReason.optional(),
});

export const decoyPath = z.strictObject({ name: decoyName });
export const decoysQuery = z.strictObject({ tenant: label });
export const decoyRemovalQuery = z.strictObject({ tenant: decoyTenant });
export const decoyRetired = z.strictObject({ retired: z.literal(true) });

/** How often the calls of an agent touched a decoy. */
export const decoyHit = z.strictObject({
  decoy_id: z.uuid(),
  decoy: decoyName,
  kind: decoyKind,
  tenant: label,
  agent_name: z.string(),
  hits: z.number().int(),
  first_at: instant,
  last_at: instant,
  /** The last call. */
  correlation_id: z.string(),
  /** What was done to the agent: `observed` in observe mode, `unresolved` where there can be no such agent: its tenant has gone, or Gate itself is called so. */
  contained: z.enum(['suspend', 'force_hil', 'none', 'observed', 'unresolved']),
});
export type DecoyHit = z.infer<typeof decoyHit>;
export const decoyHits = z.strictObject({ hits: z.array(decoyHit) });

/** Body of `POST /decoys/hits`: how often in all, as the store of the proxy counts it. What is said twice changes nothing. */
export const decoyHitsTold = z.strictObject({
  hits: z
    .array(
      z.strictObject({
        decoy_id: z.uuid(),
        tenant: label,
        agent_name: z.string().min(1).max(256),
        hits: z.number().int().min(1),
        last_at: instant,
        correlation_id: z.string().min(1).max(64),
        /** False in observe mode. */
        contain: z.boolean(),
      }),
    )
    .max(500),
});
export type DecoyHitsTold = z.infer<typeof decoyHitsTold>;
