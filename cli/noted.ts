import type { VerifyResult } from '../contracts/ledger.js';
import { EMPTY_CHAIN } from '../domain/ledger/chain.js';
import { CliError } from './errors.js';

/** The head and the length of a chain as somebody noted them, elsewhere and earlier. */
export interface Noted {
  readonly head: string | undefined;
  readonly length: number | undefined;
}

interface Comparison {
  readonly holds: boolean;
  readonly detail: string;
}
export type ComparedResult = VerifyResult & { readonly noted?: Comparison };

interface Entry {
  readonly seq: number;
  readonly entry_hash: string;
}
type FindEntry = (of: { readonly seq: number } | { readonly entry_hash: string }) => Promise<Entry | null>;

export function headHash(given: string): string {
  if (!/^[0-9a-f]{64}$/i.test(given))
    throw new CliError(`--expect-head is the 64 hex digits that \`gate verify\` prints as head, not ${given}`, 2);
  return given.toLowerCase();
}

export function length(given: string): number {
  if (!/^(?:0|[1-9][0-9]{0,14})$/.test(given))
    throw new CliError(`--expect-length is the number that \`gate verify\` prints as length, not ${given}`, 2);
  return Number(given);
}

/**
 * Compares a valid chain with what was noted of it. A truncated chain is a valid shorter chain; only values noted elsewhere reveal that. A
 * chain that has grown since still begins with what was noted. An invalid result is returned as it is.
 */
export async function asNoted(result: VerifyResult, noted: Noted, find: FindEntry): Promise<ComparedResult> {
  if (!result.valid || !result.commitment || (noted.head === undefined && noted.length === undefined)) return result;
  const comparison = await compared(result.commitment.length, noted, find);
  return comparison.holds
    ? { ...result, noted: comparison }
    : { ...result, valid: false, first_invalid_reason: 'expected_head', noted: comparison };
}

async function compared(found: number, { head, length: was }: Noted, find: FindEntry): Promise<Comparison> {
  if (was !== undefined && was > found)
    return { holds: false, detail: `${was} entries were noted and ${found} are there: the newest are missing` };
  if (head === undefined) return { holds: true, detail: grown(was ?? 0, found) };
  if (was !== undefined) {
    const hash = was === 0 ? EMPTY_CHAIN.hash : (await find({ seq: was }))?.entry_hash;
    return hash === head
      ? { holds: true, detail: grown(was, found) }
      : {
          holds: false,
          detail: `entry ${was} has the hash ${hash ?? '-'}, not the noted one: the chain was written anew, or these are values of another ledger`,
        };
  }
  const entry = head === EMPTY_CHAIN.hash ? { seq: 0 } : await find({ entry_hash: head });
  return entry
    ? { holds: true, detail: grown(entry.seq, found) }
    : {
        holds: false,
        detail:
          'no entry has the noted hash: the newest are missing, the chain was written anew, or it is of another ledger',
      };
}

const grown = (was: number, found: number): string =>
  was === found ? `${found} entries` : `grown from ${was} entries to ${found}`;

export const notedText = (noted: Comparison | undefined): string =>
  noted === undefined ? '' : `${noted.holds ? 'as noted' : 'NOT AS NOTED'}: ${noted.detail}\n`;
