import type { Kysely } from 'kysely';
import { minedFacts } from '../../contracts/policy-mining.js';
import type { KeptSuggestion, SuggestionStore } from '../../domain/policy/library-ports.js';

export interface SuggestionTables {
  policy_suggestions: Omit<KeptSuggestion, 'facts' | 'checked_seq'> & { facts: string; checked_seq: number | string };
}

/** The part of the store of policies that keeps suggestions. `asked` has its faults told as one code. */
export function suggestionStore(
  db: Kysely<SuggestionTables>,
  asked: <Value>(ask: () => Promise<Value>) => Promise<Value>,
): SuggestionStore {
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
        return rows.map(({ facts, checked_seq: seq, ...row }) => ({
          ...row,
          facts: minedFacts.parse(JSON.parse(facts)),
          checked_seq: Number(seq),
        }));
      }),
    keepSuggestions: (tenant, found, overtaken) =>
      asked(() =>
        db.transaction().execute(async (transaction) => {
          for (const { facts, ...one } of found) {
            const now = { facts: JSON.stringify(facts), checked_seq: one.checked_seq };
            await transaction
              .insertInto('policy_suggestions')
              .values({ ...one, ...now })
              .onConflict((conflict) =>
                conflict.column('id').doUpdateSet(now).where('policy_suggestions.withdrawn_why', 'is', null),
              )
              .execute();
          }
          if (overtaken.length > 0)
            await transaction
              .deleteFrom('policy_suggestions')
              .where('tenant', '=', tenant)
              .where('id', 'in', [...overtaken])
              .where('withdrawn_why', 'is', null)
              .execute();
        }),
      ),
    withdrawSuggestion: (tenant, id, why) =>
      asked(async () => {
        await db
          .updateTable('policy_suggestions')
          .set({ withdrawn_why: why })
          .where('tenant', '=', tenant)
          .where('id', '=', id)
          .where('withdrawn_why', 'is', null)
          .execute();
      }),
    checkedSuggestions: (tenant, ids, seq) =>
      asked(async () => {
        if (ids.length === 0) return;
        await db
          .updateTable('policy_suggestions')
          .set({ checked_seq: seq })
          .where('tenant', '=', tenant)
          .where('id', 'in', [...ids])
          .where('checked_seq', '<', seq)
          .execute();
      }),
  };
}
