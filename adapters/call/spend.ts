import type { CallInput, CallSpend } from '../../contracts/call.js';
import { type CallCost, ONLY_PAID } from '../../domain/call/cost.js';
import type { WalkPlace } from '../../domain/call/walk.js';
import { GateError } from '../../domain/errors.js';
import {
  type AskedSpend,
  type Budgets,
  monthOf,
  NOTHING_SPENT,
  type OverBudget,
  type Spent,
} from '../../domain/spend/spend.js';
import { all, get, type Job, run } from '../store/jobs.js';
import { statement } from '../store/statement.js';

/**
 * What calls reserve and cost, as jobs of the call store (docs/architecture/budgets.md). Each change is one conditional statement, so that two processes
 * that share the store never spend one rest twice. Rows of a tenant are changed before those of its agents, by everybody.
 */

type Count = number | string;
interface TotalsRow {
  readonly spent: Count;
  readonly reserved: Count;
}
const WHOLE_TENANT = '';
/** For who has no limit: more than anybody spends, and exact in every store. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER;
/** How often a call is tried to be settled while others settle it too. */
const ATTEMPTS = 5;

/** Adds to what is reserved, where all of it fits; otherwise there is no row. What nobody spent yet is let in by who asks: it is no more than the limit. */
const reserve = statement<TotalsRow>(
  `insert into spend_totals (tenant, agent, month, spent, reserved) values (?, ?, ?, 0, ?)
     on conflict (tenant, agent, month) do update set reserved = spend_totals.reserved + excluded.reserved
     where spend_totals.spent + spend_totals.reserved < ? and spend_totals.spent + spend_totals.reserved + excluded.reserved <= ?
     returning spent, reserved`,
);
const settle = statement(
  `insert into spend_totals (tenant, agent, month, spent, reserved) values (?, ?, ?, ?, 0)
     on conflict (tenant, agent, month) do update set spent = spend_totals.spent + ?, reserved = spend_totals.reserved - ?`,
);
const giveBack = statement(
  'update spend_totals set reserved = reserved - ? where tenant = ? and agent = ? and month = ?',
);
const selectTotals = statement<TotalsRow>(
  'select spent, reserved from spend_totals where tenant = ? and agent = ? and month = ?',
);
const selectAgents = statement<TotalsRow & { readonly agent: string }>(
  `select agent, spent, reserved from spend_totals where tenant = ? and month = ? and agent <> ''
     order by spent + reserved desc, agent limit ?`,
);

export interface SpendRow {
  readonly correlation_id: string;
  readonly tenant: string;
  readonly agent: string;
  readonly month: string;
  readonly reserved: Count;
  readonly spent: Count;
  readonly paid: Count;
  readonly not_after_ms: Count;
}
const selectCall = statement<SpendRow>(
  'select correlation_id, tenant, agent, month, reserved, spent, paid, not_after_ms from spend_calls where correlation_id = ?',
);
const insertCall = statement(
  `insert into spend_calls (correlation_id, tenant, agent, month, reserved, spent, paid, not_after_ms, updated_ms)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (correlation_id) do nothing`,
);
/** Only the row that was read. */
const updateCall = statement(
  `update spend_calls set reserved = ?, spent = ?, not_after_ms = ?, updated_ms = ?
     where correlation_id = ? and reserved = ? and spent = ?`,
);
const settleCall = statement(
  `update spend_calls set reserved = 0, spent = ?, not_after_ms = ?, updated_ms = ?
     where correlation_id = ? and reserved = ? and spent = ? and paid = ? and not_after_ms = ?`,
);
/** While it has a reservation, it will be settled. */
const payOpen = statement('update spend_calls set paid = paid + ? where correlation_id = ? and reserved > 0');
const paySettled = statement(
  `insert into spend_calls (correlation_id, tenant, agent, month, reserved, spent, paid, not_after_ms, updated_ms)
     values (?, ?, ?, ?, 0, ?, ?, ?, ?) on conflict (correlation_id) do update
     set spent = spend_calls.spent + excluded.spent, paid = spend_calls.paid + excluded.paid, updated_ms = excluded.updated_ms
     where spend_calls.reserved = 0`,
);
const dropCall = statement('delete from spend_calls where correlation_id = ? and reserved = ? and spent = 0');
/** Without those whose record says that they wait or run: those may be many, for as long as people take. */
const selectOpen = statement<SpendRow>(
  `select correlation_id, tenant, agent, month, reserved, spent, paid, not_after_ms from spend_calls
     where reserved > 0 and not_after_ms < ? and (not_after_ms, correlation_id) > (?, ?) and not exists
       (select 1 from call_records r where r.correlation_id = spend_calls.correlation_id and r.state in ('decided', 'parked', 'intended'))
     order by not_after_ms, correlation_id limit ?`,
);
/** Takes hold of what a call reserved, for as long as the transaction lasts, and for its run. */
const holdCall = statement(
  `update spend_calls set not_after_ms = case when not_after_ms < ? then ? else not_after_ms end
     where correlation_id = ? and reserved = ?`,
);
export const dropSpendCalls = statement('delete from spend_calls where reserved = 0 and updated_ms < ?');
export const dropSpendTotals = statement('delete from spend_totals where reserved = 0 and month < ?');

