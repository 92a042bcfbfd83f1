import { type Logger, pino } from 'pino';

/** What people of a provider may, as the tests of each way to sign in by one have it. */
export const FEDERATED_RULES = {
  tenantMap: new Map([
    ['acme', 'acme'],
    ['beta', 'beta'],
  ]),
  adminGroups: ['admins'],
  approverGroups: ['approvers'],
  viewerGroups: ['viewers'],
  teamGroups: ['payments'],
  mfaValues: ['mfa'],
};

/** A log whose lines a test reads. */
export const loggerTo = (write: (line: string) => void): Logger => pino({ base: null }, { write });
