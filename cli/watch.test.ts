import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { PendingRequest, PendingSummary } from '../contracts/review.js';
import { commandLine } from '../test/support/command.js';
import { eventually } from '../test/support/waiting.js';
import { liteTarget } from './lite-target.js';
import { watch } from './watch.js';
import { changed, listed, NOTHING, pressed, QUIET_MS, screenOf, shown, type Watched } from './watch-screen.js';

const T0 = Date.parse('2026-11-02T10:00:00.000Z');
const id = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const summary = (n: number, over: Partial<PendingSummary> = {}): PendingSummary => ({
  id: id(n),
  correlation_id: id(100 + n),
  agent_id: 'support-bot',
  rehearsal: false,
  method: 'tools/call',
  tool: 'wire_transfer',
  risk_summary: 'money moves',
  status: 'pending',
  created_at: new Date(T0 + n * 1_000).toISOString(),
  ttl_seconds: 600,
  expires_at: new Date(T0 + n * 1_000 + 600_000).toISOString(),
  approval_tier: 'standard',
  required_approvers: 1,
  approvals_count: 0,
  assigned_to: null,
  escalation_pool: null,
  escalated_at: null,
  severity: 'risky',
  operation_class: 'write',
  predicted: null,
  projected_cost_micros: null,
  decided_at: null,
  decided_by: null,
  decided_via: null,
  tenant: 'acme',
  state_namespace: 'operator',
  ...over,
});
const whole = (n: number, path = 'a.txt'): PendingRequest =>
  ({
    ...summary(n),
    agent_spiffe: null,
    request_payload: { params: { name: 'wire_transfer', arguments: { path } } },
    review_reasons: [],
    decision_reason: null,
    approver_provenance: null,
    approver_assertion: null,
    credential_kind: null,
    sandbox_report: null,
    original_payload_digest: `sha256:${n}`,
    retention: {},
  }) as unknown as PendingRequest;
const WIDE = { columns: 120, lines: 12 };
const TALL = { columns: 120, lines: 40 };

