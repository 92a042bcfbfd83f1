import type { Kysely } from 'kysely';
import { type MinedFacts, minedFacts } from '../../contracts/policy-mining.js';
import { GateError } from '../../domain/errors.js';
import type { KeptSuggestion, SuggestionStore } from '../../domain/policy/library-ports.js';
import { editedWords, isEdited, lacksKey, type PolicySealing, readRow } from '../../domain/policy/sealed-policies.js';

export interface SuggestionTables {
  policy_suggestions: Omit<KeptSuggestion, 'facts' | 'checked_seq'> & {
    facts: string;
    checked_seq: number | string;
    mac: string | null;
  };
}
type Row = SuggestionTables['policy_suggestions'];

/** How often a change is tried again because another process changed the row meanwhile. */
const ATTEMPTS = 5;
const none = { passed: 0, of: 0 };
/** What speaks for a suggestion that somebody else wrote. */
const NO_FACTS: MinedFacts = {
  since: '',
  until: '',
  evidence: {
    approvals: none,
    denials: none,
    class_alone: { approvals: 0, denials: 0 },
    days: 0,
    approvers: 0,
    agents: 0,
  },
  parts: [],
  examples: { waits: [], denied: [] },
};

/**
 * The part of the store of policies that keeps suggestions, each with a MAC: what people are shown as proven is what Gate found. An older copy that is put
 * back is compared with all that people decided since it was checked. `asked` has its faults told as one code.
 */
export function suggestionStore(
  db: Kysely<SuggestionTables>,
  sealing: PolicySealing,
  asked: <Value>(ask: () => Promise<Value>) => Promise<Value>,
): SuggestionStore {
  function keptIn({ mac, ...row }: Row): KeptSuggestion {
    const fault = sealing.fault('policy_suggestions', { ...row, mac });
    const checked_seq = Number(row.checked_seq);
    const withdrawn = (why: string): KeptSuggestion => ({ ...row, checked_seq, facts: NO_FACTS, withdrawn_why: why });
    if (fault !== null) return withdrawn(editedWords(fault));
    try {
      const facts = readRow(`the suggestion ${row.id}`, () => minedFacts.parse(JSON.parse(row.facts)));
      return { ...row, checked_seq, facts };
    } catch (error) {
      if (isEdited(error)) return withdrawn(error.message);
      throw error;
    }
  }
  const sealed = (row: Omit<Row, 'mac'>): Row => sealing.withMac('policy_suggestions', row);

  /** Writes what `made` makes of the row as it is there, or of none; null leaves it. `isGates`: nobody else wrote it. */
  async function changeRow(
    tenant: string,
    id: string,
    made: (row: Omit<Row, 'mac'> | null, isGates: boolean) => Omit<Row, 'mac'> | null,
  ): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const there = await db.selectFrom('policy_suggestions').selectAll().where('id', '=', id).executeTakeFirst();
      const { mac = null, ...row } = there ?? {};
      const fault = there ? sealing.fault('policy_suggestions', there) : null;
      // Another process knows what it says.
      if (fault !== null && lacksKey(fault)) return;
      const isGates = there !== undefined && fault === null;
      if (isGates && there.tenant !== tenant) return;
      const next = made(there ? (row as Omit<Row, 'mac'>) : null, isGates);
      if (next === null) return;
      const { changes } = await written(sealed(next), there !== undefined, mac);
      if (changes === 1n) return;
    }
    throw new GateError('store_unavailable', 'the suggestions change all the time');
  }
  /** Writes only if the row is still the one that was read. */
  async function written(row: Row, isThere: boolean, mac: string | null): Promise<{ readonly changes: bigint }> {
    if (!isThere) {
      const added = db.insertInto('policy_suggestions').values(row);
      const { numInsertedOrUpdatedRows: changes = 0n } = await added
        .onConflict((conflict) => conflict.column('id').doNothing())
        .executeTakeFirstOrThrow();
      return { changes };
    }
    const { numUpdatedRows: changes } = await db
      .updateTable('policy_suggestions')
      .set(row)
      .where('id', '=', row.id)
      .where('mac', mac === null ? 'is' : '=', mac)
      .executeTakeFirstOrThrow();
    return { changes };
  }

  return {
    suggestions: (tenant) =>
      asked(async () => {
        const rows = await db
          .selectFrom('policy_suggestions')
          .selectAll()
          .where('tenant', '=', tenant)
          .orderBy('created_at', 'desc')
          .orderBy('id')
          .execute();
        return rows.map(keptIn);
      }),
    keepSuggestions: (tenant, found, overtaken) =>
      asked(async () => {
        for (const { facts: said, ...one } of found) {
          const facts = JSON.stringify(said);
          await changeRow(tenant, one.id, (row, isGates) => {
            // Whoever edited one has it compared with all that people decided: it may have been withdrawn.
            if (row === null || !isGates) return { ...one, facts, ...(row !== null && { checked_seq: 0 }) };
            if (row.withdrawn_why !== null) return null;
            // A window that begins after the last look leaves a gap that nobody looked at.
            return { ...row, facts, checked_seq: Math.min(Number(row.checked_seq), one.checked_seq) };
          });
        }
        if (overtaken.length > 0)
          await db
            .deleteFrom('policy_suggestions')
            .where('tenant', '=', tenant)
            .where('id', 'in', [...overtaken])
            .where('withdrawn_why', 'is', null)
            .execute();
      }),
    withdrawSuggestion: (tenant, id, why) =>
      asked(() =>
        changeRow(tenant, id, (row, isGates) =>
          row !== null && isGates && row.withdrawn_why === null ? { ...row, withdrawn_why: why } : null,
        ),
      ),
    checkedSuggestions: (tenant, ids, seq) =>
      asked(async () => {
        for (const id of ids)
          await changeRow(tenant, id, (row, isGates) =>
            row !== null && isGates && Number(row.checked_seq) < seq ? { ...row, checked_seq: seq } : null,
          );
      }),
  };
}
