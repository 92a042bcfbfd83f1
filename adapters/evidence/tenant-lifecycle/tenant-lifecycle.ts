import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { LifecycleKind, LifecycleReceipt } from '../../../contracts/erasure.js';
import type { EventKind } from '../../../contracts/event-kinds.js';
import type { JsonObject } from '../../../contracts/json.js';
import type { Ledger } from '../../../contracts/ledger.js';
import { canonicalJson, sha256Hex, uuidFromDigest } from '../../../domain/crypto/digest.js';
import { GateError } from '../../../domain/errors.js';
import type { Store } from '../../store/database.js';
import { reading } from '../../../domain/ledger/chain-store.js';
import type { Bundle, MakeBundle } from '../regulatory/bundle.js';
import type { LedgerTables } from '../../../domain/ledger/tables.js';
import { ownRow } from '../../../domain/ledger/own-rows.js';
import { type Erasure, refuseReserved } from '../../ledger/erasure/erasure.js';

export interface LifecycleTables extends LedgerTables {
  tenant_lifecycle: {
    operation_id: string;
    kind: LifecycleKind;
    tenant: string;
    generation: number | string;
    receipt: string;
  };
  ledger_tombstones: { tenant: string; hidden_at: string };
  artifact_parts: { sha256: string; part: number | string; bytes: Uint8Array };
}

/** The ledger's steps in a tenant's life cycle (docs/architecture/ledger-reads.md#erasure). */
export interface TenantLifecycle {
  /**
   * Runs the step, or returns the stored receipt when it already ran. An interrupted step safely starts again from its beginning. Throws
   * `tenant_reserved` for Gate's own tenant, `not_found` for an operation of another tenant, `final_export_required` for a tombstone
   * without a final export in the same operation, and whatever an export throws.
   */
  step(tenant: string, operationId: string, kind: LifecycleKind): Promise<LifecycleReceipt>;
  /** What was done for the tenant, newest first, 100 steps at most. */
  receipts(tenant: string): Promise<LifecycleReceipt[]>;
  /** The bytes of a final export by their SHA-256; empty for an unknown digest. */
  artifact(sha256: string): AsyncGenerator<Uint8Array>;
}

interface LifecycleOptions {
  readonly store: Store<LifecycleTables>;
  readonly append: Ledger['append'];
  readonly erasure: Pick<Erasure, 'tombstoneTenant'>;
  readonly makeBundle: MakeBundle;
  readonly clock: () => number;
}

type Outcome = Pick<LifecycleReceipt, 'state' | 'rows_affected' | 'artifact_sha256' | 'artifact_bytes'>;

const notOfTenant = (): GateError => new GateError('not_found', 'no such operation of this tenant');

const PART_BYTES = 1_048_576;
/** The latest time whose text still sorts correctly. */
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

