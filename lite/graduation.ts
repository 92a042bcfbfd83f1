import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { z } from 'zod';
import type { LedgerEntry } from '../contracts/ledger.js';
import { errorText, GateError } from '../domain/errors.js';
import { openLedgerReadOnly } from '../adapters/ledger/read-only.js';
import { verifyFile } from './ledger-file.js';

const count = z.number().int().min(0);

/**
 * What enforce would have done with the calls of a window (docs/architecture/lite.md#from-observe-to-enforce). The order of the fields is
 * part of what is signed.
 */
const graduationReport = z.strictObject({
  schema_version: z.literal('1'),
  generated_at: z.string(),
  window_start: z.string().nullable(),
  window_end: z.string().nullable(),
  ledger_entries_checked: count,
  ledger_chain_valid: z.boolean(),
  /** Calls, not rows: one verdict each. */
  total_requests: count,
  would_deny: count,
  would_pend: count,
  allowed: count,
  by_intent_category: z.array(z.strictObject({ intent_category: z.string(), count })),
  top_agents: z.array(z.strictObject({ agent_id: z.string(), count })),
  by_tool: z.array(
    z.strictObject({ tool: z.string(), would_deny: count, would_pend: count, reasons: z.array(z.string()) }),
  ),
  recommend_enforce: z.boolean(),
  recommendation: z.string(),
});
export type GraduationReport = z.infer<typeof graduationReport>;

const TOP_AGENTS = 10;
const REASONS = 3;

/** Counts the calls of a ledger file since a time, and says whether enforcing would have changed anything. Reads the file only. */
export async function graduationOf(file: string, since: string | null): Promise<GraduationReport> {
  const chain = await verifyFile(file);
  const ledger = openLedgerReadOnly(file);
  try {
    const sum = newSum();
    // A call that was too fast may come again under its id and be judged: it is one call, and the verdict is its end.
    const limited = new Map<string, LedgerEntry>();
    for await (const rows of ledger.pages({ methods: ['proxy.verdict'], ...(since !== null && { from: since }) }))
      for (const row of rows) {
        const id = row.correlation_id ?? row.id;
        if (row.policy_decision?.['outcome'] === 'rate_limited') {
          limited.set(id, row);
        } else {
          limited.delete(id);
          sum.add(row);
        }
      }
    for (const row of limited.values()) sum.add(row);
    return sum.report(since, chain.valid, chain.entries_checked);
  } finally {
    await ledger.close();
  }
}

function newSum() {
  let [total, deny, pend] = [0, 0, 0];
  let first: string | null = null;
  let last: string | null = null;
  const categories = new Map<string, number>();
  const agents = new Map<string, number>();
  const tools = new Map<string, { would_deny: number; would_pend: number; reasons: Set<string> }>();
  const increase = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1);
  return {
    add(row: LedgerEntry): void {
      total += 1;
      if (first === null || row.timestamp < first) first = row.timestamp;
      if (last === null || row.timestamp > last) last = row.timestamp;
      increase(categories, row.intent_category);
      increase(agents, row.agent_id);
      const would = wouldOf(row);
      if (would === null) return;
      const tool = tools.get(row.tool_type ?? '') ?? { would_deny: 0, would_pend: 0, reasons: new Set<string>() };
      if (would === 'deny') {
        deny += 1;
        tool.would_deny += 1;
      } else {
        pend += 1;
        tool.would_pend += 1;
      }
      if (tool.reasons.size < REASONS) tool.reasons.add(row.reasoning);
      tools.set(row.tool_type ?? '', tool);
    },
    report(since: string | null, chainValid: boolean, checked: number): GraduationReport {
      const clean = chainValid && total > 0 && deny + pend === 0;
      return {
        schema_version: '1',
        generated_at: new Date().toISOString(),
        window_start: since ?? first,
        window_end: last,
        ledger_entries_checked: checked,
        ledger_chain_valid: chainValid,
        total_requests: total,
        would_deny: deny,
        would_pend: pend,
        allowed: total - deny - pend,
        by_intent_category: [...categories]
          .map(([intent_category, found]) => ({ intent_category, count: found }))
          .toSorted((a, b) => (a.intent_category < b.intent_category ? -1 : 1)),
        top_agents: [...agents]
          .map(([agent_id, found]) => ({ agent_id, count: found }))
          .toSorted((a, b) => b.count - a.count || (a.agent_id < b.agent_id ? -1 : 1))
          .slice(0, TOP_AGENTS),
        by_tool: [...tools]
          .map(([tool, { reasons, ...counts }]) => ({ tool, ...counts, reasons: [...reasons] }))
          .toSorted((a, b) => b.would_deny - a.would_deny || b.would_pend - a.would_pend || (a.tool < b.tool ? -1 : 1)),
        recommend_enforce: clean,
        recommendation: !chainValid
          ? 'DO NOT ENFORCE: the ledger does not verify; find out why first'
          : total === 0
            ? 'NO DATA: no call was judged in this window'
            : clean
              ? 'SAFE TO ENFORCE: no call of this window would have been denied or parked'
              : 'REVIEW FIRST: look at the calls above; some would have been denied or parked',
      };
    },
  };
}

