import { sql, type Kysely, type Migration } from 'kysely';
import { currentSchema, dialectOf } from './dialect.js';

const SPANS_MS = [60_000, 3_600_000, 86_400_000] as const;
const COUNTERS = ['approved', 'modified', 'denied', 'modified_denied', 'expired', 'aborted'] as const;

/** What a row adds to each counter. An earlier Gate stored `expired` for a call that it closed itself. */
const addsOf = (row: string): Record<(typeof COUNTERS)[number], string> => {
  const when = (what: string) => `case when ${what} then 1 else 0 end`;
  const byGate = `(${row}.status = 'expired' and ${row}.decided_by in ('system:reconciliation', 'system:tamper-check'))`;
  return {
    approved: when(`${row}.status = 'approved' and ${row}.modified is null`),
    modified: when(`${row}.status = 'approved' and ${row}.modified is not null`),
    denied: when(`${row}.status = 'denied'`),
    modified_denied: when(`${row}.status = 'denied' and ${row}.modified is not null`),
    expired: when(`${row}.status = 'expired' and not coalesce(${byGate}, false)`),
    aborted: when(`${row}.status = 'aborted' or coalesce(${byGate}, false)`),
  };
};

const counts = (row: string): string =>
  `(${row}.decided_ms is not null and ${row}.withdrawn_at is null and ${row}.status in ('approved', 'denied', 'expired', 'aborted'))`;
const byOf = (row: string): string => `coalesce(${row}.decided_by, '')`;
/**
 * As `isPerson` of `domain/decision/deciders.ts` was when triggers were made of this. A later one would take a migration of its own, which counts
 * anew: these stay as they are.
 */
const byPerson = (row: string): string =>
  `(${row}.status in ('approved', 'denied') and ${row}.decided_by not like 'system:%')`;

/**
 * The class of the time that a person took: the first three digits, rounded down to the step that follows from them, and the zeros after them
 * (`125e2`: 12.5 s and less than 13 s). Below 100 ms each millisecond is a class of its own. A clock that was set back does not make a decision
 * earlier than its question.
 */
function classOf(row: string): string {
  const took = `(case when ${row}.decided_ms > ${row}.created_ms then ${row}.decided_ms - ${row}.created_ms else 0 end)`;
  const digits = `cast(substr(cast(${took} as text), 1, 3) as integer)`;
  const step = `(case when ${digits} < 100 then 1 when ${digits} < 200 then 5 when ${digits} < 500 then 10 else 20 end)`;
  const zeros = `(case when ${took} < 1000 then 0 else length(cast(${took} as text)) - 3 end)`;
  return `(cast(${digits} - ${digits} % ${step} as text) || 'e' || cast(${zeros} as text))`;
}

/**
 * 0024: how reviews ended, by tenant, decider and minute, hour and day, so that nobody has to read all decisions of a window. Triggers of the
 * database keep it, in the transaction that settles, changes or deletes a row, whatever Gate that is. `took` has how many decisions of a
 * person took how long, in classes. A count of nothing is deleted. On Postgres what Gate itself decides is spread over rows by the end of the
 * review's id, so that calls that are decided at once seldom wait for each other. A count that is missing refuses no write. Reads the table
 * three times; on Postgres nobody writes to it meanwhile.
 */
