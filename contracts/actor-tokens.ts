import { z } from 'zod';
import { label } from './identity.js';

/** The longest life of an actor token. */
export const MOST_ACTOR_SECONDS = 60;
/** Of an actor token as it is sent in `X-Gate-Actor-Token`: all headers of a request together have 16 KiB. */
export const LONGEST_ACTOR_TOKEN = 4_096;
/** What it is made for: an agent that calls a tool of another Gate. */
export const ACTOR_PURPOSE = 'agent-to-agent';

/** SPIFFE-ID 2.1. */
export const trustDomainName = z.string().regex(/^[a-z0-9._-]{1,255}$/, 'must be the name of a trust domain');
const spiffeId = z.string().min(1).max(2_048);
/** Each once: what its holder does with it, and nothing else. */
const actorScope = z
  .array(z.string().min(1).max(512))
  .min(1)
  .max(128)
  .refine((scope) => new Set(scope).size === scope.length, 'must name each scope once');

/** Body of `POST /actor-token`, from a proxy or worker: for which of its agents, at which Gate, and what for. */
export const actorTokenRequest = z.strictObject({
  binding: z.strictObject({
    /** The agent's SPIFFE id, with its instance. */
    target: spiffeId,
    tenant: label,
    /** The trust domain whose Gate takes it. */
    audience: trustDomainName,
    purpose: z.literal(ACTOR_PURPOSE),
    /** What is about to be done, as the request that carries it says: `tools/call`. */
    operation: z.string().min(1).max(128),
    lifetime_seconds: z.number().int().min(1).max(MOST_ACTOR_SECONDS),
  }),
  scope: actorScope,
});
export type ActorTokenRequest = z.infer<typeof actorTokenRequest>;

export const issuedActorToken = z.strictObject({ token: z.string(), jti: z.uuid(), exp: z.number().int() });
export type IssuedActorToken = z.infer<typeof issuedActorToken>;

/** The claims of an actor token, and no others. `iss` and `aud` are trust domains, `sub` is an agent of the first. */
export const actorTokenClaims = z.strictObject({
  iss: spiffeId,
  sub: spiffeId,
  aud: spiffeId,
  scope: actorScope,
  iat: z.number().int(),
  exp: z.number().int(),
  jti: z.string().min(1).max(128),
});
export type ActorTokenClaims = z.infer<typeof actorTokenClaims>;

/** Body of `POST /actor-token/redeem`, from a proxy: the token, what the call that carries it is, and who makes that call. */
export const actorTokenRedemption = z.strictObject({
  token: z.string().min(1).max(LONGEST_ACTOR_TOKEN),
  expected: z.strictObject({
    issuer: spiffeId,
    subject: spiffeId,
    audience: spiffeId,
    scope: actorScope,
    /** Of the subject, at its own Gate. */
    tenant: label,
  }),
  /** The agent of this Gate as which the other one calls, by its certificate or access token. */
  shown_by: z.strictObject({ tenant: label, agent_name: label }),
});
export type ActorTokenRedemption = z.infer<typeof actorTokenRedemption>;

export const redeemedActorToken = z.strictObject({
  iss: spiffeId,
  sub: spiffeId,
  aud: spiffeId,
  scope: actorScope,
  jti: z.string(),
  exp: z.number().int(),
});
export type RedeemedActorToken = z.infer<typeof redeemedActorToken>;
