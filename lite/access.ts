import { createHmac } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { MayCall } from '../activities/upstream.js';
import type { TokenHolder } from '../api/console/sign-in/operator-token.js';
import type { Caller } from '../api/plugins/app.js';
import { bearerOf, knownToken, lookUpToken } from '../api/plugins/bearer.js';
import type { LiteConfig } from '../config/lite.js';
import type { DecisionPrincipal } from '../contracts/review.js';
import { uuidFromDigest } from '../domain/crypto/digest.js';
import { GateError } from '../domain/errors.js';
import { type AccessTokenRules, mayBeOf, tenantsOf } from '../domain/identity/access-tokens.js';
import { agentSpiffe } from '../domain/identity/spiffe.js';

/** The tenant of whoever is not named by a registry. */
export const DEFAULT_TENANT = '_legacy_unqualified';
const TRUST_DOMAIN = 'gate.local';

export type AgentAccess = 'open' | 'token' | 'registry' | 'oauth';

/** Whose rows an operator sees and decides; `tenant` is `null` for all of them. */
export interface LiteOperator {
  readonly tenant: string | null;
  readonly principal: (tenant: string) => DecisionPrincipal;
}

/** Who calls and who decides, by bearer tokens instead of certificates (docs/architecture/lite.md#access). */
export interface Access {
  readonly agents: AgentAccess;
  readonly operators: 'token' | 'registry';
  /** Every tenant that an agent can belong to. */
  readonly tenants: readonly string[];
  readonly agentOf: (request: FastifyRequest) => Caller | null;
  /** Whether a call may be of this agent now; a call outlives the start that took it. */
  readonly mayCall: MayCall;
  /** Throws `unauthenticated`. An agent's token is no operator's. */
  readonly operatorOf: (request: FastifyRequest) => LiteOperator;
  /** Everybody who may decide, as the console knows people. */
  readonly people: readonly TokenHolder[];
  /** The operator of a token, or `null`. */
  readonly operatorByToken: (token: string) => LiteOperator | null;
}

/**
 * `decideToken` is the operator's where no registry of operators is set: whoever reaches the port may ask, but a decision needs something
 * that agents do not have. `fingerprintKey` turns tokens into fingerprints for the ledger from which somebody who holds only the ledger
 * learns nothing about a token. `rules`: agents may also come with access tokens of an issuer.
 */
export function createAccess(
  { token, agents: registry, deciders }: Pick<LiteConfig, 'token' | 'agents' | 'deciders'>,
  decideToken: string,
  fingerprintKey: string,
  rules: AccessTokenRules | null = null,
): Access {
  const fingerprint = (text: string) => createHmac('sha256', fingerprintKey).update(text).digest('hex');
  const caller = (tenant: string, agent: string, credential: string): Caller => ({
    kind: 'agent',
    tenant,
    agent,
    callerId: 'agent-workload',
    spiffe: agentSpiffe(TRUST_DOMAIN, tenant, agent, uuidFromDigest('gate.lite-instance', tenant, agent)),
    fingerprint: fingerprint(credential),
  });
  const callers = registry
    ? registry.map((entry) => knownToken(entry.token, caller(entry.tenant, entry.agent, entry.token)))
    : token
      ? [knownToken(token, caller(DEFAULT_TENANT, 'bearer-agent', token))]
      : [];
  const anonymous = callers.length === 0 && !rules ? caller(DEFAULT_TENANT, 'anonymous', 'anonymous') : null;

  const operator = (tenant: string | null, name: string, credential: string): LiteOperator => ({
    tenant,
    principal: (scope) => ({
      subject: `operator:${name}`,
      tenant: scope,
      method: 'lite-bearer',
      credential: `bearer:sha256:${fingerprint(credential)}`,
      credential_kind: 'console-bearer',
    }),
  });
  const people: readonly TokenHolder[] = deciders
    ? deciders.map(({ tenant, token: own }) => ({ name: tenant, tenant, token: own }))
    : [{ name: 'lite', tenant: null, token: decideToken }];
  const operators = people.map((one) => knownToken(one.token, operator(one.tenant, one.name, one.token)));

  const may = new Set(
    (anonymous ? [anonymous] : callers.map(({ value }) => value)).map((one) => JSON.stringify([one.tenant, one.agent])),
  );

  return {
    mayCall: ({ tenant, agent }) =>
      may.has(JSON.stringify([tenant, agent])) || (rules !== null && mayBeOf(rules, { tenant, agent })),
    people,
    agents: registry ? 'registry' : token ? 'token' : rules ? 'oauth' : 'open',
    operators: deciders ? 'registry' : 'token',
    tenants: [
      ...new Set([
        ...(registry?.map(({ tenant }) => tenant) ?? (token || !rules ? [DEFAULT_TENANT] : [])),
        ...(rules ? tenantsOf(rules) : []),
      ]),
    ],
    agentOf(request) {
      if (anonymous) return anonymous;
      const offered = bearerOf(request);
      return offered === null ? null : lookUpToken(callers, offered);
    },
    operatorOf(request) {
      const offered = bearerOf(request);
      const found = offered === null ? null : lookUpToken(operators, offered);
      if (!found) throw new GateError('unauthenticated');
      return found;
    },
    operatorByToken: (offered) => lookUpToken(operators, offered),
  };
}