const spentOf = (row: TotalsRow | undefined): Spent =>
  row ? { spentMicros: Number(row.spent), reservedMicros: Number(row.reserved) } : NOTHING_SPENT;
const standing = ({ spentMicros, reservedMicros }: Spent): number => spentMicros + reservedMicros;

/** What is asked of one budget, and of whom. */
interface Asked {
  readonly of: OverBudget['of'];
  readonly limit: number | null;
  readonly key: readonly [tenant: string, agent: string, month: string];
}

/** Thrown, so that nothing stands of what its job did. */
export class NotBorne extends Error {
  readonly over: OverBudget;
  constructor(over: OverBudget) {
    super(`the budget of its ${over.of} does not bear the call`);
    this.over = over;
  }
}

/** Reserves the most that a call may cost of both budgets. Throws NotBorne where that does not fit. */
export function* reserveSpend(call: CallInput, asked: AskedSpend, atMs: number): Job<CallSpend> {
  const { correlation_id: id, mode, not_after_ms: notAfterMs } = call;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const known = yield* get(selectCall, id);
    const [held, counted] = [Number(known?.reserved ?? 0), Number(known?.spent ?? 0)];
    const month = known?.month ?? monthOf(call.received_ms);
    // A run of its own begins, which needs it for as long. Given back meanwhile, it is reserved anew.
    if (held > 0 && (yield* run(holdCall, notAfterMs, notAfterMs, id, held)) !== 1) continue;
    // One that was settled without a verdict, and comes again, has paid for its inspection, but for none of its tools. One that holds its reservation
    // needs no other.
    const { mostMicros, toolsMicros } = asked;
    const wanted = held > 0 ? 0 : toolsMicros + Math.max(0, mostMicros - toolsMicros - counted);
    if (wanted > 0) {
      const changes = yield* known
        ? run(updateCall, wanted, counted, notAfterMs, atMs, id, held, counted)
        : run(insertCall, id, call.tenant, call.agent, month, wanted, 0, 0, notAfterMs, atMs);
      if (changes !== 1) continue;
    }
    const tenant: Asked = { of: 'tenant', limit: asked.tenantMicros, key: [call.tenant, WHOLE_TENANT, month] };
    const agent: Asked = { of: 'agent', limit: asked.agentMicros, key: [call.tenant, call.agent, month] };
    const ofTenant = yield* taken(tenant, wanted, held, asked.mostMicros);
    if ('over' in ofTenant) throw new NotBorne(ofTenant.over);
    const ofAgent = yield* taken(agent, wanted, held, asked.mostMicros);
    const over = 'over' in ofAgent ? ofAgent.over : null;
    const isSpent = over !== null && over.spentMicros >= over.budgetMicros;
    // Nothing is paid for a call that its rules will deny; in observe mode they deny nothing.
    const isKept = over === null || (isSpent && mode === 'observe');
    if (over !== null && !isSpent) throw new NotBorne(over);
    if (!isKept && wanted > 0) {
      yield* run(giveBack, wanted, ...tenant.key);
      yield* unreserved(id, wanted, counted, notAfterMs, atMs);
    }
    if (isSpent && isKept && wanted > 0) yield* get(reserve, ...agent.key, wanted, NO_LIMIT, NO_LIMIT);
    const budget = tightest([
      [tenant, ofTenant.others],
      [agent, 'over' in ofAgent ? standing(ofAgent.over) - held : ofAgent.others],
    ]);
    const reserved_micros = isKept ? held + wanted : held;
    return { month, reserved_micros, prices: asked.prices, ...(budget && { budget }) };
  }
  throw new GateError('store_unavailable', 'what the call reserves changed whenever it was looked at');
}

/** The row of a call as if it had reserved nothing. */
function* unreserved(id: string, wanted: number, counted: number, notAfterMs: number, atMs: number): Job<void> {
  if (counted > 0) yield* run(updateCall, 0, counted, notAfterMs, atMs, id, wanted, counted);
  else yield* run(dropCall, id, wanted);
}

/** Takes of one budget. Says what others have of it, or why nothing was taken. */
function* taken(
  { of, limit, key }: Asked,
  wanted: number,
  held: number,
  askedMicros: number,
): Job<{ readonly others: number } | { readonly over: OverBudget }> {
  const most = limit ?? NO_LIMIT;
  // Who wants more than all of it gets nothing, also where nobody spent anything yet.
  const row = wanted > 0 && most > 0 && wanted <= most ? yield* get(reserve, ...key, wanted, most, most) : undefined;
  if (row) return { others: standing(spentOf(row)) - wanted - held };
  const stands = spentOf(yield* get(selectTotals, ...key));
  const others = standing(stands) - held;
  if (limit === null || (wanted === 0 && (held > 0 || others < limit))) return { others };
  return { over: { of, budgetMicros: limit, ...stands, askedMicros } };
}

