import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createService, type Service, type ServiceOptions } from '../../api/plugins/service.js';

/** What a service is opened with where nobody looks at its log or its numbers. */
export const unwatched = () => ({
  logger: pino({ level: 'silent' }),
  registry: new Registry(),
});

/** A service without routes, of which nobody is a known caller unless `options` says who. */
export const bareService = (options: Partial<ServiceOptions> & Pick<ServiceOptions, 'name'>): Service =>
  createService({ ...unwatched(), trustDomain: 'gate.local', ...options });
