import { connect } from 'node:net';
import { createTransport, type SMTPSentMessageInfo } from 'nodemailer';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { errorText } from '../../domain/errors.js';
import { mailOf } from '../../domain/notification/events.js';
import { DeliveryFailed, type Sender } from '../../domain/notification/ports.js';
import { withoutAddress } from '../outbound/webhook.js';
import type { ChannelParts } from './http-channels.js';

export interface MailRoute {
  /** `smtp://` or `smtps://`, with user and password where the server wants them. */
  readonly url: string;
  readonly from: string;
  readonly to: readonly string[];
}

/** Mails in plain text over SMTP (RFC 5321). The messages of one row are one thread, and a repeat has the same Message-ID. */
export function mailChannel({ url, from, to }: MailRoute, { places, timeoutMs }: ChannelParts): Sender {
  const server = new URL(url);
  const secure = server.protocol === 'smtps:';
  const user = decodeURIComponent(server.username);
  const host = server.hostname.replace(/^\[|\]$/g, '');
  const port = Number(server.port) || (secure ? 465 : 587);
  /**
   * A transport for one mail, over a connection of ours: nodemailer limits only how long a server may be silent, and one that says a line each
   * second would hold the channel for ever.
   */
  const transportUntil = (limit: AbortSignal) =>
    createTransport({
      host,
      port,
      secure,
      ...(user !== '' && { auth: { user, pass: decodeURIComponent(server.password) } }),
      // A password is not sent in clear text.
      requireTLS: user !== '' && !secure,
      connectionTimeout: timeoutMs,
      greetingTimeout: timeoutMs,
      socketTimeout: timeoutMs,
      disableFileAccess: true,
      disableUrlAccess: true,
      getSocket(_options, done) {
        const socket = connect({ host, port });
        limit.addEventListener('abort', () => socket.destroy(limit.reason as Error), { once: true });
        const failed = (error: Error) => done(error, false);
        socket.once('error', failed).once('connect', () => {
          socket.off('error', failed);
          done(null, { connection: socket });
        });
      },
    });
  const threadOf = (id: string): string => `<${id}@gate.invalid>`;
  return {
    kind: 'smtp',
    takes: () => true,
    async send(notice, _earlier, reached = null) {
      const before = new Set(reached?.split(' '));
      const due = to.filter((address) => !before.has(digestOf(address)));
      if (due.length === 0) return null;
      const { subject, text } = mailOf(notice, places(notice));
      const thread = threadOf(`${notice.pending_id}.trigger`);
      const isFirst = notice.phase === 'trigger';
      const limit = new AbortController();
      const late = `the server did not take the mail within ${timeoutMs / 1000} s`;
      const timer = setTimeout(() => limit.abort(new Error(late)), timeoutMs);
      let sent: SMTPSentMessageInfo;
      try {
        sent = await transportUntil(limit.signal).sendMail({
          from,
          to: [...to],
          // Everybody stands in the mail; whom an earlier attempt reached does not get it again.
          envelope: { from, to: due },
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
        const reason = limit.signal.aborted
          ? late
          : withoutPeople(withoutAddress(errorText(error), url), [from, ...to]);
        throw new DeliveryFailed(reason, isFinal, { cause: error });
      } finally {
        clearTimeout(timer);
        limit.abort();
      }
      const refused = sent.rejectedErrors ?? [];
      if (refused.length === 0) return null;
      const taken = due.filter((address) => !sent.rejected.some((other) => isSame(other, address)));
      const passing = refused.find(({ responseCode = 0 }) => responseCode < 500);
      const why = withoutPeople(withoutAddress(errorText(passing ?? refused[0]), url), [from, ...to]);
      throw new DeliveryFailed(
        `the server refused ${refused.length} of ${to.length} receivers: ${why}`,
        passing === undefined,
        { reached: [...before, ...taken.map(digestOf)].join(' ') },
      );
    },
  };
}

const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();
/** A message names nobody in the store. */
const digestOf = (address: string): string => sha256Hex(address.toLowerCase()).slice(0, 16);

/** Whatever may be an address. What stands before the sign is bounded, as RFC 5321 bounds it. */
const ADDRESS = /[^\s<>()"',;:@]{1,64}@[^\s<>()"',;:@]{1,255}/gu;

/**
 * Words of a server without addresses: those of the mail, in whatever case it repeats them, and others that it names, such as those behind an
 * alias.
 */
function withoutPeople(text: string, addresses: readonly string[]): string {
  const longestFirst = addresses.toSorted((one, other) => other.length - one.length);
  let told = '';
  for (let at = 0; at < text.length; ) {
    const found = longestFirst.find((each) => text.slice(at, at + each.length).toLowerCase() === each.toLowerCase());
    told += found ? '…' : text.charAt(at);
    at += found?.length || 1;
  }
  return told.replaceAll(ADDRESS, '…');
}