/** The budget of which the least is left. */
function tightest(of: readonly (readonly [Asked, number])[]): NonNullable<CallSpend['budget']> | null {
  const set = of.flatMap(([{ of: whose, limit }, spent]) =>
    limit === null ? [] : [{ of: whose, budget_micros: limit, spent_micros: spent }],
  );
  const left = (one: (typeof set)[number]) => one.budget_micros - one.spent_micros;
  return set.toSorted((a, b) => left(a) - left(b))[0] ?? null;
}

/** What one call is counted by. */
export type SpendOwner = Pick<SpendRow, 'correlation_id' | 'tenant' | 'agent' | 'month'>;

/** Whether what a call reserved, of which a verdict comes by which it may run, is still there; it is held from then on. */
export function* holdsSpend({ correlation_id: id, not_after_ms: notAfterMs, spend }: CallInput): Job<boolean> {
  if (!spend || spend.reserved_micros === 0) return true;
  return (yield* run(holdCall, notAfterMs, notAfterMs, id, spend.reserved_micros)) === 1;
}

/** Models were paid for a call: counted when it is settled, or now where it was settled, or reserved nothing. */
export function* paySpend(
  { correlation_id: id, tenant, agent, not_after_ms: notAfterMs, spend }: CallInput,
  micros: number,
  atMs: number,
): Job<void> {
  if (!spend || micros === 0) return;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    if ((yield* run(payOpen, micros, id)) === 1) return;
    const { month } = spend;
    // It may reserve anew meanwhile.
    if ((yield* run(paySettled, id, tenant, agent, month, micros, micros, notAfterMs, atMs)) !== 1) continue;
    for (const whose of [WHOLE_TENANT, agent]) yield* run(settle, tenant, whose, month, micros, micros, 0);
    return;
  }
  throw new GateError('store_unavailable', 'what the call reserved changed whenever it was looked at');
}

/**
 * Counts what a call cost, with all that its models were paid, and gives back what it reserved. Said again, it changes nothing; said otherwise, it is
 * corrected. With `ifNotAfter` only where the call is to have ended by that time still; says whether it was settled.
 */
export function* settleSpend(
  owner: SpendOwner,
  { inspectedMicros, ranMicros }: CallCost,
  notAfterMs: number,
  atMs: number,
  ifNotAfter?: Count,
): Job<boolean> {
  const { correlation_id: id, tenant, agent } = owner;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const known = yield* get(selectCall, id);
    const [held, counted, paid] = [known?.reserved, known?.spent, known?.paid].map((one) => Number(one ?? 0)) as [
      number,
      number,
      number,
    ];
    if (ifNotAfter !== undefined && Number(known?.not_after_ms) !== Number(ifNotAfter)) return false;
    // Where it could not be kept that they were paid, the record says so.
    const costMicros = Math.max(paid, inspectedMicros) + ranMicros;
    if (held === 0 && counted === costMicros) return true;
    const month = known?.month ?? owner.month;
    const changes = yield* known
      ? run(settleCall, costMicros, notAfterMs, atMs, id, held, counted, paid, Number(known.not_after_ms))
      : run(insertCall, id, tenant, agent, month, 0, costMicros, 0, notAfterMs, atMs);
    // Somebody else settled it meanwhile, or is about to.
    if (changes !== 1) continue;
    const more = costMicros - counted;
    for (const whose of [WHOLE_TENANT, agent]) yield* run(settle, tenant, whose, month, Math.max(0, more), more, held);
    return true;
  }
  throw new GateError('store_unavailable', 'what the call cost changed whenever it was looked at');
}

/** A call that comes to no record cost what its models were paid. */
export function* settleUnjudged(id: string, atMs: number): Job<void> {
  const known = yield* get(selectCall, id);
  if (known) yield* settleSpend(known, ONLY_PAID, atMs, atMs);
}

export function* spentBy(tenant: string, agent: string | null, month: string): Job<Spent> {
  return spentOf(yield* get(selectTotals, tenant, agent ?? WHOLE_TENANT, month));
}

export function* spentByAgents(tenant: string, month: string, most: number) {
  const rows = yield* all(selectAgents, tenant, month, most);
  return rows.map((row) => ({ agent: row.agent, ...spentOf(row) }));
}

/** Which budget does not bear what stands against it, with what this call reserved. */
export function* overBudget(
  { tenant, agent, spend }: CallInput,
  { tenantMicros, agentMicros }: Budgets,
): Job<OverBudget | null> {
  if (!spend) return null;
  for (const [of, whose, budgetMicros] of [
    ['tenant', WHOLE_TENANT, tenantMicros],
    ['agent', agent, agentMicros],
  ] as const) {
    if (budgetMicros === null) continue;
    const stands = spentOf(yield* get(selectTotals, tenant, whose, spend.month));
    if (standing(stands) > budgetMicros || budgetMicros === 0)
      return { of, budgetMicros, ...stands, askedMicros: spend.reserved_micros };
  }
  return null;
}

/** Reservations that were to be settled by then, of calls that neither wait nor run. */
export const openSpend = (beforeMs: number, { ms, id }: WalkPlace, limit: number): Job<SpendRow[]> =>
  all(selectOpen, beforeMs, ms, id, limit);