export const decisionCounts: Migration = {
  async up(db: Kysely<unknown>) {
    const { postgres, text, integer, strict } = dialectOf(db);
    const json = sql.raw(postgres ? 'jsonb' : 'text');
    if (postgres) await sql`lock table reviews in share row exclusive mode`.execute(db);
    await sql`create table if not exists review_decisions (
      tenant ${text} not null, span_ms ${integer} not null, start_ms ${integer} not null, decided_by ${text} not null,
      shard ${integer} not null, ${sql.raw(COUNTERS.map((name) => `${name} ${postgres ? 'bigint' : 'integer'} not null`).join(', '))},
      took ${json} not null, primary key (tenant, span_ms, start_ms, decided_by, shard)) ${
        postgres ? sql`with (fillfactor = 50)` : sql`${strict}, without rowid`
      }`.execute(db);

    const startOf = (row: string, spanMs: number) => `${row}.decided_ms / ${spanMs} * ${spanMs}`;
    const shardOf = (row: string) =>
      postgres
        ? `(case when ${byOf(row)} like 'system:%' then strpos('0123456789abcdef', right(${row}.id, 1)) else 0 end)`
        : '0';
    const keyOf = (row: string, spanMs: number) => [
      `${row}.tenant`,
      `${spanMs}`,
      startOf(row, spanMs),
      byOf(row),
      shardOf(row),
    ];
    const columns = `tenant, span_ms, start_ms, decided_by, shard, ${COUNTERS.join(', ')}, took`;

    // Once more over what an interrupted migration left.
    await sql`delete from review_decisions`.execute(db);
    const objectOf = postgres
      ? `coalesce(jsonb_object_agg(class, n) filter (where class is not null), '{}')`
      : `json_group_object(class, n) filter (where class is not null)`;
    for (const spanMs of SPANS_MS) {
      const [tenant, , start, by, shard] = keyOf('reviews', spanMs);
      const adds = addsOf('reviews');
      await sql`insert into review_decisions (${sql.raw(columns)})
        select tenant, ${sql.raw(String(spanMs))}, start_ms, decided_by, shard,
          ${sql.raw(COUNTERS.map((name) => `sum(${name})`).join(', '))}, ${sql.raw(objectOf)}
        from (select ${sql.raw(`${tenant} as tenant, ${start} as start_ms, ${by} as decided_by, ${shard} as shard`)},
            ${sql.raw(`case when ${byPerson('reviews')} then ${classOf('reviews')} end as class, count(*) as n`)},
            ${sql.raw(COUNTERS.map((name) => `sum(${adds[name]}) as ${name}`).join(', '))}
          from reviews where ${sql.raw(counts('reviews'))} group by 1, 2, 3, 4, 5) as classes
        group by tenant, start_ms, decided_by, shard`.execute(db);
    }

    // Functions of Postgres run with the search path of whoever writes, which may be another one.
    const table = postgres
      ? `"${(await currentSchema(db)).replaceAll('"', '""')}".review_decisions`
      : 'review_decisions';
    // Postgres wants the prefix; SQLite looks for it in vain when any table is renamed later.
    const kept = (column: string) => (postgres ? `review_decisions.${column}` : column);
    const known = (row: string) =>
      postgres
        ? `coalesce((${kept('took')} ->> ${classOf(row)})::bigint, 0)`
        : `coalesce(json_extract(${kept('took')}, '$."' || ${classOf(row)} || '"'), 0)`;
    const withCount = (row: string, count: string) =>
      postgres
        ? `jsonb_set(${kept('took')}, array[${classOf(row)}], to_jsonb(${count}))`
        : `json_set(${kept('took')}, '$."' || ${classOf(row)} || '"', ${count})`;
    const without = (row: string) =>
      postgres ? `${kept('took')} - ${classOf(row)}` : `json_remove(${kept('took')}, '$."' || ${classOf(row)} || '"')`;
    const first = (row: string) =>
      postgres ? `jsonb_build_object(${classOf(row)}, 1)` : `json_object(${classOf(row)}, 1)`;
    const nothing = postgres ? `'{}'::jsonb` : `'{}'`;

    const joins = SPANS_MS.map((spanMs) => {
      const adds = addsOf('new');
      return `insert into ${table} (${columns})
        values (${keyOf('new', spanMs).join(', ')}, ${COUNTERS.map((name) => adds[name]).join(', ')},
          case when ${byPerson('new')} then ${first('new')} else ${nothing} end)
        on conflict (tenant, span_ms, start_ms, decided_by, shard) do update set
          ${COUNTERS.map((name) => `${name} = ${kept(name)} + ${adds[name]}`).join(', ')},
          took = case when ${byPerson('new')} then ${withCount('new', `${known('new')} + 1`)} else ${kept('took')} end;`;
    }).join('\n');
    const leaves = SPANS_MS.map((spanMs) => {
      const adds = addsOf('old');
      const [tenant, span, start, by, shard] = keyOf('old', spanMs);
      const here = `tenant = ${tenant} and span_ms = ${span} and start_ms = ${start} and decided_by = ${by} and shard = ${shard}`;
      return `update ${table} set ${COUNTERS.map((name) => `${name} = ${kept(name)} - ${adds[name]}`).join(', ')},
          took = case when not coalesce(${byPerson('old')}, false) then ${kept('took')}
            when ${known('old')} <= 1 then ${without('old')} else ${withCount('old', `${known('old')} - 1`)} end where ${here};
        delete from ${table} where ${here} and approved + modified + denied + expired + aborted <= 0;`;
    }).join('\n');

    const moved = [
      ...['tenant', 'decided_ms', 'created_ms', 'status', 'id'].map((column) => `old.${column} <> new.${column}`),
      `${byOf('old')} <> ${byOf('new')}`,
      'coalesce(old.modified, 0) <> coalesce(new.modified, 0)',
    ].join(' or ');
    const changes = 'update of status, withdrawn_at, tenant, decided_ms, decided_by, created_ms, modified, id';
    const triggers = [
      ['reviews_decided_insert', 'insert', counts('new'), joins],
      ['reviews_decided_delete', 'delete', counts('old'), leaves],
      ['reviews_decided_leave', changes, `${counts('old')} and (not ${counts('new')} or ${moved})`, leaves],
      ['reviews_decided_join', changes, `${counts('new')} and (not ${counts('old')} or ${moved})`, joins],
    ] as const;
    if (postgres)
      for (const [name, body] of [
        ['review_decisions_join', joins],
        ['review_decisions_leave', leaves],
        ['review_decisions_empty', `delete from ${table};`],
      ] as const)
        await sql`create or replace function ${sql.id(name)}() returns trigger language plpgsql as $$
          begin
            ${sql.raw(body)}
            return null;
          end $$`.execute(db);
    for (const [name, event, when, body] of triggers)
      if (postgres)
        await sql`create or replace trigger ${sql.id(name)} after ${sql.raw(event)} on reviews
          for each row when (${sql.raw(when)})
          execute function ${sql.id(body === joins ? 'review_decisions_join' : 'review_decisions_leave')}()`.execute(
          db,
        );
      else
        await sql`create trigger if not exists ${sql.id(name)} after ${sql.raw(event)} on reviews
          when ${sql.raw(when)} begin ${sql.raw(body)} end`.execute(db);
    if (postgres)
      await sql`create or replace trigger reviews_decided_truncate after truncate on reviews
        for each statement execute function review_decisions_empty()`.execute(db);
  },
};
