import { Counter, Gauge, type Registry } from 'prom-client';

export interface ConsoleMetrics {
  /** Somebody tried to sign in. */
  attempt(outcome: 'accepted' | 'refused' | 'throttled' | 'provider_away'): void;
  /** Somebody asked for what needs a higher role. */
  roleDenied(required: string, actual: string): void;
  /** Whether the console knows who its operators are. */
  operatorTrust(isReady: boolean): void;
  /** A command line asked to act for somebody, or what came of that. */
  device(outcome: DeviceOutcome): void;
}

export type DeviceOutcome = 'asked' | 'allowed' | 'refused' | 'given' | 'replayed';

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
  const trust = new Gauge({
    name: 'gate_console_operator_trust_ready',
    help: 'Where operators sign in by certificate, whether the console can read who they are: 0 while GATE_CONSOLE_OPERATORS_FILE cannot be read',
    registers: [registry],
  });
  // Where nobody signs in so there is no such file, and nothing is said of one.
  trust.remove();
  const devices = new Counter({
    name: 'gate_console_device_grants_total',
    help: 'Sign-ins of command lines, by step; replayed: a code that was used twice, whose token has ended',
    labelNames: ['outcome'],
    registers: [registry],
  });
  return {
    device: (outcome) => devices.inc({ outcome }),
    attempt: (outcome) => attempts.inc({ outcome }),
    operatorTrust: (isReady) => trust.set(isReady ? 1 : 0),
    roleDenied: (required, actual) => denials.inc({ required, actual }),
  };
}
