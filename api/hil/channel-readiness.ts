import type { NotificationConfig } from '../../config/notifications.js';
import type { ReadinessChecks } from '../plugins/health.js';

/** Whoever demands that people are told is not served by a HIL that tells nobody. */
export const channelReadiness = (
  { notificationMode }: Pick<NotificationConfig, 'notificationMode'>,
  channels: number,
): ReadinessChecks =>
  notificationMode === 'enforce'
    ? {
        notifications() {
          if (channels === 0) throw new Error('GATE_HIL_NOTIFICATION_MODE is enforce, and no channel is set');
        },
      }
    : {};
