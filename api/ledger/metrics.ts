import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Evidence } from '../../adapters/evidence/evidence.js';
import type { ChainVacuum, ChainVerifier, ChainWriter } from '../../adapters/ledger/ledger-store.js';

/**
 * Metrics for alerts on the ledger: rows and commits, refused conflicts, results of sweeps, and whether the last walk found the chain
 * valid.
 */
export function ledgerMetrics(
  registry: Registry,
  {
    writer,
    verifier,
    vacuum,
    evidence,
  }: {
    readonly writer: Pick<ChainWriter, 'observe'>;
    readonly verifier: Pick<ChainVerifier, 'observeWalks'>;
    readonly vacuum: Pick<ChainVacuum, 'observe'>;
    readonly evidence: Pick<Evidence, 'observeFlags'>;
  },
): void {
  const registers = [registry];
  const rows = new Counter({ name: 'gate_ledger_append_rows_total', help: 'Entries appended.', registers });
  const batchRows = new Histogram({
    name: 'gate_ledger_append_batch_rows',
    help: 'Entries per commit; concurrent appends share one.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
    registers,
  });
  const seconds = new Histogram({
    name: 'gate_ledger_append_seconds',
    help: 'Time of one commit, sync to disk included.',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers,
  });
  const conflicts = new Counter({
    name: 'gate_ledger_entry_conflict_total',
    help: 'Appends refused because an entry with the id and other content exists.',
    registers,
  });
  const valid = new Gauge({
    name: 'gate_ledger_chain_valid',
    help: '1 when the last walk found the chain valid, 0 when not, NaN before the first.',
    registers,
  });
  valid.set(Number.NaN);
  writer.observe((commit) => {
    rows.inc(commit.rows);
    if (commit.rows > 0) batchRows.observe(commit.rows);
    seconds.observe(commit.seconds);
    conflicts.inc(commit.conflicts);
  });
  const vacuumed = new Counter({
    name: 'gate_ledger_vacuumed_entries_total',
    help: 'Entries that the vacuum deleted from the chain.',
    registers,
  });
  const flags = new Counter({
    name: 'gate_ledger_watchdog_flags_total',
    help: 'Rows the watchdogs left about agents.',
    labelNames: ['kind'],
    registers,
  });
  vacuum.observe((entries) => vacuumed.inc(entries));
  evidence.observeFlags((kind, raised) => flags.inc({ kind }, raised));
  verifier.observeWalks((result) => valid.set(result.valid ? 1 : 0));
}
