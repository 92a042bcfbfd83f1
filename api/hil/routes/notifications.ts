import { randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import {
  type NotificationMode,
  type NotificationsConfig,
  notificationsConfig,
  notificationsTested,
} from '../../../contracts/notification.js';
import { A_CHANNEL } from '../../../config/notifications.js';
import type { Notifier } from '../../../domain/notification/notifier.js';
import { noticesOfTest } from '../../../domain/notification/notice.js';
import type { NoticeStore } from '../../../domain/notification/ports.js';
import { GateError } from '../../../domain/errors.js';
import type { ServiceApp } from '../../plugins/app.js';
import { type ReviewScope, scopeFirst } from '../scope.js';
import { mayDecide } from './decide.js';

export interface NotificationRoutes {
  readonly mode: NotificationMode;
  readonly notifier: Notifier;
  readonly notices: NoticeStore;
  readonly scopeOf: (request: FastifyRequest) => ReviewScope;
  readonly clock: () => number;
}

const NO_CHANNEL = {
  disabled: 'GATE_HIL_NOTIFICATION_MODE is disabled, so nobody is told of anything; set warn or enforce',
  none: `no channel is set, so there is nothing to test; set one (${A_CHANNEL}) where HIL runs, and start it again`,
} as const;

/** Which channels are set, and a message that shows whether they work (docs/architecture/notifications.md). */
export function notificationRoutes(
  app: ServiceApp,
  { mode, notifier, notices, scopeOf, clock }: NotificationRoutes,
): void {
  async function config(): Promise<NotificationsConfig> {
    const { queued, dead } = await notices.counts();
    const isSet = (kind: (typeof notifier.kinds)[number]): boolean => notifier.kinds.includes(kind);
    return {
      mode,
      viable: notifier.kinds.length > 0,
      slack: isSet('slack'),
      teams: isSet('teams'),
      pagerduty: isSet('pagerduty'),
      webhook: isSet('webhook'),
      smtp: isSet('smtp'),
      escalation_pools: [...notifier.pools],
      queued,
      dead_letters: dead,
    };
  }

  app.get(
    '/notifications/config',
    { schema: { response: { 200: notificationsConfig } }, onRequest: scopeFirst(scopeOf) },
    config,
  );

  app.post(
    '/notifications/test',
    {
      schema: { body: z.strictObject({}).nullish(), response: { 200: notificationsTested } },
      onRequest: mayDecide(scopeOf),
    },
    async (request) => {
      if (notifier.kinds.length === 0 && notifier.pools.length === 0)
        throw new GateError('no_channel_set', NO_CHANNEL[mode === 'disabled' ? 'disabled' : 'none']);
      const [tenant = ''] = scopeOf(request).tenants;
      const { trigger, resolve } = noticesOfTest(randomUUID(), tenant, clock());
      return { results: await notifier.test(trigger, resolve), ...(await config()) };
    },
  );
}
