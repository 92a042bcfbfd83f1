import type { FastifyRequest } from 'fastify';
import type { AgentOwner, Operator } from '../../config/hil.js';
import { CALLER_IDS } from '../../contracts/route-authority.js';
import type { DecisionPrincipal, DecisionSurface } from '../../contracts/review.js';
import { GateError, roleTooLow } from '../../domain/errors.js';
import type { PasskeyHolder } from '../../domain/review/passkey-people.js';
import { readVouching, type Vouched } from '../../domain/review/vouching.js';
import type { Caller } from '../plugins/app.js';
import { bearerOf, knownToken, lookUpToken } from '../plugins/bearer.js';

/** What a request may see and who decides. Each edition derives it from its own credentials. */
export interface ReviewScope {
  /** The tenants whose rows are listed. */
  readonly tenants: readonly string[];
  /** The tenant whose rows can be found by id; `undefined` means every tenant. */
  readonly tenant: string | undefined;
  /** The decider for a row of this tenant; `null` for callers that only read. */
  readonly decides: ((tenant: string) => DecisionPrincipal) | null;
  /** The operator whose token the request carries, also where a workload decides with it under a name of its own. */
  readonly operator?: Pick<Operator, 'name'> | null;
  /** The channel of a decision that names none, and whether a decision may name one (docs/architecture/reviews.md#channels). */
  readonly channel: { readonly name: DecisionSurface; readonly fixed: boolean };
  /** Whom the console vouches for; nobody where it is absent or `null`. */
  readonly vouched?: Vouched | null;
  /** Whose passkey's session it is, of those who have no token. */
  readonly holder?: PasskeyHolder | null;
}

/** The decider in this scope. Throws `unauthenticated` for callers that only read. */
export function deciderOf({ decides }: ReviewScope): (tenant: string) => DecisionPrincipal {
  if (decides === null) throw new GateError('unauthenticated');
  return decides;
}

/** Refuses whoever has no scope here before anything else of the request is looked at. */
export const scopeFirst =
  (scopeOf: (request: FastifyRequest) => unknown) =>
  (request: FastifyRequest, _reply: unknown, done: () => void): void => {
    scopeOf(request);
    done();
  };

/** Throws `role_too_low` for people who are known by the console's word, or by a passkey, as less than an administrator. An operator by token is one. */
export function assertAdministrator({ vouched, holder }: Pick<ReviewScope, 'vouched' | 'holder'>): void {
  const person = vouched ?? holder ?? null;
  if (person !== null && person.role !== 'admin') throw roleTooLow('admin', person.role);
}

/** Refuses everybody else before anything else of the request is looked at. */
export const administratorsOnly =
  (scopeOf: (request: FastifyRequest) => ReviewScope) =>
  (request: FastifyRequest, _reply: unknown, done: () => void): void => {
    assertAdministrator(scopeOf(request));
    done();
  };

/** The scope of a request between services: one tenant's rows, from the certificate and the token. */
export interface ServiceScope extends ReviewScope {
  readonly tenant: string;
  readonly caller: Caller;
  /** The operator whose token the request carries; `null` without one. */
  readonly operator: Operator | null;
  readonly vouched: Vouched | null;
  readonly holder: PasskeyHolder | null;
}

export interface ScopeOptions {
  readonly operators: readonly Operator[];
  readonly simulatorTenant?: string | undefined;
  /** With it the console vouches for people; without one nobody can. */
  readonly decideToken?: string | undefined;
  /** Whose passkey's session a request of the console shows, of those who have no token; looked up before. */
  readonly holderOf?: (request: FastifyRequest) => PasskeyHolder | null;
}

/** Names whom the console vouches for. */
export const PRINCIPAL_HEADER = 'x-gate-decision-principal';

const TENANT = /^[A-Za-z0-9._-]{1,63}$/;

/**
 * Reads the scope of a request (docs/architecture/reviews.md#scopes). The console names its tenant in `X-Gate-Tenant-Scope`, or presents an
 * operator's token, which is bound to one, or vouches for somebody with a token of its own. The proxy names the tenant of the agent's verified SVID. The simulator has one fixed tenant and
 * must not name any. Throws `tenant_scope_required`, `invalid_request`, `capability_denied`, and `unauthenticated` for a wrong token or one
 * of another tenant, which never falls back to fewer rights.
 */
