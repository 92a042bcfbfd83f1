import { Counter, type Registry } from 'prom-client';

export interface ConsoleMetrics {
  /** Somebody tried to sign in. */
  attempt(outcome: 'accepted' | 'refused' | 'throttled' | 'provider_away'): void;
  /** Somebody asked for what needs a higher role. */
  roleDenied(required: string, actual: string): void;
}

export function consoleMetrics(registry: Registry): ConsoleMetrics {
  const attempts = new Counter({
    name: 'gate_console_auth_attempts_total',
    help: 'Attempts to sign in at the console, by outcome',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const denials = new Counter({
    name: 'gate_console_role_denials_total',
    help: 'Requests to the console that need a higher role than the person has',
    labelNames: ['required', 'actual'],
    registers: [registry],
  });
  return {
    attempt: (outcome) => attempts.inc({ outcome }),
    roleDenied: (required, actual) => denials.inc({ required, actual }),
  };
}
