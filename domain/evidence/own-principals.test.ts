import { describe, expect, it } from '@jest/globals';
import { isReservedPrincipal, principalOf } from './own-principals.js';

const SERVICES = ['gate-proxy', 'gate-ledger', 'gate-operator', 'gate-policy-engine', 'gate-identity'];

describe('who is behind rows', () => {
  it.each([
    'tool_definition.drifted',
    'tool_definition.accepted',
    'call.aborted',
    'call.abandoned',
    'proxy.verdict',
    'hil.created',
    'behavior_drifted',
    'of_somebody.else',
    'constructor',
  ])('is an agent, whatever its name, where one row is %s', (method) => {
    for (const name of SERVICES) expect(principalOf(name, ['alarm.reconciled', method])).toBe('agent');
  });

  it('is a service of Gate or a tenant where all are of Gate', () => {
    expect(SERVICES.map((name) => principalOf(name, ['callback.delivered', 'svid.revoked']))).toEqual(
      SERVICES.map(() => 'service'),
    );
    expect(principalOf('tenant:acme', ['tenant.provisioned', 'active_agent.adjusted'])).toBe('tenant');
    expect(principalOf('bot', ['alarm.reconciled'])).toBe('agent');
  });
});

describe('a name that Gate writes rows under', () => {
  it('is one in either case', () => {
    expect([...SERVICES, 'Gate-Proxy', 'tenant:acme'].every(isReservedPrincipal)).toBe(true);
    expect(['bot', 'gate-proxy-2', 'tenant', 'gate'].some(isReservedPrincipal)).toBe(false);
  });
});