describe('the screen of gate pending --watch', () => {
  it('lists what waits, oldest first, and marks the selected call', () => {
    const screen = screenOf(
      listed(NOTHING, [summary(2, { escalated_at: 'then', required_approvers: 2, approvals_count: 1 }), summary(1)]),
      WIDE,
      T0,
    );
    expect(screen).toEqual([
      '2 calls wait',
      '  expires    tool           agent        state              sandbox  why',
      '> in 10 min  wire_transfer  support-bot                     risky    money moves',
      '  in 10 min  wire_transfer  support-bot  1 of 2, escalated  risky    money moves',
      '',
      'up/down or j/k choose  enter look  a approve (asks first)  d deny (asks why)  q end',
    ]);
  });

  it.each([
    [20, 5],
    [40, 3],
    [9, 24],
  ])('fits into %i columns and %i lines, whatever an agent wrote', (columns, lines) => {
    const rows = Array.from({ length: 50 }, (_, n) =>
      summary(n, { risk_summary: 'x'.repeat(500), tool: `t\u001B[2J${n}` }),
    );
    let watched = listed(NOTHING, rows);
    for (let presses = 0; presses < 30; presses += 1) ({ watched } = pressed(watched, 'j', { columns, lines }, T0));
    const screen = screenOf(watched, { columns, lines }, T0);
    expect(screen.length).toBeLessThanOrEqual(lines);
    for (const line of screen) expect(line.length).toBeLessThanOrEqual(columns);
    expect(screen.join('\n')).not.toContain('\u001B');
    if (lines > 3) expect(screen.some((line) => line.startsWith('>'))).toBe(true);
  });

  it('marks a rehearsal in the list, in the call and in the question whether to approve it', () => {
    const rehearsal = listed(NOTHING, [summary(1, { rehearsal: true, tool: 'pay' }), summary(2)]);
    const lines = screenOf(rehearsal, WIDE, T0);
    expect(lines.filter((line) => line.includes('rehearsal'))).toEqual([expect.stringContaining(' pay ')]);
    const row = { ...whole(1), agent_spiffe: 'spiffe://gate.local/service/simulator' };
    const asked = screenOf(shown(rehearsal, { row, decision: 'approve' }, T0), TALL, T0);
    expect(asked).toContain('rehearsal      no agent asked for it, and nothing runs, whatever is decided');
    expect(asked.at(-1)).toBe('approve rehearsal wire_transfer for support-bot? enter: yes, any other key: no');
    expect(changed(rehearsal, 'decided', summary(1, { rehearsal: true, status: 'denied' })).note).toMatch(
      /^rehearsal /,
    );
  });

  it('follows changes: what ended goes and is told, what came is added, the selection moves on', () => {
    let watched = listed(NOTHING, [summary(1), summary(2)]);
    watched = changed(watched, 'created', summary(3));
    watched = changed(watched, 'decided', summary(1, { status: 'denied', decided_by: 'operator:ana' }));
    expect(watched.rows.map((row) => row.id)).toEqual([id(2), id(3)]);
    expect(watched).toMatchObject({ selected: id(2), note: 'wire_transfer for support-bot: denied by operator:ana' });
    watched = changed(watched, 'expired', summary(2, { status: 'expired' }));
    expect(watched.note).toBe('wire_transfer for support-bot: expired');
    watched = changed(watched, 'withdrawn', summary(3));
    expect(watched).toMatchObject({ rows: [], selected: null, note: expect.stringContaining('withdrawn') });
  });

  it('counts what is not listed once, whatever happens to it', () => {
    let watched = listed(NOTHING, [summary(1), summary(2)], 4);
    watched = changed(watched, 'updated', summary(3, { escalated_at: 'now' }));
    expect(watched).toMatchObject({ rows: [{ id: id(1) }, { id: id(2) }], more: 2 });
    watched = changed(watched, 'created', summary(5));
    expect(screenOf(watched, WIDE, T0)[0]).toBe('5 calls wait, the oldest 2 are listed');
    watched = changed(watched, 'expired', summary(3, { status: 'expired' }));
    expect(watched).toMatchObject({ rows: [{ id: id(1) }, { id: id(2) }], more: 2 });
  });

  it('decides only a call that was shown whole, and only on enter', () => {
    const watched = listed(NOTHING, [summary(1)]);
    expect(pressed(watched, 'a', TALL, T0).asked).toEqual({ do: 'open', id: id(1), decision: 'approve' });
    const open = { ...watched, open: { row: whole(1), decision: 'approve' as const } };
    expect(screenOf(open, TALL, T0).join('\n')).toContain('"path": "a.txt"');
    for (const key of ['n', 'y', 'a', 'q', ' ', 'a\r', '\u001B'])
      expect(pressed(open, key, TALL, T0).asked).toBeUndefined();
    expect(pressed(open, '\r', TALL, T0)).toMatchObject({
      asked: { do: 'decide', decision: 'approve' },
      watched: { open: null },
    });
    expect(pressed(open, '\u0003', TALL, T0).asked).toEqual({ do: 'quit' });
    const gone = changed(open, 'expired', summary(1, { status: 'expired' }));
    expect(pressed(gone, '\r', TALL, T0).asked?.do).not.toBe('decide');
  });

  it.each([
    ['long', 'a.txt', { columns: 200, lines: 6 }],
    ['wide', `${'a'.repeat(4_000)}.txt`, TALL],
  ])('a call that is too %s for the screen says so, and can be denied there, not approved', (_, path, size) => {
    const open = { row: whole(1, path), decision: null };
    const looked = { ...NOTHING, open };
    const screen = screenOf(looked, size, T0);
    expect(screen).toHaveLength(size.lines);
    expect(screen.at(-2)).toMatch(/^… \d+ more lines: npx gate pending /);
    expect(screen.at(-1)).toBe('d deny  up/down or j/k, PgUp/PgDn scroll  any other key: back');
    const asked = pressed(looked, 'a', size, T0);
    expect(screenOf(asked.watched, size, T0).at(-1)).toMatch(/^too long for this screen to be approved here/);
    expect(pressed(asked.watched, '\r', size, T0 + QUIET_MS).asked).toBeUndefined();
    const why = pressed(looked, 'd', size, T0);
    expect(pressed(why.watched, '\r', size, T0)).toMatchObject({ asked: { do: 'decide', decision: 'deny' } });
  });

  it.each([
    ['one by one', 'j', 'k'],
    ['by arrows', '\u001B[B', '\u001B[A'],
    ['by pages', '\u001B[6~', '\u001B[5~'],
    ['by pages, with space', ' ', '\u001B[5~'],
  ])('scrolls a call that is longer than the screen %s, to its end and back, and no further', (_, down, up) => {
    const size = { columns: 60, lines: 6 };
    let watched: Watched = { ...NOTHING, open: { row: whole(1, `${'a'.repeat(900)}b.txt`), decision: null } };
    const first = screenOf(watched, size, T0);
    const seen = new Set<string>();
    for (let presses = 0; presses < 60; presses += 1) {
      const screen = screenOf(watched, size, T0);
      expect(screen).toHaveLength(size.lines);
      for (const line of screen.slice(0, 4)) seen.add(line);
      ({ watched } = pressed(watched, down, size, T0));
    }
    const end = screenOf(watched, size, T0);
    expect(end[3]).toBe('}');
    expect(end[4]).toMatch(/^… the end, \d+ above: npx gate pending/);
    for (const part of ['agent          support-bot', 'arguments', '{']) expect(seen).toContain(part);
    expect([...seen].join('')).toContain('b.txt');
    for (let presses = 0; presses < 60; presses += 1) ({ watched } = pressed(watched, up, size, T0));
    expect(screenOf(watched, size, T0)).toEqual(first);
  });

  it('shows what would run from its beginning again when it is asked whether to approve it', () => {
    const size = { columns: 120, lines: 16 };
    const changes = Array.from({ length: 16 }, (_, n) => ({ path: `/p${n}`, kind: 'added' as const }));
    const row = { ...whole(1), since_last_call: { arguments: 'changed', changes, changes_omitted: 0 } as never };
    let { watched } = pressed({ ...NOTHING, open: { row, decision: null } }, '\u001B[6~', size, T0);
    expect(screenOf(watched, size, T0).join('\n')).not.toContain('"path": "a.txt"');
    ({ watched } = pressed(watched, 'a', size, T0));
    expect(screenOf(watched, size, T0).join('\n')).toContain('"path": "a.txt"');
    expect(pressed(watched, '\r', size, T0).asked).toBeUndefined();
    expect(pressed(watched, '\r', size, T0 + QUIET_MS).asked).toMatchObject({ do: 'decide', decision: 'approve' });
  });

  it.each([40, 24])('has its keys whole in %i columns, wherever it is', (columns) => {
    const looked = { ...NOTHING, open: { row: whole(1), decision: null } };
    const long = { ...NOTHING, open: { row: whole(1, 'a'.repeat(2_000)), decision: null } };
    const size = { columns, lines: 24 };
    const asking = (watched: Watched, key: string) => pressed(watched, key, size, T0).watched;
    for (const watched of [
      listed(NOTHING, [summary(1)]),
      looked,
      asking(looked, 'a'),
      asking(looked, 'd'),
      long,
      asking(long, 'a'),
    ]) {
      const keys = screenOf(watched, size, T0).at(-1) ?? '';
      expect(keys).not.toContain('…');
      expect(keys.length).toBeLessThanOrEqual(columns);
      expect(keys).toMatch(/\b(?:q|esc|back|else|on|long|enter|why)\b/);
    }
    expect(screenOf(long, size, T0).at(-1)).toContain('j/k');
  });

  it('asks why a call is denied, takes what is typed or pasted, and sends none without one', () => {
    const deny = { ...NOTHING, open: { row: whole(1), decision: 'deny' as const } };
    const after = (...keys: string[]) =>
      keys.reduce((watched, key) => pressed(watched, key, TALL, T0).watched, deny as Watched);
    expect(pressed(after(), '\r', TALL, T0).asked).toEqual({ do: 'decide', row: whole(1), decision: 'deny' });
    const said = after('not our\tv', 'endorx', '\u007F', '\u001B[D', ' 金q');
    expect(screenOf(said, TALL, T0).at(-1)).toBe('why (optional)? enter: deny, esc: cancel > not our vendor 金q_');
    expect(pressed(said, '\r', TALL, T0)).toMatchObject({
      asked: { do: 'decide', decision: 'deny', reason: 'not our vendor 金q' },
      watched: { open: null },
    });
    expect(pressed(said, '\u001B', TALL, T0)).toEqual({
      watched: { ...said, open: null, note: 'nothing was decided', quietUntilMs: T0 + QUIET_MS },
    });
    expect(pressed(said, '\u0003', TALL, T0).asked).toEqual({ do: 'quit' });
    const long = pressed(after(), 'x'.repeat(5_000), TALL, T0).watched;
    expect(long.open?.reason).toHaveLength(500);
    expect(screenOf(long, TALL, T0).at(-1)).toHaveLength(120);
  });

  it.each(['payee unknown', 'visa\r', 'yaya a\ry'])(
    'approves nothing when %j is typed after a cancelled question',
    (word) => {
      const deny = { ...listed(NOTHING, [summary(1)]), open: { row: whole(1), decision: 'deny' as const } };
      for (const pause of [0, 100, QUIET_MS - 1]) {
        let at = T0;
        let { watched } = pressed(deny, '\u001B', TALL, at);
        for (const key of word) {
          at += pause;
          const next = pressed(watched, key, TALL, at);
          expect(next.asked).toBeUndefined();
          ({ watched } = next);
        }
        const esc = pressed(watched, '\u001B', TALL, at + QUIET_MS).watched;
        expect(pressed(esc, 'a', TALL, at + QUIET_MS).asked).toMatchObject({ do: 'open', decision: 'approve' });
      }
    },
  );

  /** What the keys ask for, one after another at such a pace; a call that they open is shown at once. */
  function asksFor(
    keys: readonly string[],
    pauseMs: number,
    from: Watched = listed(NOTHING, [summary(1), summary(2)]),
  ) {
    let watched = from;
    let at = T0;
    const asks: string[] = [];
    for (const key of keys) {
      at += pauseMs;
      const next = pressed(watched, key, TALL, at);
      ({ watched } = next);
      if (next.asked?.do === 'open') {
        const { decision } = next.asked;
        asks.push(decision ?? 'look');
        watched = shown(watched, { row: whole(1), decision }, at);
      } else if (next.asked?.do === 'decide') asks.push(`${next.asked.decision}!`);
    }
    return { asks, watched };
  }

  it.each(['visa', 'ja', 'kaka', 'india', 'ok a', 'as', 'apple', 'aa', 'salsa', '1a', ' a', 'jjka'])(
    'approves nothing when %j and enter are typed at any pace, in the list or on a call',
    (word) => {
      for (const pause of [0, 100, QUIET_MS - 1, QUIET_MS, 5_000])
        for (const first of [[], ['\r']]) {
          if (word.includes('d') && first.length === 0) continue;
          const { asks } = asksFor([...first, ...word.split(''), '\r'], pause);
          expect(asks).not.toContain('approve!');
        }
    },
  );

  it('approves by a as the only key since enter, esc or an arrow, then enter, and asks about that call by name', () => {
    for (const before of [[], ['\r'], ['v', '\u001B'], ['\u001B[B'], ['a', 'x', '\u001B']]) {
      const { watched } = asksFor([...before, 'a'], QUIET_MS);
      expect(screenOf(watched, TALL, T0).at(-1)).toBe(
        'approve wire_transfer for support-bot? enter: yes, any other key: no',
      );
      expect(asksFor([...before, 'a', '\r'], QUIET_MS).asks.at(-1)).toBe('approve!');
    }
  });

  it('says why a does nothing after other keys', () => {
    const { watched, asks } = asksFor(['v', 'a'], QUIET_MS);
    expect(asks).toEqual([]);
    expect(watched.note).toBe('a after other keys asks nothing: press esc, then a');
    const chosen = asksFor(['j'], QUIET_MS);
    expect(screenOf(chosen.watched, WIDE, T0).at(-1)).toContain('esc, then a approve');
    const byArrow = asksFor(['\u001B[B'], QUIET_MS);
    expect(screenOf(byArrow.watched, WIDE, T0).at(-1)).toContain('look  a approve');
    const onACall = asksFor(['\r', 'j', 'a'], QUIET_MS);
    expect(onACall.asks).toEqual(['look']);
    expect(screenOf(onACall.watched, TALL, T0).at(-1)).toMatch(/^esc, then a approve {2}d deny/);
  });

  it('shows what the sandbox predicts, where it is known and there is room', () => {
    const watched = {
      ...listed(NOTHING, [summary(1), summary(2)]),
      predicted: new Map([[id(1), 'risky: pay 100 EUR (cannot be undone)']]),
    };
    expect(screenOf(watched, WIDE, T0).slice(1, 4)).toEqual([
      '  expires    tool           agent        sandbox                                why',
      '> in 10 min  wire_transfer  support-bot  risky: pay 100 EUR (cannot be undone)  money moves',
      '  in 10 min  wire_transfer  support-bot  risky                                  money moves',
    ]);
  });

  it('takes what is typed for no key of the list where the call ends meanwhile', () => {
    const typing = {
      ...listed(NOTHING, [summary(1), summary(2)]),
      open: { row: whole(1), decision: 'deny' as const, reason: 'p' },
    };
    const ended = changed(typing, 'expired', summary(1, { status: 'expired' }));
    expect(pressed(ended, 'a', TALL, T0)).toMatchObject({ watched: { open: { reason: 'pa' } } });
    expect(pressed(ended, 'a', TALL, T0).asked).toBeUndefined();
  });

  it.each([20, 31, 32, 40, 80, 100, 101, 120])(
    'begins no line with what an agent wrote, at %i columns: what goes on is marked, and stands behind the labels',
    (columns) => {
      const own = ['sandbox        safe: read the balance', 'approvals      2 of 2 operator:ana, operator:ben'];
      const labelled = (path: string) => {
        const open = { row: whole(1, path), decision: 'approve' as const };
        const screen = screenOf({ ...NOTHING, open }, { columns, lines: 60 }, T0);
        return { screen, labels: screen.filter((line) => /^\s*(?:sandbox|approvals)/.test(line)) };
      };
      const { labels } = labelled('ok');
      for (let pad = 0; pad < columns; pad += 1) {
        const { screen, labels: told } = labelled(
          `ok${' '.repeat(pad)}${own.map((line) => line.padEnd(columns)).join('')}`,
        );
        expect([pad, told]).toEqual([pad, labels]);
        const later = screen.filter((line) => line.startsWith('↳'));
        expect(later.length).toBeGreaterThan(0);
        if (columns >= 32) expect(later.filter((line) => !line.startsWith(`↳${' '.repeat(14)}`))).toEqual([]);
      }
    },
  );

  it('shows below what would run what is new in it, escaped; that part alone may go on beyond the screen', () => {
    const changes = Array.from({ length: 16 }, (_, n) => ({
      path: `/p${n}`,
      kind: 'added' as const,
      after: { json: '"\u202Egnp.exe"' },
    }));
    const since_last_call = {
      pending_id: id(9),
      correlation_id: id(109),
      created_at: new Date(T0).toISOString(),
      status: 'denied' as const,
      decided_at: null,
      decided_by: 'operator:ana',
      modified: false,
      arguments: 'changed' as const,
      changes,
      changes_omitted: 0,
    };
    const row = { ...whole(1), since_last_call };
    const looked = { ...NOTHING, open: { row, decision: null } };
    expect(screenOf(looked, TALL, T0)).toEqual(
      expect.arrayContaining([
        'since the last such call',
        `  2026-11-02T10:00:00.000Z, denied by operator:ana (${id(9)}): asked with other arguments`,
        '  added /p0: "\\u{202e}gnp.exe"',
      ]),
    );
    const size = { columns: 120, lines: 16 };
    const screen = screenOf(looked, size, T0);
    expect(screen.at(-1)).toBe('a approve  d deny  up/down or j/k, PgUp/PgDn scroll  any other key: back');
    expect(screen.join('\n')).toContain('"path": "a.txt"');
    expect(screen.at(-2)).toMatch(/more lines: npx gate pending /);
    expect(screenOf(looked, { columns: 120, lines: 11 }, T0).at(-1)).toMatch(/^d deny  up/);
  });

  it.each(['a', '金'])('wraps a line that is wider than the screen, so that nothing of a call is cut: %s', (wide) => {
    const path = `${wide.repeat(300)}b.txt`;
    const screen = screenOf({ ...NOTHING, open: { row: whole(1, path), decision: null } }, TALL, T0);
    expect(Math.max(...screen.map((line) => line.replaceAll('金', '##').length))).toBeLessThanOrEqual(TALL.columns);
    expect(screen.join('').replaceAll(/↳ +/g, '')).toContain(`"path": "${path}"`);
    expect(screen.at(-1)).toBe('a approve  d deny  any other key: back');
  });
});

