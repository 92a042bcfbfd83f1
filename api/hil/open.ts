import type { Config } from '../../config/env.js';
import type { HIL_SETTINGS } from '../../config/hil.js';
import type { NotificationConfig } from '../../config/notifications.js';
import { slackAnswers } from '../../adapters/notification/http-channels.js';
import { channelsOf } from '../../adapters/notification/channels.js';
import type { Channel } from '../../domain/notification/ports.js';
import { placesOf } from '../../domain/notification/lines.js';
import { createNotifier } from '../../domain/notification/notifier.js';
import type { ReviewService } from '../../domain/review/ports.js';
import { dispositionFile } from '../../adapters/review/disposition-file.js';
import { startRetention } from '../../adapters/review/retention-sweep.js';
import { openReviewStore, reviewsOf } from '../../adapters/review/review-store.js';
import { bringUpToDate } from '../../domain/review/restored-store.js';
import { createDecisionSender, createRowSettler } from '../../workers/call-runner.js';
import { createReviewStarter } from '../../workers/review-starter.js';
import { engineAnswers } from '../../workers/readiness.js';
import { listenerOf, type Opened, type Opening } from '../plugins/declaration.js';
import { needed, readSigningKey } from '../plugins/start.js';
import { channelReadiness } from './channel-readiness.js';
import { approversIn } from './approvers.js';
import { createHilService } from './app.js';
import { decisionParts } from './decision-parts.js';
import { notificationMetrics, retentionMetrics } from './metrics.js';
import { tooFewFor } from './scope.js';

interface Settings {
  readonly own: Config<typeof HIL_SETTINGS>;
  readonly notifications: NotificationConfig;
}

export async function open({
  config: { own, notifications: told },
  shared,
  ...parts
}: Opening<Settings>): Promise<Opened<ReviewService>> {
  if (own.passkeyRequired !== 'none' && own.consoleUrl === undefined)
    throw new Error('GATE_HIL_PASSKEY_REQUIRED needs GATE_CONSOLE_URL: passkeys belong to the address of the console');
  const decisionKey = await readSigningKey(own.decisionKeyFile);
  const quorum = { strict: own.quorumStrict, risky: own.quorumRisky, destructive: own.quorumDestructive };
  const dispositions =
    own.dispositionsFile === undefined || own.dispositionsKey === undefined
      ? undefined
      : dispositionFile({ file: own.dispositionsFile, key: own.dispositionsKey });
  const reviews = await needed(
    'the review store',
    openReviewStore({
      target: parts.storeTarget('hil'),
      payloadKeys: own.payloadKeys,
      quorum,
      escalateShares: own.escalateShares,
      perAgent: { rows: own.maxParkedCalls, bytes: own.maxParkedBytes },
      rehearsals: own.maxRehearsals,
      dispositions,
    }),
  );
  parts.onStop('stores', 'the review store', () => reviews.close());
  if (dispositions) {
    const receipt = await needed('GATE_HIL_DISPOSITIONS_FILE', bringUpToDate(reviews, dispositions, Date.now));
    parts.logger.info({ receipt }, 'the review store is at what was decided about tenants and people');
  }
  const retention = startRetention(
    reviews.sweeping,
    own.retentionSweepSeconds * 1000,
    parts.logger,
    retentionMetrics(parts.registry),
  );
  parts.onStop('sweeps', 'the retention of reviews', () => retention.stop());
  // The worker writes the ledger row: at once when it runs in this process, otherwise when the call ends.
  if (!parts.together)
    reviews.alarms.onTampered(({ id }, reason) =>
      parts.logger.error({ pending_id: id, reason }, 'a review is not what Gate wrote'),
    );
  const mostPeople = Math.max(quorum.strict, quorum.risky, quorum.destructive);
  for (const { tenant, operators } of tooFewFor(mostPeople, own.operators))
    parts.logger.warn(
      { tenant, operators, required: mostPeople },
      'this tenant has fewer operators (GATE_HIL_OPERATORS) than some of its calls need (GATE_HIL_QUORUM_STRICT, _RISKY, _DESTRUCTIVE): nobody can approve those',
    );
  const channels = told.notificationMode === 'disabled' ? [] : channelsSet(told, own);
  const notifier = createNotifier({
    reviews,
    notices: reviews.notices,
    asShown: approversIn({ ...parts, ...own, reviews }).standing.marked,
    channels,
    defaultPool: told.defaultEscalationPool,
    tenants: told.notificationTenants,
    clock: Date.now,
    observe: notificationMetrics(parts.registry),
    gaveUp: (channel, notification_id, reason) =>
      parts.logger.warn({ channel, notification_id, reason }, 'a channel was not told of a review'),
    failed: (reason) => parts.logger.warn({ reason }, 'the messages of reviews cannot be read or written'),
  });
  parts.onStop('sweeps', 'the notifications', () => notifier.close());
  const engine = await shared.engine();
  const decisions = decisionParts({
    reviews,
    sender: createDecisionSender(engine, reviews.changeSeal),
    decisionKey,
    decisionLifeMs: own.decisionLifeSeconds * 1000,
    clock: Date.now,
    logger: parts.logger,
  });
  return {
    port: { ...reviewsOf(reviews, decisions.decideByRule), withdrawCall: decisions.withdrawCall },
    ready: () => reviews.ready(),
    begin: () => notifier.start(),
    listener: () =>
      listenerOf(
        createHilService({
          ...parts,
          reviews,
          ...decisions,
          settleRow: createRowSettler(engine, engine.settings.taskQueue),
          starter: createReviewStarter(engine, engine.settings),
          decisionKey,
          quorum,
          readiness: {
            orchestrator: engineAnswers(engine),
            // Told, and no reason to take the service away: whoever waits for a decision is served all the same.
            sweeper: () => retention.undone(),
            ...channelReadiness(told, notifier.kinds.length),
          },
          notifications: { mode: told.notificationMode, notifier },
          chats: {
            slackSecret: told.slackSigningSecret,
            slackApiUrl: told.slackApiUrl,
            answerSlack: slackAnswers(told.notificationTimeoutSeconds * 1000),
            teamsSecret: told.teamsSigningSecret,
          },
          operators: own.operators,
          decideToken: own.decideToken,
          bootstrapToken: own.bootstrapToken,
          vouchedSeconds: own.vouchedSeconds,
          agentOwners: own.agentOwners,
          sessionKey: own.sessionKey,
          linkSeconds: own.decisionLinkSeconds,
          consoleUrl: own.consoleUrl,
          passkeyRequired: own.passkeyRequired,
          simulatorTenant: own.simulatorTenant,
          decisionLifeSeconds: own.decisionLifeSeconds,
          bodyLimit: own.bodyLimitBytes,
        }),
        own,
      ),
  };
}

