import { Counter, type Registry } from 'prom-client';

export interface IdentityMetrics {
  issued(by: 'token' | 'leaf' | 'quote'): void;
  refused(code: string): void;
  refreshed(callerKind: 'bootstrap' | 'workload', service: string): void;
}

export function identityMetrics(registry: Registry): IdentityMetrics {
  const registers = [registry];
  const issued = new Counter({
    name: 'gate_identity_svids_issued_total',
    help: 'Certificates given to agents, by what the request rested on; one that was given again counts again.',
    labelNames: ['authority'],
    registers,
  });
  const refused = new Counter({
    name: 'gate_identity_svids_refused_total',
    help: 'Requests for a certificate that were refused, by error code.',
    labelNames: ['code'],
    registers,
  });
  const refreshed = new Counter({
    name: 'gate_identity_workload_refreshes_total',
    help: 'Certificates given to services, by what they showed: their bootstrap certificate, or the one before.',
    labelNames: ['caller_kind', 'service'],
    registers,
  });
  return {
    refreshed: (callerKind, service) => refreshed.inc({ caller_kind: callerKind, service }),
    issued: (authority) => issued.inc({ authority }),
    refused: (code) => refused.inc({ code }),
  };
}
