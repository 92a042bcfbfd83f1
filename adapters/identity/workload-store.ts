import { type Kysely, type Selectable, sql } from 'kysely';
import { GateError } from '../../domain/errors.js';
import { type WorkloadEvent, workloadRow } from '../../domain/identity/identity-rows.js';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import type { IssuedWorkload, WorkloadAuthority, WorkloadStore } from '../../domain/identity/workload-issuing.js';
import { pagesOf } from '../store/pages.js';
import { AT_ONCE } from './identity-marks.js';
import type { IdentityTables } from './identity-tables.js';

type Row<Table extends keyof IdentityTables> = Selectable<IdentityTables[Table]>;
type Database = Kysely<IdentityTables>;
type WorkloadTable = 'identity_workloads' | 'identity_workload_svids';

/** What the store of identity has for every part of it. */
export interface StoreParts {
  readonly db: Database;
  intact<Found extends { readonly mac: string }>(table: WorkloadTable, row: Found): Found;
  /** What is wrong with a row, or `null`. */
  fault(table: WorkloadTable, row: { readonly mac: string }): string | null;
  marked<Values extends object>(table: WorkloadTable, values: Values): Values & { readonly mac: string };
  /** `false` where somebody changed it since it was read. */
  change<Table extends WorkloadTable>(
    within: Database,
    table: Table,
    was: Row<Table>,
    changes: Partial<Row<Table>>,
  ): Promise<boolean>;
  inTransaction<Value>(work: (within: Database) => Promise<Value>): Promise<Value>;
  told(within: Database, row: NewLedgerRow): Promise<unknown>;
}

/** A service that asks in a loop fills no store. One that renews every second asks less often. */
const REQUESTS_PER_HOUR = 4_000;
const HOUR_MS = 3_600_000;

const conflict = (why: string) => new GateError('issuance_conflict', why);

