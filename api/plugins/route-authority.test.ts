import { describe, expect, it } from '@jest/globals';
import {
  CALLER_IDS,
  GATE_OWN_ROUTES,
  type GovernedService,
  NOT_BUILT_YET,
  ROUTE_AUTHORITY,
  routeName,
} from '../../contracts/route-authority.js';
import { routeMatcher } from '../../domain/identity/route-matcher.js';

const services = Object.keys(NOT_BUILT_YET) as GovernedService[];
const rowsOf = (service: GovernedService) =>
  [...ROUTE_AUTHORITY, ...GATE_OWN_ROUTES].filter((row) => row.service === service);

describe('spec 4.9: the route authority table', () => {
  it('has 141 rows: 29 hil, 51 identity, 36 ledger, 25 policy-engine', () => {
    const count = (service: string) => ROUTE_AUTHORITY.filter((row) => row.service === service).length;
    expect([count('hil'), count('identity'), count('ledger'), count('policy-engine')]).toEqual([29, 51, 36, 25]);
    expect(ROUTE_AUTHORITY).toHaveLength(141);
  });

  it('names only known callers, at least one per row, and none of the 141 is public', () => {
    const known: readonly string[] = Object.values(CALLER_IDS);
    for (const { callers } of ROUTE_AUTHORITY) {
      if (callers === 'public') throw new Error('a row of the specification is public');
      expect(callers.length).toBeGreaterThan(0);
      expect(callers.filter((caller) => !known.includes(caller))).toEqual([]);
    }
  });

  it.each(services)('reads one way only with the own routes of %s added', (service) => {
    const match = routeMatcher(rowsOf(service));
    for (const row of rowsOf(service)) expect(match(row.method, row.path)).toBe(row);
  });

  it('prefixes every capability with the service it belongs to', () => {
    for (const row of [...ROUTE_AUTHORITY, ...GATE_OWN_ROUTES]) {
      expect(row.capability.split('.')[0]).toBe(row.service === 'policy-engine' ? 'policy' : row.service);
    }
  });

  // Pins typed from the specification, one per legend entry and one per special case.
  it.each([
    ['hil', 'POST /decide/{id}', 'hil.decision.execute', 'service-console service-simulator'],
    ['hil', 'POST /pending', 'hil.pending.create', 'service-proxy service-simulator'],
    ['hil', 'DELETE /identities/{oidc_sub}/slack', 'hil.identity.manage', 'service-console'],
    ['hil', 'POST /webhook/teams', 'hil.webhook.receive', 'service-console'],
    ['identity', 'POST /svid', 'identity.svid.agent.issue', 'agent-workload service-simulator'],
    ['identity', 'POST /sign/blob', 'identity.sign.blob', 'service-ledger'],
    [
      'identity',
      'POST /workload-svid',
      'identity.svid.workload.issue',
      'service-brain service-console service-hil service-identity service-ledger service-policy-engine service-proxy service-simulator',
    ],
    [
      'identity',
      'POST /attestation/verify',
      'identity.attestation.verify',
      'agent-workload service-identity service-proxy',
    ],
    ['ledger', 'POST /log', 'ledger.append', 'service-deep-review service-proxy'],
    ['ledger', 'GET /stream/audit', 'ledger.audit.stream', 'service-console'],
    ['policy-engine', 'POST /evaluate', 'policy.evaluate', 'service-console service-proxy'],
    ['policy-engine', 'DELETE /policies/tenant/{prefix}', 'policy.tenant.lifecycle', 'service-console service-proxy'],
  ] as const)('%s %s needs %s of %s', (service, name, capability, callers) => {
    const row = rowsOf(service).find((candidate) => routeName(candidate) === name);
    expect(row?.capability).toBe(capability);
    expect(row?.callers).toHaveLength(callers.split(' ').length);
    expect(row?.callers).toEqual(expect.arrayContaining(callers.split(' ')));
  });
});

describe('the list of rows not built yet', () => {
  it.each(services)('holds only rows of %s, each once', (service) => {
    const names = rowsOf(service).map(routeName);
    expect(NOT_BUILT_YET[service].filter((name) => !names.includes(name))).toEqual([]);
    expect(new Set(NOT_BUILT_YET[service]).size).toBe(NOT_BUILT_YET[service].length);
  });
});
