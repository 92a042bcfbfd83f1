import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../../test/support/ledger.js';
import { consoleMigrations } from '../../migrations/console.js';
import { GRANT_LIFE_MS, POLL_SECS, userCodeTyped } from './device-grants.js';
import { openSessionStore, type SessionStore } from './session-store.js';

const HOUR = 3_600_000;
const WHO = { subject: 'oidc:ada', tenant: 'acme', mode: 'oidc', role: 'approver' };
const anyone = () => Promise.resolve(true);

describe.each(STORES)('device grants on %s', (kind) => {
  let place: TestLedgerPlace;
  let now: number;
  let sessions: SessionStore;
  beforeEach(async () => {
    place = await ledgerPlace(kind, { migrated: consoleMigrations });
    now = Date.parse('2026-11-02T10:00:00.000Z');
    sessions = await openSessionStore({
      target: place.target,
      key: Buffer.alloc(32, 9),
      idleMs: HOUR,
      clock: () => now,
    });
  });
  afterEach(async () => {
    await sessions.close();
    await place.remove();
  });
  const begun = async () => {
    const grant = await sessions.grants.begin('192.0.2.7');
    if (grant === null) throw new Error('no grant was begun');
    return grant;
  };
  const signedIn = async (endsMs: number | null = null) => {
    const session = await sessions.of(await sessions.open({ ...WHO, endsMs }));
    if (session === null) throw new Error('nobody is signed in');
    return session;
  };
  const collect = async (code: string) => {
    now += POLL_SECS * 1_000;
    return sessions.grants.collect(code, anyone);
  };
  const allowed = async () => {
    const [grant, session] = [await begun(), await signedIn()];
    expect(await sessions.grants.answer(grant.userCode, { session: session.id })).toBe(true);
    return { ...grant, session };
  };
  const given = async (code: string) => {
    const came = await collect(code);
    if (came.is !== 'given') throw new Error(`not given: ${came.is}`);
    return came;
  };

  it('give nothing until somebody agreed, and then a token once', async () => {
    const { deviceCode, userCode } = await begun();
    expect(await collect(deviceCode)).toEqual({ is: 'pending' });
    expect(await sessions.grants.asking(userCode)).toEqual({
      code: userCode,
      askedMs: now - POLL_SECS * 1_000,
      untilMs: now - POLL_SECS * 1_000 + GRANT_LIFE_MS,
      askedFrom: '192.0.2.7',
    });
    const { id } = await signedIn();
    expect(await sessions.grants.answer(userCode, { session: id })).toBe(true);
    const { token, untilMs } = await given(deviceCode);
    expect(untilMs).toBe(now + HOUR);
    expect(await sessions.ofToken(token)).toMatchObject({ ...WHO, kind: 'command-line', askedFrom: '192.0.2.7' });
  });

  it('used twice end the token: nobody knows whose it is', async () => {
    const { deviceCode } = await allowed();
    const { token } = await given(deviceCode);
    expect(await collect(deviceCode)).toEqual({ is: 'replayed' });
    expect(await sessions.ofToken(token)).toBeNull();
  });

  it('collected by two at once leave no token behind', async () => {
    const { deviceCode, session } = await allowed();
    now += POLL_SECS * 1_000;
    const came = await Promise.all([1, 2].map(() => sessions.grants.collect(deviceCode, anyone)));
    expect(came.filter(({ is }) => is === 'given').length).toBeLessThanOrEqual(1);
    await collect(deviceCode);
    expect(await sessions.openOf(WHO)).toEqual([expect.objectContaining({ id: session.id })]);
  });

  it('give nothing where the session that agreed has ended since', async () => {
    const { deviceCode, session } = await allowed();
    await sessions.end(session.id);
    expect(await collect(deviceCode)).toEqual({ is: 'denied' });
    expect(await sessions.openOf(WHO)).toEqual([]);
  });

  it('give nothing to somebody whom the settings do not know any more', async () => {
    const { deviceCode } = await allowed();
    now += POLL_SECS * 1_000;
    expect(await sessions.grants.collect(deviceCode, () => Promise.resolve(false))).toEqual({ is: 'denied' });
  });

  it('give nothing that outlives a role which is lost in the same moment', async () => {
    for (let round = 0; round < 20; round += 1) {
      const { deviceCode } = await allowed();
      now += POLL_SECS * 1_000;
      const lost: Promise<void>[] = [];
      await sessions.grants.collect(deviceCode, () => {
        lost.push(sessions.endAllOf(WHO));
        return Promise.resolve(true);
      });
      await Promise.all(lost);
      expect(await sessions.openOf(WHO)).toEqual([]);
    }
  });

  it('give nothing that outlives a role which becomes another one in the same moment', async () => {
    for (let round = 0; round < 20; round += 1) {
      const { deviceCode } = await allowed();
      now += POLL_SECS * 1_000;
      const entered: Promise<string>[] = [];
      await sessions.grants.collect(deviceCode, () => {
        entered.push(sessions.enter({ ...WHO, role: 'viewer' }));
        return Promise.resolve(true);
      });
      await Promise.all(entered);
      expect((await sessions.openOf(WHO)).map(({ role }) => role)).not.toContain('approver');
    }
  });

  it('give nothing that outlives a tenant which is left in the same moment', async () => {
    for (let round = 0; round < 20; round += 1) {
      const { deviceCode } = await allowed();
      now += POLL_SECS * 1_000;
      const left: Promise<unknown>[] = [];
      await sessions.grants.collect(deviceCode, () => {
        left.push(sessions.endElsewhere({ subject: WHO.subject, tenant: 'beta' }));
        return Promise.resolve(true);
      });
      await Promise.all(left);
      expect(await sessions.openOf(WHO)).toEqual([]);
    }
  });

  it('that were refused say so, again and again', async () => {
    const { deviceCode, userCode } = await begun();
    expect(await sessions.grants.answer(userCode, 'refused')).toBe(true);
    expect(await collect(deviceCode)).toEqual({ is: 'denied' });
    expect(await collect(deviceCode)).toEqual({ is: 'denied' });
  });

  it('are answered once', async () => {
    const { userCode, session } = await allowed();
    expect(await sessions.grants.answer(userCode, { session: session.id })).toBe(false);
    expect(await sessions.grants.answer(userCode, 'refused')).toBe(false);
    expect(await sessions.grants.asking(userCode)).toBeNull();
  });

  it('are over after their time, also for who agreed before and did not collect', async () => {
    const [asked, agreed] = [await begun(), await allowed()];
    now += GRANT_LIFE_MS;
    expect(await sessions.grants.asking(asked.userCode)).toBeNull();
    expect(await sessions.grants.answer(asked.userCode, 'refused')).toBe(false);
    for (const { deviceCode } of [asked, agreed]) expect(await collect(deviceCode)).toEqual({ is: 'expired' });
  });

  it('asked for too early slow down, by as much each time', async () => {
    const { deviceCode } = await begun();
    expect(await collect(deviceCode)).toEqual({ is: 'pending' });
    expect(await sessions.grants.collect(deviceCode, anyone)).toEqual({ is: 'slow_down' });
    expect(await collect(deviceCode)).toEqual({ is: 'slow_down' });
    now += 10_000;
    expect(await collect(deviceCode)).toEqual({ is: 'pending' });
  });

  it.each(['', 'x', 'A'.repeat(43)])('are not known by the code %j', async (code) => {
    expect(await collect(code)).toEqual({ is: 'unknown' });
  });

  it('of two command lines are two', async () => {
    const [one, other] = [await allowed(), await begun()];
    expect(await collect(other.deviceCode)).toEqual({ is: 'pending' });
    expect((await given(one.deviceCode)).by.id).toBe(one.session.id);
  });

  it.each([
    ["state = 'approved'", 'asked'],
    ["session_id = 'x'", 'approved'],
    ['until_ms = until_ms + 1', 'approved'],
    ["user_code = 'x'", 'approved'],
  ])('count for nothing once somebody else wrote to them: %s', async (change, state) => {
    const { deviceCode } = state === 'asked' ? await begun() : await allowed();
    await place.sql(`update console_device_grants set ${change}`);
    expect(await collect(deviceCode)).toEqual({ is: 'unknown' });
  });

  it('leave neither a code nor a token in the store', async () => {
    const { deviceCode, userCode } = await allowed();
    const { token } = await given(deviceCode);
    const kept = JSON.stringify([
      await place.sql('select * from console_device_grants'),
      await place.sql('select * from console_sessions'),
    ]);
    for (const secret of [deviceCode, userCode, userCode.replace('-', ''), token, token.slice(9)])
      expect(kept).not.toContain(secret);
  });

  describe('of which a thousand wait for a person', () => {
    const waiting = (untilMs: number, state = 'asked') =>
      place.sql(
        `insert into console_device_grants (id, user_code, state, asked_ms, until_ms, asked_from, interval_secs, mac)
         with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)
         select 'id' || i, 'code' || i, ?, ${now - 1_000} + i, ?,
                case when i <= 400 then '198.51.100.' || i % 100 else '127.0.0.' || i % 100 end, 5, '' from n`,
        [state, untilMs],
      );
    const kept = async () => (await place.sql('select id from console_device_grants')).map(({ id }) => String(id));

    it('forget the oldest of the address that has most for a new one, and no other; this machine is one address', async () => {
      await waiting(now + GRANT_LIFE_MS);
      const { userCode } = await begun();
      await begun();
      const left = await kept();
      expect(left).toHaveLength(1_000);
      expect(['id400', 'id401', 'id402', 'id403'].map((id) => left.includes(id))).toEqual([true, false, false, true]);
      expect(await sessions.grants.asking(userCode)).not.toBeNull();
    });

    it.each([
      ['are over', 0, 'asked'],
      ['were answered', GRANT_LIFE_MS, 'denied'],
    ])('forget none where those of before %s', async (_what, leftMs, state) => {
      await waiting(now + leftMs, state);
      await begun();
      expect(await kept()).toHaveLength(1_001);
    });

    it('forget of an address that has 500 its own oldest, but none that a person looked at, and none of others', async () => {
      const seen = await sessions.grants.begin('127.0.0.1');
      await sessions.grants.asking(seen?.userCode ?? '');
      await place.sql(
        `insert into console_device_grants (id, user_code, state, asked_ms, until_ms, asked_from, interval_secs, mac)
         with recursive n(i) as (select 1 union all select i + 1 from n where i < 600)
         select 'id' || i, 'code' || i, 'asked', ${now} + i, ?,
                case when i <= 101 then '198.51.100.7' else '127.0.0.' || (i % 100) end, 5, '' from n`,
        [now + GRANT_LIFE_MS],
      );
      await sessions.grants.begin('127.0.0.9');
      const left = await kept();
      expect(left).toHaveLength(601);
      expect(['id1', 'id101', 'id102', 'id103'].map((id) => left.includes(id))).toEqual([true, true, false, true]);
      expect(await sessions.grants.answer(seen?.userCode ?? '', 'refused')).toBe(true);
    });

    it('forget all that have been over for as long again', async () => {
      await waiting(now);
      now += GRANT_LIFE_MS;
      await begun();
      expect(await kept()).toHaveLength(1);
    });
  });

  describe('a token', () => {
    it('is no cookie, and a cookie no token', async () => {
      const { deviceCode } = await allowed();
      const { token } = await given(deviceCode);
      const cookie = await sessions.open(WHO);
      expect(await sessions.of(token)).toBeNull();
      expect(await sessions.of(token.slice('gate_cli_'.length))).toBeNull();
      expect(await sessions.ofToken(cookie)).toBeNull();
      expect(await sessions.ofToken(`gate_cli_${cookie}`)).toBeNull();
    });

    it('ends after its time however much it is used', async () => {
      const { deviceCode } = await allowed();
      const { token, untilMs } = await given(deviceCode);
      for (let part = 0; part < 4; part += 1) {
        expect(await sessions.ofToken(token)).toMatchObject({ untilMs });
        now += HOUR / 4;
      }
      expect(await sessions.ofToken(token)).toBeNull();
    });

    it('ends with what the provider said of the session that agreed', async () => {
      const { deviceCode, userCode } = await begun();
      const { id } = await signedIn(now + 60_000);
      await sessions.grants.answer(userCode, { session: id });
      expect((await given(deviceCode)).untilMs).toBe(now - POLL_SECS * 1_000 + 60_000);
    });

    it('outlives the browser that agreed, and ends with the role', async () => {
      const { deviceCode, session } = await allowed();
      const { token } = await given(deviceCode);
      await sessions.end(session.id);
      expect(await sessions.ofToken(token)).not.toBeNull();
      await sessions.enter({ ...WHO, role: 'approver' });
      expect(await sessions.ofToken(token)).not.toBeNull();
      await sessions.enter({ ...WHO, role: 'viewer' });
      expect(await sessions.ofToken(token)).toBeNull();
    });

    it('is ended by its holder, and by its person alone', async () => {
      const tokens = [];
      for (let n = 0; n < 2; n += 1) tokens.push((await given((await allowed()).deviceCode)).token);
      const [one = '', other = ''] = tokens;
      await sessions.endToken(one);
      expect(await sessions.ofToken(one)).toBeNull();
      const { id } = (await sessions.ofToken(other)) ?? { id: '' };
      expect(await sessions.endOf({ subject: 'oidc:eve', tenant: 'acme' }, id)).toBe(false);
      expect(await sessions.endOf({ subject: 'oidc:ada', tenant: 'globex' }, id)).toBe(false);
      expect(await sessions.ofToken(other)).not.toBeNull();
      expect(await sessions.endOf(WHO, id)).toBe(true);
      expect(await sessions.ofToken(other)).toBeNull();
    });

    it.each(["role = 'admin'", "kind = 'browser'", 'until_ms = until_ms + 1', "asked_from = '198.51.100.9'"])(
      'counts for nothing once somebody else wrote to it: %s',
      async (change) => {
        const { token } = await given((await allowed()).deviceCode);
        await place.sql(`update console_sessions set ${change}`);
        expect(await sessions.ofToken(token)).toBeNull();
      },
    );
  });
});

describe('a code that a person typed', () => {
  it.each([
    ['WDJB-MJHT', 'WDJBMJHT'],
    [' wdjb mjht ', 'WDJBMJHT'],
    ['wdjbmjht', 'WDJBMJHT'],
    ['WDJB', null],
    ['WDJB-MJHTT', null],
    ['WDJB-MJH0', null],
    ['ADJB-MJHT', null],
    ['W'.repeat(100), null],
    ['', null],
  ])('%j is %j', (typed, code) => {
    expect(userCodeTyped(typed)).toBe(code);
  });
});