/** The certificates of services (docs/architecture/identity.md#services). Requests that an earlier process left open are closed. */
export async function openWorkloadStore(parts: StoreParts): Promise<WorkloadStore> {
  const { db, intact, marked, change, inTransaction } = parts;

  for (const left of await db
    .selectFrom('identity_workload_svids')
    .selectAll()
    .where('state', '=', 'pending')
    .execute())
    if (parts.fault('identity_workload_svids', left) === null)
      await change(db, 'identity_workload_svids', left, { state: 'interrupted' });

  const requestOf = async (within: Database, column: 'id' | 'credential_fingerprint', value: string) => {
    const row = await within
      .selectFrom('identity_workload_svids')
      .selectAll()
      .where(column, '=', value)
      .executeTakeFirst();
    return row && intact('identity_workload_svids', row);
  };

  /** One after the other of one workload. */
  const locked = async (within: Database, workload: string) => {
    const row = await within
      .updateTable('identity_workloads')
      .set({ recovery_generation: sql`recovery_generation` })
      .where('id', '=', workload)
      .returningAll()
      .executeTakeFirst();
    return row && intact('identity_workloads', row);
  };

  const told = (within: Database, event: WorkloadEvent) => parts.told(within, workloadRow(event));

  /** Which workload asks. Of a certificate that identity did not give, or that it gave to another service: none. */
  async function workloadOf(within: Database, authority: WorkloadAuthority): Promise<string> {
    if (authority.kind !== 'workload') return authority.workload;
    const shown = await requestOf(within, 'credential_fingerprint', authority.fingerprint);
    if (!shown || shown.service !== authority.service)
      throw new GateError('caller_not_allowed', 'the certificate is not one that identity gave to a service');
    return shown.workload;
  }

  /** Whether a bootstrap certificate ever brought one, to whichever workload. Each row is looked at: one that was edited may say that it brought none. */
  async function wasUsed(within: Database, fingerprint: string): Promise<boolean> {
    const pages = pagesOf(AT_ONCE, (last: Row<'identity_workload_svids'> | undefined) =>
      within
        .selectFrom('identity_workload_svids')
        .selectAll()
        .where('caller_fingerprint', '=', fingerprint)
        .where('authority_kind', '=', sql.lit('bootstrap'))
        .where('id', '>', last?.id ?? '')
        .orderBy('id')
        .limit(AT_ONCE)
        .execute(),
    );
    for await (const rows of pages)
      if (rows.some((row) => intact('identity_workload_svids', row).state === 'issued')) return true;
    return false;
  }

  /** The workload, locked, where what was shown gives a right to its next certificate. */
  async function assertAuthority(
    within: Database,
    authority: WorkloadAuthority,
    name: string,
  ): Promise<Row<'identity_workloads'>> {
    const workload = await locked(within, name);
    if (!workload) throw conflict('this workload never had a certificate');
    if (authority.kind === 'self') return workload;
    if (authority.kind === 'bootstrap') {
      if (workload.bootstrap_state === 'recovery') return workload;
      if (workload.bootstrap_sha256 !== authority.fingerprint && !(await wasUsed(within, authority.fingerprint)))
        return workload;
      throw conflict('the bootstrap certificate was used: an operator opens a recovery, or makes another one');
    }
    const current = workload.current_id === null ? undefined : await requestOf(within, 'id', workload.current_id);
    if (current?.credential_fingerprint !== authority.fingerprint)
      throw conflict('the certificate is superseded: another one of this workload took its place');
    if (current.revoked_ms !== null) throw conflict('the certificate was revoked');
    return workload;
  }

  async function assertNotTooMany(within: Database, workload: string, nowMs: number): Promise<void> {
    const { asked } = await within
      .selectFrom('identity_workload_svids')
      .select(({ fn }) => fn.countAll().as('asked'))
      .where('workload', '=', workload)
      .where('requested_ms', '>', nowMs - HOUR_MS)
      .executeTakeFirstOrThrow();
    if (Number(asked) >= REQUESTS_PER_HOUR)
      throw new GateError('rate_limited', `a service asks for ${REQUESTS_PER_HOUR} certificates in an hour at most`, {
        fields: { retry_after_secs: 60 },
      });
  }

  return {
    beginWorkload: ({ requestId, request, authority }, nowMs) =>
      inTransaction(async (within) => {
        const name = await workloadOf(within, authority);
        await within
          .insertInto('identity_workloads')
          .values(
            marked('identity_workloads', {
              id: name,
              service: authority.service,
              bootstrap_state: 'available',
              bootstrap_sha256: null,
              recovery_generation: 0,
              svid_generation: 0,
              current_id: null,
            }),
          )
          .onConflict((conflicting) => conflicting.column('id').doNothing())
          .execute();
        // Two that ask at once are judged one after the other.
        await locked(within, name);
        const before = await requestOf(within, 'id', requestId);
        if (before) return { issued: givenAgain(before, request.csrSha256, { authority, workload: name, nowMs }) };
        const workload = await assertAuthority(within, authority, name);
        await assertNotTooMany(within, name, nowMs);
        const { numInsertedOrUpdatedRows } = await within
          .insertInto('identity_workload_svids')
          .values(
            marked('identity_workload_svids', {
              id: requestId,
              workload: name,
              service: authority.service,
              csr_sha256: request.csrSha256,
              public_key_sha256: request.publicKeySha256,
              authority_kind: authority.kind,
              caller_fingerprint: authority.fingerprint,
              prior_id: workload.current_id,
              state: 'pending',
              requested_ms: nowMs,
              svid_id: null,
              svid_generation: null,
              spiffe_id: null,
              serial: null,
              credential_fingerprint: null,
              cert_pem: null,
              not_before_ms: null,
              not_after_ms: null,
              superseded_ms: null,
              revoked_ms: null,
              revoked_by_sub: null,
            }),
          )
          .onConflict((conflicting) => conflicting.doNothing())
          .executeTakeFirst();
        if (numInsertedOrUpdatedRows !== 1n) throw new GateError('issuance_replay');
        return {
          id: requestId,
          workload: name,
          service: authority.service,
          authority,
          recoveryGeneration: Number(workload.recovery_generation),
          priorId: workload.current_id,
        };
      }),

    releaseWorkload: (intent, svid, nowMs) =>
      inTransaction(async (within) => {
        const { authority } = intent;
        const workload = await assertAuthority(within, authority, intent.workload);
        if (
          Number(workload.recovery_generation) !== intent.recoveryGeneration ||
          workload.current_id !== intent.priorId
        )
          throw conflict('the workload got its certificate by another request');
        const generation = Number(workload.svid_generation) + 1;
        const asked = await requestOf(within, 'id', intent.id);
        const isReleased =
          asked?.state === 'pending' &&
          (await change(within, 'identity_workload_svids', asked, {
            state: 'issued',
            svid_id: svid.id,
            svid_generation: generation,
            spiffe_id: svid.spiffe,
            serial: svid.serial,
            credential_fingerprint: svid.fingerprint,
            cert_pem: svid.certPem,
            not_before_ms: svid.notBeforeMs,
            not_after_ms: svid.notAfterMs,
          }));
        if (!isReleased) throw conflict('the request was closed meanwhile');
        const prior = intent.priorId === null ? undefined : await requestOf(within, 'id', intent.priorId);
        const isCurrent = await change(within, 'identity_workloads', workload, {
          svid_generation: generation,
          current_id: intent.id,
          ...(authority.kind === 'bootstrap' && {
            bootstrap_state: 'retired',
            bootstrap_sha256: authority.fingerprint,
          }),
        });
        const isSuperseded =
          !prior || (await change(within, 'identity_workload_svids', prior, { superseded_ms: nowMs }));
        if (!isCurrent || !isSuperseded) throw conflict('the workload changed meanwhile');
        // With the certificate, or not at all: whoever has one is in the ledger.
        await told(within, {
          kind: 'svid.workload_refreshed',
          workload: intent.workload,
          by: svid.spiffe,
          callerKind: authority.kind,
          generation,
          ttlSeconds: Math.round((svid.notAfterMs - nowMs) / 1_000),
          issuedMs: nowMs,
          svid,
        });
        const { id, spiffe, certPem, notBeforeMs, notAfterMs } = svid;
        return { id, spiffe, certPem, notBeforeMs, notAfterMs, generation };
      }),

    failWorkload: ({ id }) =>
      inTransaction(async (within) => {
        const asked = await requestOf(within, 'id', id);
        if (asked?.state === 'pending') await change(within, 'identity_workload_svids', asked, { state: 'failed' });
      }),

    recoverWorkload: (name, { by, reason, nowMs }) =>
      inTransaction(async (within) => {
        const workload = await locked(within, name);
        if (!workload) throw new GateError('not_found');
        if (workload.bootstrap_state === 'recovery') throw new GateError('recovery_pending');
        if (workload.bootstrap_state !== 'retired') throw new GateError('bootstrap_not_retired');
        const current = workload.current_id === null ? undefined : await requestOf(within, 'id', workload.current_id);
        const counts = current && current.revoked_ms === null && Number(current.not_after_ms) > nowMs ? current : null;
        const recoveryGeneration = Number(workload.recovery_generation) + 1;
        const isOpened =
          (await change(within, 'identity_workloads', workload, {
            bootstrap_state: 'recovery',
            recovery_generation: recoveryGeneration,
          })) &&
          (counts === null ||
            (await change(within, 'identity_workload_svids', counts, { revoked_ms: nowMs, revoked_by_sub: by })));
        if (!isOpened) throw new GateError('recovery_pending');
        const revokedSvidId = counts?.svid_id ?? null;
        await told(within, {
          kind: 'workload.svid_recovery_opened',
          workload: name,
          by,
          recoveryGeneration,
          revokedSvidId,
          reason,
        });
        return { recoveryGeneration, revokedSvidId };
      }),
  };
}

/** A lost answer is given again, for as long as the certificate counts, to who shows what the request came with or the workload's own. */
function givenAgain(
  row: Row<'identity_workload_svids'>,
  csrSha256: string,
  {
    authority,
    workload,
    nowMs,
  }: { readonly authority: WorkloadAuthority; readonly workload: string; readonly nowMs: number },
): IssuedWorkload {
  if (row.workload !== workload || row.service !== authority.service || row.csr_sha256 !== csrSha256)
    throw conflict('the request id is of another request');
  if (row.state !== 'issued') throw conflict('no certificate came of this request: ask with a new one');
  if (row.revoked_ms !== null || row.superseded_ms !== null)
    throw conflict('the certificate of this request counts no more');
  if (Number(row.not_after_ms) <= nowMs)
    throw conflict('the certificate of this request has ended: ask with a new one');
  return {
    id: row.svid_id ?? '',
    spiffe: row.spiffe_id ?? '',
    certPem: row.cert_pem ?? '',
    notBeforeMs: Number(row.not_before_ms),
    notAfterMs: Number(row.not_after_ms),
    generation: Number(row.svid_generation),
  };
}
