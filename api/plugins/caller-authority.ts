import type { ServiceApp } from './service.js';

export type GovernedService = 'hil' | 'identity' | 'ledger' | 'policy-engine';

export function enforceRouteAuthority(_app: ServiceApp, _service: GovernedService): void {}
