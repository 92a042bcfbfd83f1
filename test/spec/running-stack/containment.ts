import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type AgentRecord, type StopCall, stopReport, type StopReport } from '../../../contracts/identity.js';
import { sha256Hex, uuidFromDigest } from '../../../domain/crypto/digest.js';
import type { AgentClient } from '../../support/agent.js';
import { commandLine } from '../../support/command.js';
import { gate } from '../../support/running-stack.js';
import { eventually } from '../../support/waiting.js';

const NAME = 'contained-bot';
let bot: AgentClient;
const command = commandLine(() => gate.stateDir);
beforeAll(async () => {
  bot = await gate.agent(NAME);
});
afterAll(() => command.stop());

const cli = (...args: string[]) => command.done(args, { GATE_STATE_DIR: gate.stateDir });
/** What it printed stands in what a failure shows. */
const done = async (...args: string[]): Promise<string> => {
  const { code, out } = await cli(...args);
  expect([code, out]).toEqual([0, out]);
  return out;
};
/** Until every proxy knows: calls of their own, each with an id of its own. */
const answered = (status: number, code?: string) =>
  eventually(`a read is answered ${status}`, async () => {
    // Its connection ends when it is stopped.
    const reply = await bot.call('list_files', {}).catch(() => null);
    if (!reply) return null;
    return reply.status === status && (code === undefined || reply.body['error'] === code) ? reply : null;
  });
const record = async (): Promise<AgentRecord | undefined> => {
  const { out } = await cli('agents', '--json');
  return (JSON.parse(out) as AgentRecord[]).find(({ agent_name: name }) => name === NAME);
};

/** The report that a stop named: made in a few seconds, taken into a file, and checked offline; its row is in the ledger. */
async function reported(told: string): Promise<StopReport> {
  const [, id = ''] = /stops report ([0-9a-f-]{36})/.exec(told) ?? [];
  const file = join(gate.stateDir, `stop-${id}.json`);
  await eventually('the report is made', async () => (await cli('stops', 'report', id, '--out', file)).code === 0);
  expect(await done('stops', 'report')).toContain(id);
  const ca = join(gate.stateDir, 'pki', 'ca', 'ca.crt');
  expect(await done('verify', '--bundle', file, '--key', ca)).toContain('the bundle holds');
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace('"stopped_by":"operator:dev"', '"stopped_by":"operator:xyz"'));
  expect(await cli('verify', '--bundle', file, '--key', ca)).toMatchObject({
    code: 2,
    out: expect.stringContaining('whose signature does not hold'),
  });
  const report = stopReport.parse(JSON.parse(text));
  const of =
    report.stopped.kind === 'agent' ? uuidFromDigest('gate.identity-agent', report.stopped.id) : report.stopped.id;
  const rows = await gate.rows(of, (kinds) => kinds.includes('stop.reported'));
  expect(rows.filter(({ event_kind: kind }) => kind === 'stop.reported')).toContainEqual(
    expect.objectContaining({
      policy_decision: expect.objectContaining({ report_id: id, report_sha256: sha256Hex(text.trim()) }),
    }),
  );
  return report;
}