export function createTenantLifecycle({
  store,
  append,
  erasure,
  makeBundle,
  clock,
}: LifecycleOptions): TenantLifecycle {
  const { db } = store;
  /** Steps running in this process: a caller that times out and asks again joins the running step. */
  const running = new Map<string, Promise<LifecycleReceipt>>();

  const stepsOf = (operationId: string) =>
    reading(() => db.selectFrom('tenant_lifecycle').selectAll().where('operation_id', '=', operationId).execute());

  const receipts = (tenant: string): Promise<LifecycleReceipt[]> =>
    reading(async () => {
      const steps = await db
        .selectFrom('tenant_lifecycle')
        .select('receipt')
        .where('tenant', '=', tenant)
        .orderBy('generation', 'desc')
        .limit(100)
        .execute();
      return steps.map(({ receipt }) => JSON.parse(receipt) as LifecycleReceipt);
    });

  async function take(tenant: string, operationId: string, kind: LifecycleKind): Promise<LifecycleReceipt> {
    refuseReserved(tenant);
    const taken = await stepsOf(operationId);
    if (taken.some((step) => step.tenant !== tenant)) throw notOfTenant();
    const receipt = taken.find((step) => step.kind === kind)?.receipt;
    if (receipt !== undefined) return JSON.parse(receipt) as LifecycleReceipt;
    if (kind === 'tombstone' && !taken.some((step) => step.kind === 'final_export'))
      throw new GateError('final_export_required');
    return keep(tenant, operationId, kind, await outcomes[kind](tenant, operationId));
  }

  const outcomes: Readonly<Record<LifecycleKind, (tenant: string, operationId: string) => Promise<Outcome>>> = {
    async final_export(tenant, operationId) {
      const to = await reading(() => behindEverything(tenant));
      // A tenant can leave although some of its rows were vacuumed; the manifest counts them.
      const all = { tenant, from: '1970-01-01T00:00:00.000Z', to, includeCompliance: true, markVacuumed: true };
      const bundle = await makeBundle(all);
      const { row_count, vacuumed } = bundle.manifest;
      let artifact: Pick<Outcome, 'artifact_sha256' | 'artifact_bytes'>;
      try {
        artifact = await reading(() => keepArtifact(bundle));
      } finally {
        // The stream deletes its files at the end, but a failure may stop reading before that.
        await bundle.discard();
      }
      await note('tenant.final_export', tenant, {
        tenant,
        operation_id: operationId,
        row_count,
        artifact_sha256: artifact.artifact_sha256,
        manifest_sha256: bundle.manifestSha256,
        ...(vacuumed && { vacuumed_rows: vacuumed.row_count }),
      });
      return { state: 'exported', rows_affected: row_count, ...artifact };
    },
    async tombstone(tenant) {
      // Before the row that says so: what is appended behind that row is hidden when it comes, and so is what a call says that ends later.
      await reading(() =>
        db
          .insertInto('ledger_tombstones')
          .values({ tenant, hidden_at: new Date(clock()).toISOString() })
          .onConflict((conflict) => conflict.doNothing())
          .execute(),
      );
      await erasure.tombstoneTenant(tenant);
      // What was being committed when it was marked, between the look at the chain's end and that row.
      await erasure.tombstoneTenant(tenant);
      // Counts all hidden rows, not only those of this attempt: an earlier attempt may have been interrupted before its receipt.
      const rows = await reading(() =>
        db
          .selectFrom('ledger_entries')
          .select((make) => make.fn.countAll().as('rows'))
          .where('tenant', '=', tenant)
          .where('deleted_at', 'is not', null)
          .executeTakeFirstOrThrow(),
      );
      return { state: 'tombstoned', rows_affected: Number(rows.rows), artifact_sha256: null, artifact_bytes: null };
    },
    async lifecycle_marker(tenant, operationId) {
      await note('tenant.provisioned', tenant, { tenant, operation_id: operationId });
      return { state: 'marked', rows_affected: 1, artifact_sha256: null, artifact_bytes: null };
    },
  };

  /** A time later than that of any row of the tenant. A signer's clock, or this one before it was set back, may have run ahead. */
  async function behindEverything(tenant: string): Promise<string> {
    const row = await db
      .selectFrom('ledger_entries')
      .select((make) => make.fn.max('timestamp').as('newest'))
      .where('tenant', '=', tenant)
      .executeTakeFirst();
    const newestMs = row?.newest ? Date.parse(row.newest) : 0;
    return new Date(Math.min(Math.max(clock(), newestMs) + 1, LAST_MS)).toISOString();
  }

  const note = (kind: EventKind, tenant: string, said: JsonObject) =>
    append([{ ...ownRow(kind, uuidFromDigest(kind, canonicalJson(said)), said), agent_id: `tenant:${tenant}` }]);

  /** Stores the receipt. When another process was first, returns that one's receipt. */
  async function keep(
    tenant: string,
    operationId: string,
    kind: LifecycleKind,
    outcome: Outcome,
  ): Promise<LifecycleReceipt> {
    return reading(async () => {
      for (;;) {
        const before = await db
          .selectFrom('tenant_lifecycle')
          .select((make) => make.fn.max('generation').as('generation'))
          .where('tenant', '=', tenant)
          .executeTakeFirstOrThrow();
        const generation = Number(before.generation ?? 0) + 1;
        const said = {
          tenant,
          operation_id: operationId,
          kind,
          ...outcome,
          generation,
          updated_at: new Date(clock()).toISOString(),
        };
        const receipt: LifecycleReceipt = { ...said, receipt_sha256: sha256Hex(canonicalJson(said)) };
        await db
          .insertInto('tenant_lifecycle')
          .values({ operation_id: operationId, kind, tenant, generation, receipt: JSON.stringify(receipt) })
          .onConflict((conflict) => conflict.doNothing())
          .execute();
        const kept = await db
          .selectFrom('tenant_lifecycle')
          .select(['tenant', 'receipt'])
          .where('operation_id', '=', operationId)
          .where('kind', '=', kind)
          .executeTakeFirst();
        if (kept && kept.tenant !== tenant) throw notOfTenant();
        if (kept) return JSON.parse(kept.receipt) as LifecycleReceipt;
        // Another step of the tenant took this generation; try the next one.
      }
    });
  }

  async function keepArtifact(bundle: Bundle): Promise<Pick<Outcome, 'artifact_sha256' | 'artifact_bytes'>> {
    const folder = await mkdtemp(join(tmpdir(), 'gate-artifact-'));
    try {
      const path = join(folder, 'bundle.tar.gz');
      const hash = createHash('sha256');
      let size = 0;
      await pipeline(
        bundle.stream(),
        async function* (source: AsyncIterable<Buffer>) {
          for await (const piece of source) {
            hash.update(piece);
            size += piece.length;
            yield piece;
          }
        },
        createWriteStream(path, { mode: 0o600 }),
      );
      const sha256 = hash.digest('hex');
      let part = 0;
      for await (const bytes of createReadStream(path, { highWaterMark: PART_BYTES }) as AsyncIterable<Buffer>) {
        await db
          .insertInto('artifact_parts')
          .values({ sha256, part, bytes })
          .onConflict((conflict) => conflict.doNothing())
          .execute();
        part += 1;
      }
      return { artifact_sha256: sha256, artifact_bytes: size };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  return {
    receipts,
    step(tenant, operationId, kind) {
      const name = `${tenant} ${operationId} ${kind}`;
      let step = running.get(name);
      if (!step) {
        step = take(tenant, operationId, kind).finally(() => running.delete(name));
        running.set(name, step);
      }
      return step;
    },
    async *artifact(sha256) {
      for (let part = 0; ; part++) {
        const row = await reading(() =>
          db
            .selectFrom('artifact_parts')
            .select('bytes')
            .where('sha256', '=', sha256)
            .where('part', '=', part)
            .executeTakeFirst(),
        );
        if (!row) return;
        yield row.bytes;
      }
    },
  };
}
