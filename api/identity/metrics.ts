import { Counter, type Registry } from 'prom-client';

export interface IdentityMetrics {
  issued(by: 'token' | 'leaf'): void;
  refused(code: string): void;
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
  return {
    issued: (authority) => issued.inc({ authority }),
    refused: (code) => refused.inc({ code }),
  };
}