describe('containment of an agent, in the full edition', () => {
  it('stops nobody by a name that neither identity nor the ledger knows, unless that is said', async () => {
    expect(await cli('contain', 'agent', `${NAME}x`, '--reason', 'odd')).toMatchObject({
      code: 4,
      out: expect.stringContaining('--register'),
    });
    expect(await cli('contain', 'agent', 'contained-*', '--reason', 'odd')).toMatchObject({ code: 2 });
    // Its certificate is of the development stack: from now on the ledger knows it.
    const { status, correlationId } = await bot.call('list_files', {});
    expect(status).toBe(200);
    await gate.rows(correlationId, (kinds) => kinds.includes('proxy.verdict'));
    expect(await cli('contain', 'agent', NAME, '--reason', 'odd', '--for', '30m')).toMatchObject({ code: 2 });
    expect(await cli('contain', 'agent', NAME)).toMatchObject({ code: 2, out: expect.stringContaining('--reason') });
  }, 120_000);

  it('has a person decide about every call, while the flag stands', async () => {
    expect(await cli('contain', 'agent', NAME, '--reason', 'odd', '--force-hil', '--for', '1h')).toMatchObject({
      code: 0,
      out: expect.stringContaining('a person decides about every call'),
    });
    const parked = await answered(202);
    const rows = await gate.rows(parked.correlationId, (kinds) => kinds.includes('policy.evaluated'));
    const judged = rows.find(({ event_kind: kind }) => kind === 'policy.evaluated');
    expect(judged?.reasoning).toContain('Review: the agent is under containment; every call requires human approval.');
    await done('decide', parked.correlationId, 'approve');
    // An approval does not lift it.
    expect((await bot.call('list_files', {})).status).toBe(202);
    await done('release', 'agent', NAME, '--force-hil');
    await answered(200);
  }, 120_000);

  it('lets no call of a stopped agent in, and runs none that was approved', async () => {
    const parked = await bot.call('wire_transfer', { from: 'operating', to: 'vendor', amount: 7 });
    expect(parked.status).toBe(202);
    const before = (await gate.tools()).counts['wire_transfer'] ?? 0;
    const slow = (await gate.tools()).counts['slow_task'] ?? 0;
    // Its connection ends with the stop.
    const runs = bot.call('slow_task', { seconds: 3 }).catch(() => null);
    await eventually('the tool runs', async () => ((await gate.tools()).counts['slow_task'] ?? 0) > slow);
    const told = await done('contain', 'agent', NAME, '--reason', 'pays somebody unknown');
    expect(told).toContain('stopped: acme/contained-bot, by operator:dev');
    const refused = await answered(403, 'agent_suspended');
    const refusedAt = Date.now();
    // It goes on asking: none of that is let in, nor stands in the report.
    for (let at = 0; at < 5; at += 1) await answered(403, 'agent_suspended');
    expect(refused.body).toMatchObject({ layer: 'identity' });
    const [row] = await gate.rows(refused.correlationId, (kinds) => kinds.includes('proxy.verdict'));
    expect(row).toMatchObject({ signal: 'agent_suspended', tool_name: 'list_files', authorized: false });
    const decided = await cli('decide', parked.correlationId, 'approve', '--reason', 'too late');
    expect(decided).toMatchObject({ code: 1, out: expect.stringContaining('suspended') });
    const ended = await gate.rows(parked.correlationId, (kinds) => kinds.includes('upstream.outcome'));
    expect(ended.at(-1)).toMatchObject({
      signal: 'review_approved_but_suspended',
      policy_decision: { stage: 'not_run', code: 'agent_suspended' },
    });
    expect((await gate.tools()).counts['wire_transfer'] ?? 0).toBe(before);
    expect(await record()).toMatchObject({ state: 'suspended', reason: 'pays somebody unknown' });
    await runs;
    const report = await reported(told);
    const called = (was: StopCall['was']) =>
      report.calls.filter((call) => call.was === was).map(({ tool, state }) => [tool, state]);
    expect([report.stopped, report.stopped_by]).toMatchObject([{ kind: 'agent', name: NAME }, 'operator:dev']);
    // What it came to stands in it where it ended by then.
    expect(called('running')).toEqual([['slow_task', expect.stringMatching(/^(intended|completed)$/)]]);
    expect(report.calls).toContainEqual(
      expect.objectContaining({ was: 'parked', tool: 'wire_transfer', correlation_id: parked.correlationId }),
    );
    // Others may have come before the proxy heard of the stop, and none once it refused.
    const late = report.calls.filter(
      ({ was, received_at }) => was === 'started' && Date.parse(received_at) > refusedAt,
    );
    expect(late).toEqual([]);
  }, 120_000);

  it('is lifted by two people', async () => {
    expect(await cli('release', 'agent', NAME, '--reason', 'was a test')).toMatchObject({
      code: 0,
      out: expect.stringContaining('stays stopped: operator:dev asked for its release'),
    });
    expect(await cli('release', 'agent', NAME)).toMatchObject({
      code: 0,
      out: expect.stringContaining('one person counts once'),
    });
    expect((await bot.call('list_files', {})).status).toBe(403);
    expect(await cli('release', 'agent', NAME, '--as', 'second')).toMatchObject({
      code: 0,
      out: expect.stringContaining('operator:dev asked for it, and operator:second confirmed it'),
    });
    await answered(200);
    expect(await cli('release', 'agent', NAME)).toMatchObject({
      code: 4,
      out: expect.stringContaining('is not stopped'),
    });
    expect((await cli('agents')).out).toContain(NAME);
  }, 120_000);
});