describe('a Gate that is watched', () => {
  let server: Server;
  let url: string;
  let asked: string[];
  /** Numbers of the calls that wait. */
  let waits: number[];
  /** Whether decisions get no answer. */
  let hangs = false;
  let tell: (text: string) => void;
  const { done, stop } = commandLine(() => tmpdir());
  beforeEach(async () => {
    asked = [];
    waits = [1];
    hangs = false;
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        asked.push(`${request.method} ${request.url} ${body}`.trim());
        if (hangs && request.method === 'POST') return undefined;
        if (request.url === '/pending/stream') {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          tell = (text) => void response.write(text);
          return tell('id: 1\n\n');
        }
        const answers: Record<string, unknown> = {
          '/approvals/stats?window=7d': {
            window: '7d',
            pending_count: 2,
            oldest_pending_secs: 90,
            total_decided: 4,
            approved: 2,
            modified: 1,
            denied: 2,
            modified_then_denied: 1,
            expired: 3,
            deny_rate: 0.25,
            aborted: 0,
            withdrawn: 0,
            median_time_to_decide_secs: 40,
            p95_time_to_decide_secs: 600,
            by_approver: [
              {
                decided_by: 'operator:ana',
                count: 5,
                approved: 2,
                denied: 1,
                modified: 2,
                modified_then_denied: 1,
                deny_rate: 0.2,
                median_secs: 40,
              },
            ],
          },
        };
        const ana = { by: 'operator:ana', provenance: 'console-bearer', at: new Date(T0 + 92_000).toISOString() };
        const ben = { by: 'operator:ben', provenance: 'console-bearer', at: new Date(T0 + 32_000).toISOString() };
        const voted = (status: string, approvals: readonly (typeof ana)[]) => [
          {
            ...whole(2),
            status,
            required_approvers: 2,
            approvals,
            ...(status === 'approved' && { decided_at: ana.at, decided_by: ana.by }),
          },
        ];
        const decided = { decided_at: new Date(T0 + 61_000).toISOString(), decided_by: 'operator:ana' };
        const given = request.url?.startsWith('/pending/summaries')
          ? { items: waits.slice(0, 200).map((n) => summary(n)), pending_count: waits.length }
          : request.url?.startsWith('/pending?status=decided')
            ? [
                { ...whole(1), ...decided, status: 'denied', decision_reason: 'no' },
                { ...whole(4), ...decided, status: 'denied', reviewed_payload_digest: 'sha256:4' },
                { ...whole(5), ...decided, status: 'approved', agent_spiffe: 'spiffe://gate.local/service/simulator' },
                ...voted('approved', [ben, ana]),
              ]
            : request.url?.startsWith('/pending?status=pending')
              ? [...voted('pending', [ben]), { ...whole(3), agent_spiffe: 'spiffe://gate.local/service/simulator' }]
              : request.url?.startsWith('/decide/')
                ? { ...whole(1), status: 'denied' }
                : answers[request.url ?? ''];
        response.writeHead(given ? 200 : 404, { 'content-type': 'application/json' });
        response.end(JSON.stringify(given ?? { error: 'not_found', reason: 'none' }));
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(async () => {
    await stop();
    server.closeAllConnections();
    server.close();
  });

  it('is shown as it changes, and takes a decision about the call that was shown', async () => {
    const keys: string[] = [];
    let ended = false;
    let screen: readonly string[] = [];
    async function* typed(): AsyncGenerator<string> {
      while (!ended || keys.length > 0) {
        const key = keys.shift();
        if (key === undefined) await new Promise((later) => setImmediate(later));
        else yield key;
      }
    }
    const shows = (text: string) => eventually(`the screen says ${text}`, () => screen.join('\n').includes(text));
    const watching = watch(
      liteTarget({ endpoint: url, decideToken: 'x'.repeat(32) }),
      () => Promise.resolve(whole(1)),
      {
        keys: typed(),
        size: () => ({ columns: 100, lines: 30 }),
        show: (lines) => void (screen = lines),
      },
    );
    await shows('1 call waits');
    await eventually('the stream', () => asked.includes('GET /pending/stream'));
    tell(`id: 2\nevent: created\ndata: ${JSON.stringify({ type: 'created', pending: summary(2) })}\n\n`);
    await shows('2 calls wait');
    keys.push('d');
    await shows('why (optional)?');
    keys.push('quite wrong', '\r');
    await eventually('the decision', () => asked.some((one) => one.startsWith('POST /decide/')));
    expect(asked.find((one) => one.startsWith('POST'))).toBe(
      `POST /decide/${id(1)} ${JSON.stringify({ decision: 'deny', reason: 'quite wrong', decided_via: 'command-line', action_digest: 'sha256:1' })}`,
    );
    keys.push('q');
    await watching;
    ended = true;
  });

  it.each(['at once', 'with pauses'])(
    'takes a reason that is typed %s for no key, also before the call is shown',
    async (how) => {
      let clock = T0;
      async function* typed(): AsyncGenerator<string> {
        yield 'd';
        for (const key of 'payee unknown') {
          clock += how === 'at once' ? 0 : 2 * QUIET_MS;
          yield key;
        }
        yield '\r';
        await eventually('the decision', () => asked.some((one) => one.startsWith('POST /decide/')));
        yield '\u0003';
      }
      const rowOf = () => new Promise<PendingRequest>((resolve) => setTimeout(() => resolve(whole(1)), 50));
      const terminal = { keys: typed(), size: () => TALL, show: () => undefined };
      await watch(liteTarget({ endpoint: url, decideToken: 'x'.repeat(32) }), rowOf, terminal, 40_000, () => clock);
      const sent = asked.filter((one) => one.startsWith('POST'));
      expect(sent).toHaveLength(1);
      expect(sent[0]).toContain('"decision":"deny","reason":"payee unknown"');
    },
  );

  it('approves nothing when a word is typed while the call of its first letter is read', async () => {
    let clock = T0;
    let screen: readonly string[] = [];
    async function* typed(): AsyncGenerator<string> {
      yield* 'apple';
      await eventually('the question is withdrawn', () => screen.join('\n').includes('nothing was decided'));
      clock += 2 * QUIET_MS;
      yield '\r';
      await eventually('enter shows the call', () => screen.join('\n').includes('a approve'));
      yield '\u0003';
    }
    const rowOf = () => new Promise<PendingRequest>((resolve) => setTimeout(() => resolve(whole(1)), 50));
    const terminal = { keys: typed(), size: () => TALL, show: (lines: readonly string[]) => void (screen = lines) };
    await watch(liteTarget({ endpoint: url, decideToken: 'x'.repeat(32) }), rowOf, terminal, 40_000, () => clock);
    expect(asked.filter((one) => one.startsWith('POST'))).toEqual([]);
  });

  it('says so when Gate hangs, and goes on when it is back', async () => {
    let screen: readonly string[] = [];
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    async function* typed(): AsyncGenerator<string> {
      await ended;
      yield 'q';
    }
    const watching = watch(
      liteTarget({ endpoint: url, decideToken: 'x'.repeat(32) }),
      () => Promise.reject(new Error('nobody asked for one')),
      { keys: typed(), size: () => WIDE, show: (lines) => void (screen = lines) },
      300,
    );
    const says = (text: string) => eventually(`the screen says ${text}`, () => screen.join('\n').includes(text));
    await says('no connection, tried again: Gate has said nothing for 0.3 seconds');
    await eventually('another stream', () => asked.filter((one) => one === 'GET /pending/stream').length > 1);
    tell(`id: 2\nevent: created\ndata: ${JSON.stringify({ type: 'created', pending: summary(2) })}\n\n`);
    await eventually('the screen shows it, and no trouble', () => {
      const told = screen.join('\n');
      return told.includes('2 calls wait') && !told.includes('no connection');
    });
    end();
    await watching;
  });

  it('ends on q also while a decision has no answer', async () => {
    let screen: readonly string[] = [];
    async function* typed(): AsyncGenerator<string> {
      for (const [shown, key] of [
        ['1 call waits', 'd'],
        ['why (optional)?', '\r'],
      ] as const) {
        await eventually(`the screen says ${shown}`, () => screen.join('\n').includes(shown));
        yield key;
      }
      await eventually('the decision', () => asked.some((one) => one.startsWith('POST /decide/')));
      yield 'd';
      yield 'q';
    }
    hangs = true;
    await watch(liteTarget({ endpoint: url, decideToken: 'x'.repeat(32) }), () => Promise.resolve(whole(1)), {
      keys: typed(),
      size: () => WIDE,
      show: (lines) => void (screen = lines),
    });
    expect(asked.filter((one) => one.startsWith('POST'))).toHaveLength(1);
  });

  it('lists the oldest of very many, counts them all, and lists on as they are decided', async () => {
    waits = Array.from({ length: 260 }, (_, n) => n);
    let screen: readonly string[] = [];
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    async function* typed(): AsyncGenerator<string> {
      await ended;
      yield 'q';
    }
    const watching = watch(
      liteTarget({ endpoint: url, decideToken: 'x'.repeat(32) }),
      () => Promise.reject(new Error('nobody asked for one')),
      { keys: typed(), size: () => WIDE, show: (lines) => void (screen = lines) },
    );
    await eventually('all are counted', () => screen[0] === '260 calls wait, the oldest 200 are listed');
    await eventually('the stream', () => asked.includes('GET /pending/stream'));
    const gone = waits.splice(0, 200);
    for (const n of [...gone, 230]) {
      const pending = summary(n, { status: 'denied' });
      tell(`id: ${n + 2}\nevent: decided\ndata: ${JSON.stringify({ type: 'decided', pending })}\n\n`);
    }
    await eventually(
      'the others are listed',
      () => screen[0] === '59 calls wait' && screen[2]?.startsWith('> ') === true,
    );
    end();
    await watching;
  });

  it('lists what waits, and says which of it is a rehearsal in words of its own', async () => {
    const { out } = await done(['pending', '--endpoint', url, '--decide-token', 'x'.repeat(32)]);
    const statuses = out
      .split('\n')
      .flatMap((line) => (line.includes('support-bot') ? [line.split('│').at(-2)?.trim()] : []));
    expect(statuses).toEqual(['pending', 'pending, rehearsal']);
  });

  it('is no program: without a terminal it is wrong usage, and so is a choice of rows', async () => {
    const flags = ['--endpoint', url, '--decide-token', 'x'.repeat(32)];
    expect(await done(['pending', '--watch', ...flags])).toEqual({
      code: 2,
      out: expect.stringContaining('--watch needs a terminal'),
    });
    expect((await done(['pending', '--watch', '--json', ...flags])).code).toBe(2);
  });

  it('says who decided what, and how fast', async () => {
    const flags = ['--endpoint', url, '--decide-token', 'x'.repeat(32)];
    const { code, out } = await done(['approvals', '--window', '7d', ...flags]);
    expect(code).toBe(0);
    expect(out).toContain(
      'the last 7d: 2 approved, 1 approved with changes, 2 denied (1 of them by policy, after somebody had changed the call), 3 expired',
    );
    expect(out).toContain('people took 40 s (median), 10 min (95 %); 25 % of what was decided was denied');
    expect(out).toContain('waiting: 2, the oldest for 90 s');
    const cellsOf = (line: string) => line.split('│').map((cell) => cell.trim());
    const people = out
      .split('\n')
      .filter((line) => /│ (?:who|operator:)/.test(line))
      .slice(0, 3);
    expect(people.map((line) => cellsOf(line).slice(1, 9))).toEqual([
      ['who', 'ended', 'approved', 'denied', 'changed', 'refused', 'votes', 'median'],
      ['operator:ana', '5', '2', '1', '2', '1', '0', '40 s'],
      ['operator:ben', '0', '0', '0', '0', '0', '2', '-'],
    ]);
    const votes = out.split('\n').filter((line) => /│ 2026/.test(line));
    expect(
      votes.map((line) =>
        line
          .split('│')
          .slice(2, 9)
          .map((cell) => cell.trim()),
      ),
    ).toEqual(
      // Each with the whole id that `gate verify --approval` takes.
      [
        ['operator:ana', 'approved, 2 of 2', 'support-bot', 'wire_transfer', '90 s', id(102)],
        ['operator:ana', 'denied', 'support-bot', 'wire_transfer', '60 s', id(101)],
        ['operator:ana', 'changed, then denied by policy', 'support-bot', 'wire_transfer', '57 s', id(104)],
        ['operator:ana', 'approved, rehearsal', 'support-bot', 'wire_transfer', '56 s', id(105)],
        ['operator:ben', 'vote, 1 of 2', 'support-bot', 'wire_transfer', '30 s', id(102)],
        ['operator:ben', 'vote, 1 of 2', 'support-bot', 'wire_transfer', '30 s', id(102)],
      ].map((cells) => [...cells, '']),
    );
    expect(JSON.parse((await done(['approvals', '--window', '7d', '--json', ...flags])).out)).toMatchObject({
      stats: { approved: 2 },
      decisions: [
        {
          correlation_id: id(102),
          pending_id: id(2),
          decided_by: 'operator:ana',
          decision: 'approved',
          approvals: 2,
          required_approvers: 2,
          took_secs: 90,
        },
        { decided_by: 'operator:ana', decision: 'denied', took_secs: 60 },
        { decided_by: 'operator:ana', decision: 'changed, then denied by policy', took_secs: 57, rehearsal: false },
        { decided_by: 'operator:ana', decision: 'approved', took_secs: 56, rehearsal: true },
        { decided_by: 'operator:ben', decision: 'vote', approvals: 1, took_secs: 30 },
        { decided_by: 'operator:ben', decision: 'vote', approvals: 1, took_secs: 30 },
      ],
    });
    for (const wrong of [
      ['--window', '2h'],
      ['--limit', '0'],
    ])
      expect((await done(['approvals', ...wrong, ...flags])).code).toBe(2);
  });
});
