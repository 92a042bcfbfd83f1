import type { CallInput } from '../../contracts/call.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { GateError } from '../../domain/errors.js';
import type { GrantUse } from '../../domain/call/ports.js';
import { all, get, type Job, run } from '../store/jobs.js';
import { statement } from '../store/statement.js';

const MAC_USE = 'gate.grant-uses/1';
/** A grant is refused as expired by then, whatever a clock says. */
const KEPT_AFTER_END_MS = 90_000_000;

type Count = number | string;
const selectUsedCall = statement<{ mac: string }>(
  'select mac from grant_used_calls where jti = ? and correlation_id = ?',
);
const insertUsedCall = statement(
  `insert into grant_used_calls (jti, correlation_id, expires_ms, mac) values (?, ?, ?, ?)
     on conflict (jti, correlation_id) do update set mac = excluded.mac`,
);
const selectUses = statement<{ uses: Count; mac: string }>('select uses, mac from grant_uses where jti = ?');
const insertUses = statement(
  `insert into grant_uses (jti, expires_ms, uses, told, mac) values (?, ?, ?, 0, ?) on conflict (jti) do nothing`,
);
const updateUses = statement('update grant_uses set uses = ?, mac = ? where jti = ? and uses = ? and mac = ?');
const selectUntold = statement<{ jti: string; uses: Count }>(
  'select jti, uses from grant_uses where uses > told order by jti limit ?',
);
const updateTold = statement('update grant_uses set told = ? where jti = ? and told < ?');
const dropUses = statement('delete from grant_uses where expires_ms < ?');
const dropUsedCalls = statement('delete from grant_used_calls where expires_ms < ?');

function* nothingMore(): Job<void> {}

/** How often grants were used, counted by compare-and-set; each row under a mark (docs/architecture/identity.md#grants). */
export function grantUseJobs(keys: KeyRing) {
  const markOf = (...said: readonly (string | number)[]): string => keys.authenticate(JSON.stringify(said), MAC_USE);
  const isMarked = (mac: string, ...said: readonly (string | number)[]): boolean =>
    keys.authentic(mac, JSON.stringify(said), MAC_USE);

  return {
    /**
     * What uses the grant of a call, once under its id; `null` where fewer uses are left than it has calls. Nobody else counts uses of its agent between
     * the two.
     */
    *fitting(
      { correlation_id: id }: CallInput,
      { jti, exp, max_uses: most }: NonNullable<CallInput['grant']>,
      weight: number,
    ): Job<(() => Job<void>) | null> {
      const used = yield* get(selectUsedCall, jti, id);
      if (used && isMarked(used.mac, jti, id)) return nothingMore;
      const known = yield* get(selectUses, jti);
      const before = Number(known?.uses ?? 0);
      if (known && !isMarked(known.mac, jti, before))
        throw new GateError(
          'control_state_unavailable',
          `the uses of the grant ${jti} are not what Gate counted; nothing was executed`,
        );
      const uses = before + weight;
      if (most !== undefined && uses > most) return null;
      return function* () {
        const [endsMs, mac] = [exp * 1_000, markOf(jti, uses)];
        const changes = known
          ? yield* run(updateUses, uses, mac, jti, before, known.mac)
          : yield* run(insertUses, jti, endsMs, uses, mac);
        if (changes !== 1)
          throw new GateError(
            'control_state_unavailable',
            'the grant was used by another call in the same moment; ask again',
          );
        yield* run(insertUsedCall, jti, id, endsMs, markOf(jti, id));
      };
    },
    *untold(most: number): Job<readonly GrantUse[]> {
      return (yield* all(selectUntold, most)).map(({ jti, uses }) => ({ jti, uses: Number(uses) }));
    },
    *told(told: readonly GrantUse[]): Job<void> {
      for (const { jti, uses } of told) yield* run(updateTold, uses, jti, uses);
    },
    *purge(nowMs: number): Job<number> {
      const untilMs = nowMs - KEPT_AFTER_END_MS;
      return (yield* run(dropUses, untilMs)) + (yield* run(dropUsedCalls, untilMs));
    },
  };
}
