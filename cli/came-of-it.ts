import { setTimeout as sleep } from 'node:timers/promises';
import type { LedgerEntry } from '../contracts/ledger.js';
import { type CallEnd, endOf } from '../domain/evidence/ended.js';
import type { ReviewTarget } from './review-target.js';

/** Most tools answer within this time. */
const PATIENCE_MS = 3_000;
const LOOK_EVERY_MS = 150;

/** What came of a call that was approved; `null` where it takes longer, and where the ledger cannot be asked: the decision stands all the same. */
export async function cameOfIt(
  { ask }: { readonly ask: ReviewTarget['ask'] },
  correlationId: string,
): Promise<CallEnd | null> {
  try {
    for (let leftMs = PATIENCE_MS; ; leftMs -= LOOK_EVERY_MS) {
      const end = endOf(await ask<LedgerEntry[]>('ledger', 'GET', `/audit/correlation/${correlationId}`));
      if (end !== null || leftMs <= 0) return end;
      await sleep(LOOK_EVERY_MS);
    }
  } catch {
    return null;
  }
}
