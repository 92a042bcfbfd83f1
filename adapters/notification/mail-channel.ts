import { createTransport } from 'nodemailer';
import { errorText } from '../../domain/errors.js';
import { mailOf } from '../../domain/notification/events.js';
import { type Channel, DeliveryFailed } from '../../domain/notification/ports.js';
import { withoutAddress } from '../outbound/webhook.js';
import type { ChannelParts } from './http-channels.js';

export interface MailRoute {
  /** `smtp://` or `smtps://`, with user and password where the server wants them. */
  readonly url: string;
  readonly from: string;
  readonly to: readonly string[];
}

/** Mails in plain text over SMTP (RFC 5321). The messages of one row are one thread, and a repeat has the same Message-ID. */
export function mailChannel({ url, from, to }: MailRoute, { places, timeoutMs }: ChannelParts): Channel {
  const server = new URL(url);
  const secure = server.protocol === 'smtps:';
  const user = decodeURIComponent(server.username);
  const transport = createTransport({
    host: server.hostname.replace(/^\[|\]$/g, ''),
    port: Number(server.port) || (secure ? 465 : 587),
    secure,
    ...(user !== '' && { auth: { user, pass: decodeURIComponent(server.password) } }),
    // A password is not sent in clear text.
    requireTLS: user !== '' && !secure,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const threadOf = (id: string): string => `<${id}@gate.invalid>`;
  return {
    kind: 'smtp',
    takes: () => true,
    async send(notice) {
      const { subject, text } = mailOf(notice, places(notice));
      const thread = threadOf(`${notice.pending_id}.trigger`);
      const isFirst = notice.phase === 'trigger';
      try {
        await transport.sendMail({
          from,
          to: [...to],
          subject,
          text,
          messageId: threadOf(notice.notification_id.replaceAll(':', '.')),
          ...(!isFirst && { inReplyTo: thread, references: [thread] }),
          headers: { 'Auto-Submitted': 'auto-generated' },
        });
      } catch (error) {
        const { responseCode } = error as { responseCode?: number };
        // A permanent refusal of the server; everything else may pass.
        const isFinal = responseCode !== undefined && responseCode >= 500;
        throw new DeliveryFailed(withoutAddress(errorText(error), url), isFinal, 0, { cause: error });
      }
      return null;
    },
    close: () => transport.close(),
  };
}
