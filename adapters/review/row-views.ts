import { LRUCache } from 'lru-cache';
import type { JsonObject } from '../../contracts/json.js';
import type { ListedReview, PendingRequest } from '../../contracts/review.js';
import type { SandboxReport } from '../../contracts/sandbox.js';
import { canonicalDigest, canonicalJson } from '../../domain/crypto/digest.js';
import { GateError } from '../../domain/errors.js';
import { type Annotations, type Content, NO_CONTENT, shownUntil, view } from '../../domain/review/review-view.js';
import { type reviewSealing, storedSettlement } from '../../domain/review/sealed-review.js';
import { statusStored } from '../../domain/decision/transitions.js';
import type { Listed, Row, WithReport } from './stored-row.js';

/** What was opened of a row's report, and what of. */
interface OpenedReport extends Pick<WithReport, 'annotations' | 'sandbox_report' | 'data_key'> {
  readonly report: SandboxReport | null;
}
/** Lists are asked for again and again: what was opened of reports stays for a minute, up to about 16 MiB of them. */
const REPORTS = { maxSize: 16 * 2 ** 20, ttl: 60_000 };
const sizeOf = ({ sandbox_report }: OpenedReport): number => 500 + 4 * (sandbox_report?.length ?? 0);
const isEqual = (one: Uint8Array | null, other: Uint8Array | null): boolean =>
  one === null || other === null ? one === other : Buffer.compare(one, other) === 0;
const isSame = (one: OpenedReport, other: Omit<OpenedReport, 'report'>): boolean =>
  one.annotations === other.annotations &&
  isEqual(one.sandbox_report, other.sandbox_report) &&
  isEqual(one.data_key, other.data_key);

/** What a list showed of a row, of which row and report, and from when until when a list shows that. */
interface Shown {
  readonly mac: string | null;
  readonly report: SandboxReport | null;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly row: ListedReview;
}
/** To make what a row shows takes longer than to read and check it (bench/results/2026-11-28-pending-page.md). Kept like the reports. */
const SHOWN = { maxSize: 16 * 2 ** 20, ttl: 60_000 };
const lengthOf = ({ annotations, minimized_payload, risk_summary, settled, purged, hold }: Listed): number =>
  [annotations, minimized_payload, risk_summary, settled, purged, hold].reduce(
    (sum, text) => sum + (text?.length ?? 0),
    0,
  );

/** What rows that were checked show, opened with their keys. */
export function rowViews(sealing: ReturnType<typeof reviewSealing>, clock: () => number) {
  const reports = new LRUCache<string, OpenedReport>({ ...REPORTS, sizeCalculation: sizeOf });
  const listed = new LRUCache<string, Shown>(SHOWN);

  /** The request; `null` once it went at its date. */
  function opened(row: Row): JsonObject | null {
    let payload: JsonObject;
    if (row.purged !== null) return null;
    try {
      if (row.payload === null) throw new Error('the payload is gone');
      payload = JSON.parse(sealing.openPayload(row.payload, row).toString('utf8')) as JsonObject;
    } catch (cause) {
      throw new GateError('payload_unavailable', undefined, { cause });
    }
    // What is shown must match the digest that is signed, and later compared with what would run.
    if (canonicalDigest(payload) !== row.original_payload_digest) throw new GateError('review_tampered');
    return payload;
  }

  /** What the sandbox said, if the row is Gate's own and the report the row's. */
  function reportOf(
    row: Pick<WithReport, 'id' | 'status' | 'annotations' | 'sandbox_report' | 'data_key'>,
  ): SandboxReport | null {
    if (row.status === 'tampered' || row.sandbox_report === null) return null;
    const known = reports.get(row.id);
    if (known && isSame(known, row)) return known.report;
    const { sandbox_report_digest: digest = null } = JSON.parse(row.annotations) as Annotations;
    const report = digest === null ? null : sealing.openReport(row.sandbox_report, row, digest);
    const { annotations, sandbox_report, data_key } = row;
    reports.set(row.id, { annotations, sandbox_report, data_key, report });
    return report;
  }

  const contentOf = (row: Row, payload: JsonObject | null): Content => ({
    payload,
    report: reportOf(row),
    diff: row.status === 'tampered' ? null : sealing.openDiff(row.settled, row),
  });
  const shown = (row: Row, content: Content, now = clock()): PendingRequest => view(row, content, now);

  return {
    reportOf,
    shown,
    /** A row as a list shows it. The row was checked: its MAC is of what it holds and of nothing else, and nothing else is shown but the report. */
    listed(row: Listed, now: number): ListedReview {
      const report = reportOf(row);
      const known = listed.get(row.id);
      const isSame = known?.mac === row.mac && known.report === report && row.status !== 'tampered';
      if (isSame && now >= known.fromMs && now < known.untilMs) return known.row;
      const made = Object.assign(view(row, { ...NO_CONTENT, report }, now, 'summary'), {
        payload_summary: true as const,
      });
      const untilMs = shownUntil(row, now);
      if (row.status !== 'tampered')
        listed.set(
          row.id,
          { mac: row.mac, report, fromMs: now, untilMs, row: made },
          { size: 3_000 + 4 * lengthOf(row) },
        );
      return made;
    },
    /** Throws `payload_unavailable` where the request does not open, and `review_tampered` where it is another. */
    whole: (row: Row): PendingRequest => shown(row, contentOf(row, opened(row))),
    /** The same, but one unreadable request must not block what else the row says. */
    anyway(row: Row): PendingRequest {
      const now = clock();
      try {
        return shown(row, contentOf(row, opened(row)), now);
      } catch {
        return shown(row, contentOf(row, null), now);
      }
    },
    /** The settlement of a row as it was given. */
    settledText(row: Row): string {
      const { modification, ...settled } = storedSettlement(row.settled ?? '');
      const diff = sealing.openDiff(row.settled, row);
      const { reviewed_digest } = modification ?? {};
      return canonicalJson({
        ...settled,
        status: statusStored(settled),
        ...(modification && { modification: { reviewed_digest, diff } }),
      } as JsonObject);
    },
  };
}
