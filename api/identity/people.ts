import type { FastifyRequest } from 'fastify';
import type { Operator } from '../../config/hil.js';
import { CALLER_IDS } from '../../contracts/route-authority.js';
import { GateError } from '../../domain/errors.js';
import { assertWordHolds, isSubjectOf, VOUCHED_METHODS } from '../../domain/review/vouching.js';
import { assertAdministrator, principalOf, scopeReader, subjectOf } from '../hil/scope.js';
import { bearerOf } from '../plugins/bearer.js';
import { type Administrator, type AdministratorOf, assertTenant } from './administrator.js';

/** Somebody who may stop agents. */
export interface Person extends Administrator {
  /** Known by a credential of their own, as two people who decide together must be. */
  readonly isNamed: boolean;
  /** The teams of somebody who may do something with what is theirs alone; `null`: an administrator. */
  readonly teams: readonly string[] | null;
}

export interface People {
  /** Throws `invalid_token`, `unauthenticated`, or `role_too_low` for whoever is no administrator. */
  administratorOf(request: FastifyRequest): Person;
  /** The same for whoever acts for this tenant; throws `tenant_mismatch` for another's administrator. */
  administratorIn(tenant: string, request: FastifyRequest): Person;
  /** An administrator, or somebody who decides and is of a team. Throws as for an administrator. */
  actorOf(request: FastifyRequest): Person;
  /** The same for whoever acts for this tenant; throws `tenant_mismatch`. */
  actorIn(tenant: string, request: FastifyRequest): Person;
  /** The tenant that a reader may see; `null` for a service that needs no person and sees all. */
  readerOf(request: FastifyRequest): string | null;
  /** Throws `tenant_mismatch` where a reader may not see this tenant. */
  assertReads(tenant: string, request: FastifyRequest): void;
  /** Whether somebody besides this person is known who could confirm: another operator, or whoever signs in where the console vouches for people. */
  hasOther(person: Person): boolean;
}

export interface PeopleOptions {
  readonly administratorOf: AdministratorOf;
  readonly operators: readonly Operator[];
  /** With it the console vouches for people who signed in there. */
  readonly decideToken?: string | undefined;
  /** How people sign in there; by the tokens of operators by default. */
  readonly signIn?: string | undefined;
  /** The tenant of the one administrator who signs in by a password. */
  readonly adminTenant?: string | undefined;
  readonly clock: () => number;
}

/** Throws `owner_team_not_in_token` for somebody who is no administrator, and not of the team whose it is. */
export function assertOfTeam({ teams }: Pick<Person, 'teams'>, ownerTeam: string | null): void {
  if (teams !== null && (ownerTeam === null || !teams.includes(ownerTeam)))
    throw new GateError('owner_team_not_in_token');
}
/** Services that are named for what they read in the table of callers, besides the console, which acts for people. */
const SEEING: ReadonlySet<string> = new Set([CALLER_IDS.proxy, CALLER_IDS.identity, CALLER_IDS.policyEngine]);

/**
 * Who stops agents: an operator by token, an administrator whom the console vouches for, or the token of the administrator, which is of a tenant and
 * names nobody (docs/architecture/identity.md#standing).
 */
export function peopleOf({
  administratorOf,
  operators,
  decideToken,
  signIn,
  adminTenant,
  clock,
}: PeopleOptions): People {
  const scopeOf = scopeReader({ operators, decideToken });
  const vouchesAs = decideToken === undefined ? undefined : VOUCHED_METHODS.find((method) => method === signIn);

  function byToken(request: FastifyRequest): Person | null {
    try {
      return { ...administratorOf(request), isNamed: false, teams: null };
    } catch {
      return null;
    }
  }
  function scoped(request: FastifyRequest) {
    if (bearerOf(request) === null) throw new GateError('invalid_token');
    const scope = scopeOf(request);
    if (scope.operator === null && scope.vouched === null) throw new GateError('invalid_token');
    if (scope.vouched !== null) assertWordHolds(scope.vouched, clock());
    return scope;
  }

  function administrator(request: FastifyRequest): Person {
    const known = byToken(request);
    if (known !== null) return known;
    const scope = scoped(request);
    assertAdministrator(scope);
    return { tenant: scope.tenant, sub: principalOf(scope).subject, isNamed: true, teams: null };
  }
  function actor(request: FastifyRequest): Person {
    const known = byToken(request);
    if (known !== null) return known;
    const scope = scoped(request);
    const { tenant, vouched } = scope;
    const { role, teams = [] } = vouched ?? {};
    if (role !== 'approver' || teams.length === 0) return administrator(request);
    return { tenant, sub: principalOf(scope).subject, isNamed: true, teams };
  }
  function readerOf(request: FastifyRequest): string | null {
    if (SEEING.has(request.caller?.callerId ?? '')) return null;
    return byToken(request)?.tenant ?? scoped(request).tenant;
  }

  return {
    administratorOf: administrator,
    administratorIn(tenant, request) {
      const person = administrator(request);
      assertTenant(person, tenant);
      return person;
    },
    actorOf: actor,
    actorIn(tenant, request) {
      const person = actor(request);
      assertTenant(person, tenant);
      return person;
    },
    readerOf,
    assertReads(tenant, request) {
      const own = readerOf(request);
      if (own !== null && own !== tenant) throw new GateError('tenant_mismatch');
    },
    hasOther: ({ tenant, sub }) =>
      operators.some((operator) => operator.tenant === tenant && subjectOf(operator) !== sub) ||
      (vouchesAs === 'basic-admin' ? tenant === adminTenant && !isSubjectOf(vouchesAs, sub) : vouchesAs !== undefined),
  };
}