/** What enforce did or would have done with the call. */
function wouldOf({ policy_decision: decision }: LedgerEntry): 'deny' | 'pend' | null {
  const outcome = decision?.['outcome'];
  if (decision?.['would'] === 'deny' || outcome === 'deny' || outcome === 'rate_limited') return 'deny';
  return decision?.['would'] === 'pend' || outcome === 'park' ? 'pend' : null;
}

const ALGORITHM = 'ed25519';
const KEY_ID = 'gate-lite-file:v1';

const signedReport = z.strictObject({
  report: graduationReport,
  report_canonical_json: z.string(),
  signature: z.string().nullable(),
  algorithm: z.literal(ALGORITHM),
  key_id: z.literal(KEY_ID),
  pubkey_pem: z.string().nullable(),
  signed_at: z.string().nullable(),
});
type SignedReport = z.infer<typeof signedReport>;

/** The report with an Ed25519 signature over its exact text (RFC 8032), or with `null` in its place where no key is given. */
export function signReport(report: GraduationReport, key: KeyObject | null, now = new Date()): SignedReport {
  const text = JSON.stringify(graduationReport.parse(report));
  return {
    report,
    report_canonical_json: text,
    signature: key && sign(null, Buffer.from(text), key).toString('base64'),
    algorithm: ALGORITHM,
    key_id: KEY_ID,
    pubkey_pem: key && createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString(),
    signed_at: key && now.toISOString(),
  };
}

/** A PKCS #8 PEM of an Ed25519 key. Throws `invalid_request`, never with a part of it. */
export function signingKeyOf(pem: string): KeyObject {
  return ed25519(() => createPrivateKey(pem), 'a private key');
}
/** An SPKI PEM of an Ed25519 key. Throws `invalid_request`. */
export function publicKeyOf(pem: string): KeyObject {
  return ed25519(() => createPublicKey(pem), 'a public key');
}

function ed25519(read: () => KeyObject, what: string): KeyObject {
  let key: KeyObject;
  try {
    key = read();
  } catch {
    throw new GateError('invalid_request', `this is not ${what} in PEM`);
  }
  if (key.asymmetricKeyType !== ALGORITHM) throw new GateError('invalid_request', `this is not ${what} of Ed25519`);
  return key;
}

/**
 * Whether the signature is over the very report that is shown. `key` is the one that is trusted; without it the report's own, which proves
 * nothing of who wrote it: only that it was not changed since. Throws GateError `invalid_request` naming what does not hold.
 */
export function verifyReport(text: string, key: KeyObject | null): SignedReport {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch (error) {
    throw refused(`it is not JSON (${errorText(error)})`);
  }
  const read = signedReport.safeParse(given);
  if (!read.success) throw refused('it is no signed report');
  const { report, report_canonical_json: signedText, signature, pubkey_pem: pem } = read.data;
  if (signature === null) throw refused('it is not signed');
  // The schema puts the fields in their order; a report that says anything else is not the one that was signed.
  if (JSON.stringify(report) !== signedText) throw refused('the report is not the text that was signed');
  const bytes = Buffer.from(signature, 'base64');
  const by = key ?? (pem === null ? null : publicKeyOf(pem));
  if (by === null) throw refused('it names no key; give --pubkey');
  if (bytes.length !== 64 || !verify(null, Buffer.from(signedText), by, bytes))
    throw refused('the signature does not hold');
  return read.data;
}

const refused = (why: string): GateError => new GateError('invalid_request', `the report cannot be trusted: ${why}`);

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** RFC 3339 or `<n>m|h|d` back from now, as the ledger writes times; `null` when it is neither. */
export function sinceOf(text: string, nowMs = Date.now()): string | null {
  const [, amount, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (amount !== undefined && unit !== undefined)
    return new Date(nowMs - Number(amount) * (UNIT_MS[unit] as number)).toISOString();
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/.test(text)) return null;
  const time = Date.parse(text);
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}
