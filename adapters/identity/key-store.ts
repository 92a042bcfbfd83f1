import type { Kysely, Selectable } from 'kysely';
import type { KeyUse } from '../../contracts/identity.js';
import type { KeyEvent } from '../../domain/identity/identity-rows.js';
import { type IdentityKey, type KeyState, type KeyStore, withdrawDueMs } from '../../domain/identity/key-rotation.js';
import { GateError } from '../../domain/errors.js';
import type { IdentityTables } from './identity-tables.js';

type Database = Kysely<IdentityTables>;
type Row = Selectable<IdentityTables['identity_signing_keys']>;
const TABLE = 'identity_signing_keys';

/** What the store of identity has for its own keys. */
export interface KeyParts {
  readonly db: Database;
  intact<Found extends { readonly mac: string }>(table: typeof TABLE, row: Found): Found;
  marked<Values extends object>(table: typeof TABLE, values: Values): Values & { readonly mac: string };
  change(within: Database, table: typeof TABLE, was: Row, changes: Partial<Row>): Promise<boolean>;
  asked<Value>(work: () => Promise<Value>): Promise<Value>;
  /** One after the other. */
  inTurn<Value>(work: (within: Database) => Promise<Value>): Promise<Value>;
  told(within: Database, event: KeyEvent): Promise<unknown>;
}

/** Who does what is due. */
const ITSELF = 'gate-identity';

/** The keys with which identity signs, and how far each is (docs/architecture/identity.md#rotation). Each stage is one transaction with its row for the ledger. */
export function openKeyStore({ db, intact, marked, change, asked, inTurn, told }: KeyParts): KeyStore {
  const rowsOf = async (within: Database): Promise<readonly Row[]> => {
    const rows = await within.selectFrom(TABLE).selectAll().orderBy('announced_ms').orderBy('id').execute();
    return rows.map((row) => intact(TABLE, row));
  };
  const insert = async (within: Database, values: Omit<Row, 'mac'>): Promise<Row> => {
    const row = marked(TABLE, values);
    await within.insertInto(TABLE).values(row).execute();
    return row;
  };
  async function moved(within: Database, row: Row, changes: Partial<Row>): Promise<void> {
    if (!(await change(within, TABLE, row, changes)))
      throw new GateError('store_unavailable', 'the key changed meanwhile; ask again');
  }

  /** The key signs from now on, and the one before no more. */
  async function sign(within: Database, row: Row, signing: Row | undefined, nowMs: number): Promise<void> {
    const dueMs = withdrawDueMs(
      row.key_use as KeyUse,
      nowMs,
      row.old_until_ms === null ? null : Number(row.old_until_ms),
    );
    if (signing) await moved(within, signing, { state: 'retiring', retired_ms: nowMs, withdraw_due_ms: dueMs });
    await moved(within, row, { state: 'signing', signed_ms: nowMs });
    await told(within, {
      kind: 'identity.key_signs',
      id: row.id,
      by: ITSELF,
      reason: null,
      detail: { use: row.key_use, replaces: signing?.id ?? null, old_until: new Date(dueMs).toISOString() },
    });
  }
  async function withdraw(within: Database, row: Row, nowMs: number): Promise<void> {
    // What it signed is over: nobody needs its private half again.
    await moved(within, row, { state: 'withdrawn', withdrawn_ms: nowMs, sealed_key: null });
    await told(within, {
      kind: 'identity.key_withdrawn',
      id: row.id,
      by: ITSELF,
      reason: null,
      detail: { use: row.key_use },
    });
  }

  return {
    identityKeys: () => asked(async () => (await rowsOf(db)).map(keyOf)),
    keyOfRequest: (requestId) =>
      asked(async () => {
        const row = await db.selectFrom(TABLE).selectAll().where('request_id', '=', requestId).executeTakeFirst();
        return row ? keyOf(intact(TABLE, row)) : null;
      }),
    announceKey: ({ requestId, use, id, publicPem, sealed, configured, announceMs, oldUntilMs, by, reason, nowMs }) =>
      inTurn(async (within) => {
        const rows = (await rowsOf(within)).filter((row) => row.key_use === use);
        const known = rows.find((row) => row.request_id === requestId);
        if (known) return keyOf(known);
        const active = rows.find(({ state }) => state === 'announced' || state === 'retiring');
        if (active) throw new GateError('rotation_active', undefined, { fields: { key_id: active.id } });
        const common = {
          key_use: use,
          announced_ms: nowMs,
          retired_ms: null,
          withdraw_due_ms: null,
          withdrawn_ms: null,
          set_by: by,
        };
        const signing =
          rows.find(({ state }) => state === 'signing') ??
          (await insert(within, {
            ...common,
            id: configured.id,
            state: 'signing',
            public_pem: configured.publicPem,
            sealed_key: null,
            request_id: null,
            signs_due_ms: nowMs,
            signed_ms: nowMs,
            old_until_ms: null,
            reason: null,
          }));
        // What its file signs, others may have signed with it too: identity does not know when that is over.
        if (use === 'certificates' && signing.sealed_key === null && oldUntilMs === null)
          throw new GateError(
            'invalid_request',
            'old_until: must say until when certificates count that the key of GATE_IDENTITY_CA_KEY_FILE signed elsewhere',
          );
        const row = await insert(within, {
          ...common,
          id,
          state: 'announced',
          public_pem: publicPem,
          sealed_key: sealed,
          request_id: requestId,
          announced_ms: Math.max(nowMs, Number(signing.announced_ms) + 1),
          signs_due_ms: nowMs + announceMs,
          signed_ms: null,
          old_until_ms: oldUntilMs,
          reason,
        });
        await told(within, {
          kind: 'identity.key_announced',
          id,
          by,
          reason,
          detail: {
            use,
            replaces: signing.id,
            signs_from: new Date(nowMs + announceMs).toISOString(),
            ...(oldUntilMs !== null && { old_until: new Date(oldUntilMs).toISOString() }),
          },
        });
        return keyOf(row);
      }),
    advanceKeys: (nowMs, maySign) =>
      asked(async () => {
        const isDue = (row: Row) => isOver(row, nowMs) && (row.state === 'retiring' || maySign(row.id));
        if (!(await rowsOf(db)).some(isDue)) return 0;
        return inTurn(async (within) => {
          const rows = await rowsOf(within);
          const due = rows.filter(isDue);
          for (const row of due)
            if (row.state === 'retiring') await withdraw(within, row, nowMs);
            else
              await sign(
                within,
                row,
                rows.find(({ key_use: use, state }) => use === row.key_use && state === 'signing'),
                nowMs,
              );
          return due.length;
        });
      }),
  };
}

const isOver = (row: Row, nowMs: number): boolean =>
  (row.state === 'announced' && Number(row.signs_due_ms) <= nowMs) ||
  (row.state === 'retiring' && Number(row.withdraw_due_ms) <= nowMs);

const timeOf = (value: number | string | null): number | null => (value === null ? null : Number(value));
const keyOf = (row: Row): IdentityKey => ({
  id: row.id,
  use: row.key_use as KeyUse,
  state: row.state as KeyState,
  publicPem: row.public_pem,
  sealed: row.sealed_key,
  requestId: row.request_id,
  announcedMs: Number(row.announced_ms),
  signsDueMs: Number(row.signs_due_ms),
  signedMs: timeOf(row.signed_ms),
  retiredMs: timeOf(row.retired_ms),
  withdrawDueMs: timeOf(row.withdraw_due_ms),
  withdrawnMs: timeOf(row.withdrawn_ms),
  by: row.set_by,
});
