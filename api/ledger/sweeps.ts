import type { Logger } from 'pino';
import type { Config } from '../../config/env.js';
import type { LEDGER_SETTINGS } from '../../config/ledger.js';
import type { AnchorSource } from '../../adapters/ledger/anchors/anchors.js';
import { timeStampAnchor, webhookAnchor } from '../../adapters/ledger/anchors/sources.js';
import type { TimeStampTrust } from '../../domain/ledger/anchors/time-stamp.js';
import { postTo } from '../../adapters/outbound/webhook.js';
import type { Evidence } from '../../adapters/evidence/evidence.js';
import type { ChainVerifier, OpenedLedger } from '../../adapters/ledger/ledger-store.js';
import { startSweep, type RunningSweep } from '../../domain/sweep.js';

/** What the sweeps work on: no writer, and no rows. */
export interface SweptLedger {
  readonly ledger: Pick<OpenedLedger, 'transparency' | 'anchors' | 'retention'> & {
    readonly verifier: Pick<ChainVerifier, 'verify'>;
  };
  readonly evidence: Pick<Evidence, 'cases' | 'vacuum' | 'watchdogs'>;
}

/**
 * The ledger's repeating work. Each sweep reads from the store what is due and keeps nothing between two runs
 * (docs/decisions/ledger-sweeps.md). Sweeps without an address do not run.
 */
export function startLedgerSweeps(
  { ledger: { verifier, transparency, anchors, retention }, evidence }: SweptLedger,
  config: Config<typeof LEDGER_SETTINGS>,
  logger: Logger,
  trust: TimeStampTrust | null = null,
): RunningSweep {
  const sweeps: RunningSweep[] = [];
  const stopped = new AbortController();
  const every = (name: string, intervalMs: number, sweep: () => Promise<unknown>) => {
    const failed = (error: unknown) => logger.error({ err: error, sweep: name }, 'a sweep failed; it is tried again');
    sweeps.push(startSweep(intervalMs, sweep, failed));
  };
  const stopping = new Promise<void>((stop) => {
    stopped.signal.addEventListener('abort', () => stop());
  });
  // A full walk: it updates the gauge soon after the start, and a valid chain is then signed. A stop does not wait for a long walk; closing
  // the ledger ends it.
  every('verify', config.verifyEverySecs * 1000, () =>
    Promise.race([verifier.verify().then(({ valid }) => (valid ? transparency?.checkpoint() : undefined)), stopping]),
  );
  const { authorityWebhook: url, authorityBearer: bearer } = config;
  if (url !== undefined) {
    const intervalMs = config.authorityIntervalSecs * 1000;
    every('authority', intervalMs, async () => {
      const post = (body: string) => postTo({ url, bearer }, 'application/json', body);
      const { failed } = await evidence.cases.notifyAuthority({ post, intervalMs });
      if (failed > 0) logger.warn({ failed }, 'the authority did not confirm every report; they are sent again');
    });
  }
  const { retentionStandardSecs: standard, retentionExtendedSecs: extended } = config;
  if ((standard !== undefined || extended !== undefined) && !config.legalHold)
    every('retention', config.retentionPurgeSecs * 1000, async () => {
      const purged = await retention.purgeSidecars({
        standardMs: standard && standard * 1000,
        extendedMs: extended && extended * 1000,
      });
      if (purged > 0) logger.info({ purged }, 'bytes beside entries were kept long enough and are gone');
    });
  const { vacuumRetentionSecs: vacuumAfter, vacuumSinks: sinks } = config;
  if (vacuumAfter !== undefined && config.legalHold) logger.warn('GATE_LEDGER_LEGAL_HOLD: no entry is vacuumed');
  else if (vacuumAfter !== undefined)
    every('vacuum', config.vacuumIntervalSecs * 1000, async () => {
      const vacuumed = await evidence.vacuum({
        retentionMs: vacuumAfter * 1000,
        ...(sinks.length > 0 && { sinks }),
        signal: stopped.signal,
      });
      if (vacuumed > 0) logger.info({ vacuumed }, 'entries that the cold tier holds were deleted from the chain');
    });
  every('silence watchdog', config.silenceWatchdogSecs * 1000, async () => {
    const flagged = await evidence.watchdogs.silence({ thresholdHours: config.silenceThresholdHours });
    if (flagged > 0) logger.warn({ flagged }, 'agents are silent that were not before');
  });
  every('drift watchdog', config.driftWatchdogSecs * 1000, async () => {
    const { driftRecentDays: recentDays, driftBaselineDays: baselineDays } = config;
    const flagged = await evidence.watchdogs.drift({ recentDays, baselineDays });
    if (flagged > 0) logger.warn({ flagged }, 'agents behave otherwise than before');
  });
  const anchored = (source: AnchorSource) => {
    const intervalMs = config.anchorIntervalSecs * 1000;
    every(`anchor ${source.source}`, intervalMs, async () => {
      const { failed } = await anchors.sweep({ source, intervalMs });
      if (failed > 0)
        logger.warn({ source: source.source }, 'the root of the chain was not anchored; it is tried again');
    });
  };
  if (config.anchorTsaUrl !== undefined) anchored(timeStampAnchor(config.anchorTsaUrl, trust));
  if (config.anchorWebhook !== undefined) anchored(webhookAnchor(config.anchorWebhook));
  return {
    async stop() {
      stopped.abort();
      await Promise.all(sweeps.map((sweep) => sweep.stop()));
    },
  };
}