describe('an agent that is enrolled at the command line, in the full edition', () => {
  const enrol = (file: string) => cli('agents', 'enrol', 'enrolled-bot', '--token-file', join(gate.stateDir, file));

  it('has its token in a file and nowhere else, and is stopped by its id too', async () => {
    const { code, out } = await enrol('enrolled.token');
    const token = readFileSync(join(gate.stateDir, 'enrolled.token'), 'utf8').trim();
    expect([code, token]).toEqual([0, expect.stringMatching(/^[\w-]{43}$/)]);
    expect(out).toContain('enrolled: acme/enrolled-bot');
    expect(out).not.toContain(token);
    expect(await enrol('enrolled.token')).toMatchObject({ code: 2, out: expect.stringContaining('already') });
    const [, id = ''] = /with the id ([0-9a-f-]{36})/.exec(out) ?? [];
    expect(await done('contain', 'agent', id, '--reason', 'odd')).toContain('stopped: acme/enrolled-bot');
    expect(await enrol('again.token')).toMatchObject({ code: 3, out: expect.stringContaining('gate release agent') });
    expect(await done('agents', 'enrol', '--help')).toContain('--token-file');
  }, 120_000);
});

describe('a tool that is stopped, in the full edition', () => {
  it('is stopped by no name that was neither listed nor called, unless that is said', async () => {
    expect(await cli('contain', 'tool', 'list_filez', '--reason', 'odd')).toMatchObject({
      code: 4,
      out: expect.stringMatching(/did you mean list_files.*--unlisted/s),
    });
    expect(await cli('contain', 'tool', 'list_files')).toMatchObject({
      code: 2,
      out: expect.stringContaining('--reason'),
    });
    expect((await cli('stops')).out).toContain('nothing of acme is stopped');
  }, 120_000);

  it('is used by nobody, and what waits for it does not run, while all else goes on', async () => {
    const parked = await bot.call('wire_transfer', { from: 'operating', to: 'vendor', amount: 9 });
    expect(parked.status).toBe(202);
    const before = (await gate.tools()).counts['wire_transfer'] ?? 0;
    const told = await done('contain', 'tool', 'wire_transfer', '--reason', 'pays somebody unknown');
    expect(told).toContain('stopped: the tool wire_transfer of acme, by operator:dev');
    const refused = await eventually('a payment is refused', async () => {
      const reply = await bot.call('wire_transfer', { from: 'operating', to: 'vendor', amount: 8 });
      return reply.status === 403 ? reply : null;
    });
    expect(refused.body).toMatchObject({ error: 'tool_suspended', layer: 'identity' });
    const [row] = await gate.rows(refused.correlationId, (kinds) => kinds.includes('proxy.verdict'));
    expect(row).toMatchObject({ signal: 'tool_suspended', tool_name: 'wire_transfer', authorized: false });
    expect((await bot.call('list_files', {})).status).toBe(200);
    const decided = await cli('decide', parked.correlationId, 'approve', '--reason', 'too late');
    expect(decided).toMatchObject({ code: 1, out: expect.stringContaining('suspended') });
    expect((await gate.tools()).counts['wire_transfer'] ?? 0).toBe(before);
    expect(await done('stops')).toMatch(/wire_transfer.*suspended.*operator:dev/s);
    expect((await reported(told)).calls).toContainEqual(
      expect.objectContaining({ was: 'parked', tool: 'wire_transfer', correlation_id: parked.correlationId }),
    );
  }, 120_000);

  it('is let go by two people', async () => {
    expect(await done('release', 'tool', 'wire_transfer', '--reason', 'was a test')).toContain(
      'stays stopped: operator:dev asked for its release',
    );
    expect(await done('release', 'tool', 'wire_transfer')).toContain('one person counts once');
    expect(await done('release', 'tool', 'wire_transfer', '--as', 'second')).toContain(
      'operator:dev asked for it, and operator:second confirmed it',
    );
    await eventually('a payment waits again', async () => {
      const reply = await bot.call('wire_transfer', { from: 'operating', to: 'vendor', amount: 6 });
      return reply.status === 202 ? reply : null;
    });
    expect(await cli('release', 'tool', 'wire_transfer')).toMatchObject({
      code: 4,
      out: expect.stringContaining('is not stopped'),
    });
  }, 120_000);
});

describe('a tenant that is stopped whole, in the full edition', () => {
  it('does nothing until two people let it go', async () => {
    const told = await done('contain', 'tenant', 'acme', '--reason', 'a breach');
    expect(told).toContain('stopped: tenant acme');
    await answered(403, 'tenant_suspended');
    expect(await reported(told)).toMatchObject({ stopped: { kind: 'tenant', name: null }, reason: 'a breach' });
    expect(await done('release', 'tenant', 'acme')).toContain('asked for its release');
    expect(await done('release', 'tenant', 'acme', '--as', 'second')).toContain('let go: tenant acme');
    await answered(200);
    expect(await cli('contain', 'tenant', 'other', '--reason', 'a breach')).toMatchObject({
      code: 3,
      out: expect.stringContaining('bound to another tenant'),
    });
  }, 120_000);
});
