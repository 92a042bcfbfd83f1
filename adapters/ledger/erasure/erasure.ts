import { sql } from 'kysely';
import type { EventKind } from '../../../contracts/event-kinds.js';
import type { JsonObject } from '../../../contracts/json.js';
import type { Ledger } from '../../../contracts/ledger.js';
import { canonicalJson, sha256Hex, uuidFromDigest } from '../../../domain/crypto/digest.js';
import { GateError } from '../../../domain/errors.js';
import type { Store } from '../../store/database.js';
import { reading } from '../../../domain/ledger/chain-store.js';
import { turn } from '../rows.js';
import type { LedgerTables } from '../../../domain/ledger/tables.js';
import { plainName } from '../../../domain/own-names.js';
import { OWN_TENANT, ownRow } from '../../../domain/ledger/own-rows.js';

/** Rows hidden by one statement; other work runs between statements. */
const STEP = 5_000;

/** Result of cleaning up the demonstration. `selected` counts every demo row, `tombstoned` those that were visible until now. */
export interface NamespaceCleanup {
  readonly selected: number;
  readonly tombstoned: number;
  readonly retained_operator: number;
}

/**
 * Erasure hides rows (docs/architecture/ledger-reads.md#erasure): no read returns a hidden row, but the chain keeps it, `verify` walks it,
 * and the hashed bytes stay. Each erasure that hides anything appends a row with the count and the reason.
 */
export interface Erasure {
  /**
   * Hides every row of the tenant that exists at the time of the call. Returns how many were visible until now; a repeat returns 0. Throws
   * `tenant_reserved` for Gate's own tenant.
   */
  tombstoneTenant(tenant: string, reason?: string): Promise<number>;
  /** Hides every row of the demonstration's namespace; never an operator's row. Safe to repeat. */
  cleanUpDemo(): Promise<NamespaceCleanup>;
}

interface ErasureOptions {
  readonly store: Store<LedgerTables>;
  readonly append: Ledger['append'];
  readonly clock: () => number;
}

/** Throws `tenant_reserved` for the name of Gate's own tenant. */
export function refuseReserved(tenant: string): void {
  if (plainName(tenant) === OWN_TENANT) throw new GateError('tenant_reserved');
}

/** What each kind of erasure sets and selects by: the column for the time, and the column that is compared. */
const HIDDEN_BY = {
  tenant: { column: 'deleted_at', subject: 'tenant' },
  demo: { column: 'demo_deleted_at', subject: 'state_namespace' },
} as const;

export function createErasure({ store, append, clock }: ErasureOptions): Erasure {
  const { db } = store;

  async function newestSeq(): Promise<number> {
    const row = await db.selectFrom('ledger_entries').select('seq').orderBy('seq', 'desc').limit(1).executeTakeFirst();
    return Number(row?.seq ?? 0);
  }

  async function count(where: { column: 'tenant' | 'state_namespace'; value: string }): Promise<number> {
    const row = await db
      .selectFrom('ledger_entries')
      .select((make) => make.fn.countAll().as('rows'))
      .where(where.column, '=', where.value)
      .executeTakeFirstOrThrow();
    return Number(row.rows);
  }

  /** Hides in steps. When it is interrupted, the next call hides what is still visible. */
  async function hide(by: keyof typeof HIDDEN_BY, value: string, through: number): Promise<number> {
    const { column, subject } = HIDDEN_BY[by];
    const at = new Date(clock()).toISOString();
    let hidden = 0;
    for (let after = 0; after < through; ) {
      const found = await db
        .selectFrom('ledger_entries')
        .select('seq')
        .where(subject, '=', value)
        .where(column, 'is', null)
        .where('seq', '>', after)
        .where('seq', '<=', through)
        .orderBy('seq')
        .limit(STEP)
        .execute();
      const [first, last] = [found[0], found.at(-1)];
      if (!first || !last) break;
      const { numUpdatedRows } = await db
        .updateTable('ledger_entries')
        .set({ [column]: at })
        .where(subject, '=', value)
        .where(column, 'is', null)
        .where('seq', '>=', first.seq)
        .where('seq', '<=', last.seq)
        .executeTakeFirstOrThrow();
      hidden += Number(numUpdatedRows);
      after = Number(last.seq);
      await turn();
    }
    return hidden;
  }

  async function visible(by: keyof typeof HIDDEN_BY, value: string, through: number): Promise<boolean> {
    const { column, subject } = HIDDEN_BY[by];
    const row = await db
      .selectFrom('ledger_entries')
      .select(sql<number>`1`.as('one'))
      .where(subject, '=', value)
      .where(column, 'is', null)
      .where('seq', '<=', through)
      .limit(1)
      .executeTakeFirst();
    return row !== undefined;
  }

  /**
   * Appended before anything is hidden, so that rows never disappear without a trace. The reason that a person gave is stored in the row's
   * sidecar, where it can be purged.
   */
  function note(kind: EventKind, agentId: string, subject: JsonObject, reason: string | null): Promise<unknown> {
    const payload = reason === null ? null : canonicalJson({ reason });
    return append([
      {
        ...ownRow(kind, uuidFromDigest(kind, agentId, canonicalJson(subject), reason ?? ''), subject),
        agent_id: agentId,
        ...(payload !== null && { payload_sha256: sha256Hex(payload), payload_canonical_json: payload }),
      },
    ]);
  }

  return {
    tombstoneTenant: (tenant, reason) =>
      reading(async () => {
        refuseReserved(tenant);
        const through = await newestSeq();
        if (!(await visible('tenant', tenant, through))) return 0;
        await note('tenant.tombstoned', `tenant:${tenant}`, { tenant, through_seq: through }, reason ?? null);
        return hide('tenant', tenant, through);
      }),
    cleanUpDemo: () =>
      reading(async () => {
        const through = await newestSeq();
        let tombstoned = 0;
        if (await visible('demo', 'demo', through)) {
          await note('namespace.cleaned_up', 'gate-ledger', { namespace: 'demo', through_seq: through }, null);
          tombstoned = await hide('demo', 'demo', through);
        }
        return {
          selected: await count({ column: 'state_namespace', value: 'demo' }),
          tombstoned,
          retained_operator: await count({ column: 'state_namespace', value: 'operator' }),
        };
      }),
  };
}