export function scopeReader({
  operators,
  simulatorTenant,
  decideToken,
  holderOf = () => null,
}: ScopeOptions): (request: FastifyRequest) => ServiceScope {
  const known = operators.map((operator) => knownToken(operator.token, operator));

  function operatorOf(request: FastifyRequest): Operator | null {
    if (request.headers.authorization === undefined) return null;
    const offered = bearerOf(request);
    const found = offered === null ? null : lookUpToken(known, offered);
    if (found === null) throw new GateError('unauthenticated');
    return found;
  }

  const decides = decideToken === undefined ? [] : [knownToken(decideToken, true)];

  /** Throws `unauthenticated` unless token and header are both there, right, and of one tenant. */
  function vouchedOf(request: FastifyRequest, caller: Caller, named: string | null): Vouched | null {
    const header = request.headers[PRINCIPAL_HEADER];
    const offered = bearerOf(request);
    const proved = offered !== null && lookUpToken(decides, offered) === true;
    if (header === undefined && !proved) return null;
    const vouched = typeof header === 'string' ? readVouching(header) : null;
    if (!proved || vouched === null || caller.callerId !== CALLER_IDS.console || vouched.tenant !== named)
      throw new GateError('unauthenticated', 'The console vouches for nobody in this way.');
    return vouched;
  }

  return (request) => {
    const { caller } = request;
    if (caller === null) throw new GateError('caller_spiffe_missing');
    const named = namedTenant(request);
    const vouched = vouchedOf(request, caller, named);
    if (vouched !== null) return scopeOf(vouched.tenant, caller, null, vouched);
    if (caller.callerId === CALLER_IDS.simulator) {
      if (simulatorTenant === undefined) throw new GateError('capability_denied', 'no tenant is set for the simulator');
      if (named !== null)
        throw new GateError('invalid_request', 'X-Gate-Tenant-Scope: the simulator has one fixed tenant');
      return scopeOf(simulatorTenant, caller, boundTo(simulatorTenant, operatorOf(request)));
    }
    if (caller.callerId === CALLER_IDS.console) {
      const operator = operatorOf(request);
      const tenant = named ?? operator?.tenant;
      if (tenant === undefined) throw new GateError('tenant_scope_required');
      const holder = operator === null ? holderOf(request) : null;
      return scopeOf(tenant, caller, boundTo(tenant, operator), null, holder?.tenant === tenant ? holder : null);
    }
    if (named === null) throw new GateError('tenant_scope_required');
    return scopeOf(named, caller, null);
  };
}

const scopeOf = (
  tenant: string,
  caller: Caller,
  operator: Operator | null,
  vouched: Vouched | null = null,
  holder: PasskeyHolder | null = null,
): ServiceScope => {
  const console = caller.callerId === CALLER_IDS.console;
  const scope = { tenant, caller, operator, vouched, holder };
  return {
    ...scope,
    tenants: [tenant],
    decides: operator === null && holder === null && !mayDecide(vouched) ? null : () => principalOf(scope),
    // The console may name the channel; for other callers HIL sets it.
    channel: { name: console ? 'console' : 'simulator', fixed: !console },
  };
};

/** The tenant that a request names; `null` when it names none. */
export function namedTenant(request: FastifyRequest): string | null {
  const named = request.headers['x-gate-tenant-scope'];
  if (named === undefined) return null;
  if (typeof named !== 'string' || !TENANT.test(named))
    throw new GateError('invalid_request', 'X-Gate-Tenant-Scope: not a tenant');
  return named;
}

function boundTo(tenant: string, operator: Operator | null): Operator | null {
  if (operator !== null && operator.tenant !== tenant)
    throw new GateError('unauthenticated', 'The operator token is bound to another tenant.');
  return operator;
}

/**
 * The decider in this scope, from the certificate and the token alone. Throws `unauthenticated` without a token, because a workload
 * identity can read but not decide.
 */
export function principalOf({
  tenant,
  caller,
  operator,
  vouched,
  holder,
}: Pick<ServiceScope, 'tenant' | 'caller' | 'operator' | 'vouched' | 'holder'>): DecisionPrincipal {
  const credential = `workload-mtls:sha256:${caller.fingerprint}`;
  if (vouched !== null && mayDecide(vouched))
    return { subject: vouched.subject, tenant, method: vouched.method, credential, credential_kind: 'console-bearer' };
  if (holder !== null) {
    const { subject, credential_id } = holder;
    return { subject, tenant, method: 'webauthn', credential: credential_id, credential_kind: 'session-cookie' };
  }
  if (operator === null) throw new GateError('unauthenticated');
  const simulator = caller.callerId === CALLER_IDS.simulator;
  return {
    subject: simulator ? caller.spiffe : subjectOf(operator),
    tenant,
    method: simulator ? 'workload-mtls' : 'console-bearer',
    credential,
    credential_kind: 'console-bearer',
  };
}

const mayDecide = (person: Vouched | null): boolean => person?.role === 'approver' || person?.role === 'admin';

/** The operators of a tenant, as they are named as deciders. */
export const operatorsOf =
  ({ operators }: Pick<ScopeOptions, 'operators'>) =>
  (tenant: string): readonly string[] =>
    operators.filter((operator) => operator.tenant === tenant).map(subjectOf);

/** Whose agent this is, as they are named as deciders. */
export const ownersOf =
  (owners: readonly AgentOwner[]) =>
  (of: { readonly tenant: string; readonly agent_id: string }): readonly string[] =>
    owners
      .filter(({ tenant, agent }) => tenant === of.tenant && agent === of.agent_id)
      .map(({ operator }) => (operator.includes(':') ? operator : subjectOf({ name: operator })));

/** How an operator is named as a decider. */
export const subjectOf = ({ name }: Pick<Operator, 'name'>): string => `operator:${name}`;

/** Who decides by a link of this owner. */
export const subjectOfLink = (owner: string): string => (owner.includes(':') ? owner : subjectOf({ name: owner }));

/** The tenants whose operators are fewer than a review needs. */
export function tooFewFor(required: number, operators: readonly Operator[]): { tenant: string; operators: number }[] {
  const counts = new Map<string, number>();
  for (const { tenant } of operators) counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
  return [...counts].filter(([, count]) => count < required).map(([tenant, count]) => ({ tenant, operators: count }));
}
