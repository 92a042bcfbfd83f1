import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readConfig } from '../config/env.js';
import { SHARED_SETTINGS } from '../config/shared.js';
import { AUTHENTICATED, NOT_AUTHENTICATED } from '../domain/call/sealed-record.js';
import { keyRing } from '../domain/crypto/key-ring.js';
import { editedSqlite } from '../test/support/edited-store.js';
import { openProxyStore, storeTarget } from './proxy-store.js';

const ring = (name: string) => keyRing(new Map([[name, Buffer.alloc(32, name)]]));

/**
 * Every column beside the call records and what its editor comes to: `found`, by a tag or seal over it or as that seal's context;
 * otherwise the consequence, which SECURITY.md says too. A new column is to be put here.
 */
const COLUMNS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  call_seal: { id: 'found', mac: 'found' },
  tool_pin_sets: { tenant: 'found', agent: 'found', content: 'found', tag: 'found' },
  tool_seen_sets: { tenant: 'found', upstream: 'found', agent: 'found', content: 'found', tag: 'found' },
  tool_classes: { tenant: 'found', upstream: 'found', content: 'found', tag: 'found' },
  tool_class_sets: { tenant: 'found', upstream: 'found', generation: 'found', sealed: 'found' },
  grant_uses: {
    jti: 'found',
    uses: 'found',
    mac: 'found',
    expires_ms: 'the count goes early, or stays: one that is gone begins anew',
    told: 'identity is told again, or not, how often a grant was used',
  },
  grant_used_calls: {
    jti: 'found',
    correlation_id: 'found',
    mac: 'found',
    expires_ms: 'a call counts again where it is asked again, or is remembered for longer',
  },
  upstream_sessions: {
    upstream: 'found',
    tenant: 'found',
    agent: 'found',
    opened_by: 'a session is opened anew, or not until its time',
    until_ms: 'a session is opened anew, or not until its time',
    sealed: 'found',
  },
};
/** Tables of which nothing is authenticated, and why what their editor changes runs nothing that was not judged. */
const NOT_COVERED = {
  call_requests: 'the request is sealed under id and digest, its other columns find it',
  call_tombstones: 'one taken away is as if the call had not been',
  rate_hits: 'more calls, each of them judged',
  agent_profiles: 'an agent of which nothing is remembered is not measured, and a changed profile counts as none',
  agent_flows: 'what an answer brought in is not known, or every address that nothing vouches for waits',
  sensitive_steps: 'a step is taken out of an agent’s history, or put in',
  spend_totals: 'more calls, each of them judged; the rows of the ledger say what was spent',
  spend_calls: 'the same: a call’s share is counted as less, or not at all',
  decoy_hits: 'an agent is not contained whose call was denied, or is counted as touching a decoy more often',
  call_setbacks: 'a try of reconciliation is put off, or made again',
  ended_mcp_sessions: 'an ended session of an agent opens again for that agent, or one ends early',
  mcp_log_levels: 'a client hears a log message of Gate that it did not want, or hears none',
  mcp_subscriptions:
    'what is watched is sealed under its row; one taken away or given another time ends early, or late, and its session hears less, or more',
  mcp_questions:
    'what is asked and answered is sealed for its row and its call; one taken away, or given another time, is not answered, and its tool goes without',
  mcp_notes:
    'what a tool says is sealed for its call and its place; one taken away is not heard by the client, and nothing else follows from it',
  mcp_tasks: 'a call of an agent is listed as a task of its, or is not; what it is says its record',
  tool_definitions: 'a text that is not what its digest says is not shown; what is pinned are the digests',
  tool_pins: 'ended: read by nobody',
  tool_pin_lists: 'ended: read by nobody',
};

describe('the store of the proxy and the worker', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gate-proxy-store-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
  const open = (name: string) =>
    openProxyStore(storeTarget(readConfig('gate', SHARED_SETTINGS, { GATE_STATE_DIR: folder }), 'calls'), {
      keys: ring(name),
      upstream: 'own',
    });

  it('is marked at its first opening, and opens under no other keys', async () => {
    await (await open('one')).calls.close();
    const store = editedSqlite(join(folder, 'data', 'calls.db'));
    expect(await store.all('select mac from call_seal')).toEqual([{ mac: expect.stringMatching(/^one:/) }]);
    await expect(open('two')).rejects.toMatchObject({ code: 'store_unavailable' });
  });

  it.each([
    ['the pins alone', []],
    ['the note of an earlier Gate and every list with a tag', ["delete from tool_pin_sets where tenant = ''"]],
    ['what was seen as well', ['delete from tool_seen_sets', "delete from tool_pin_sets where agent <> 'bot'"]],
  ])('signs no pins that somebody put there without a tag, having written %s', async (_what, also) => {
    const owner = { tenant: 'default', agent: 'bot' };
    const first = await open('one');
    await first.pins.pin(owner, new Map([['a', 'a'.repeat(64)]]));
    await first.pins.saw(owner, new Map([['a', 'a'.repeat(64)]]), true);
    await first.calls.close();
    const store = editedSqlite(join(folder, 'data', 'calls.db'));
    for (const statement of also) await store.all(statement);
    await store.all(
      `update tool_pin_sets set content = replace(content, '${'a'.repeat(64)}', '${'b'.repeat(64)}'), tag = null`,
    );
    const again = await open('one');
    expect(await again.pins.read(owner)).toMatchObject({ tampered: true, digests: new Map() });
    await again.calls.close();
    expect(await store.all('select tag from tool_pin_sets')).toEqual([{ tag: null }]);
  });

  it('has every column of every table classified', async () => {
    await (await open('one')).calls.close();
    const tables = await editedSqlite(join(folder, 'data', 'calls.db')).columns();
    const covered = {
      ...Object.fromEntries(Object.entries(COLUMNS).map(([table, columns]) => [table, Object.keys(columns).sort()])),
      call_records: [...AUTHENTICATED, ...NOT_AUTHENTICATED].sort(),
    };
    const found = Object.entries(tables).filter(([table]) => !(table in NOT_COVERED));
    expect(Object.fromEntries(found.map(([table, columns]) => [table, Object.keys(columns).sort()]))).toEqual(covered);
    expect(Object.keys(NOT_COVERED).filter((table) => !(table in tables))).toEqual([]);
  });
});