/** The channels that the settings name, and those of the pools. */
function channelsSet(told: NotificationConfig, own: Settings['own']): Channel[] {
  const parts = {
    timeoutMs: told.notificationTimeoutSeconds * 1000,
    places: placesOf(own.consoleUrl, own.sessionKey),
    slackDecides: told.slackSigningSecret !== undefined,
    teamsDecides: told.teamsSigningSecret !== undefined,
  };
  const slackOf = (place: string | undefined) =>
    place === undefined
      ? undefined
      : told.slackBotToken === undefined || place.includes('/')
        ? { webhookUrl: place }
        : { apiUrl: told.slackApiUrl, token: told.slackBotToken, channel: place };
  const pagerOf = (routingKey: string | undefined) =>
    routingKey === undefined ? undefined : { url: told.pagerDutyUrl, routingKey };
  const mailOf = (to: readonly string[] | undefined) =>
    to === undefined || told.smtpUrl === undefined || told.smtpFrom === undefined
      ? undefined
      : { url: told.smtpUrl, from: told.smtpFrom, to };
  const teamsOf = (webhookUrl: string | undefined) => (webhookUrl === undefined ? undefined : { webhookUrl });
  return [
    ...channelsOf({
      ...parts,
      slack: slackOf(told.slackChannel ?? told.slackWebhookUrl),
      teams: teamsOf(told.teamsWebhookUrl),
      pagerDuty: pagerOf(told.pagerDutyRoutingKey),
      webhook: told.webhookUrl === undefined ? undefined : { url: told.webhookUrl, bearer: told.webhookBearer },
      mail: mailOf(told.smtpTo),
    }),
    ...[...(told.escalationPools ?? [])].flatMap(([name, { slack, teams, pagerduty, smtp }]) =>
      channelsOf(
        {
          ...parts,
          slack: slackOf(slack),
          teams: teamsOf(teams),
          pagerDuty: pagerOf(pagerduty),
          mail: mailOf(smtp),
        },
        name,
      ),
    ),
  ];
}
