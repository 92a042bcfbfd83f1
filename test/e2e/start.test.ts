import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { JsonObject } from '../../contracts/json.js';
import type { LedgerEntry } from '../../contracts/ledger.js';
import type { PendingRequest } from '../../contracts/review.js';
import { FREE_PORTS } from '../../stack/process-settings.js';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { chromiumPath, openBrowser } from '../support/browser.js';
import { needs } from '../support/needs.js';
import { bareEnvironment, GATE_PROGRAM, STACK_START_LIMIT_MS, startStack, type TestStack } from '../support/stack.js';
import { eventually } from '../support/waiting.js';

// Every test here starts processes, some of them whole stacks.
jest.setTimeout(120_000);

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}
const run = (file: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> =>
  new Promise((resolve) => {
    execFile(
      file,
      [...args],
      { cwd: PROJECT_ROOT, env: { ...bareEnvironment(), ...env }, timeout: 60_000 },
      (error, out, err) => resolve({ code: error ? Number(error.code ?? 1) : 0, out, err }),
    );
  });

let stateDir: string;
let gate: TestStack;
beforeAll(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'gate-start-'));
  gate = await startStack({ stateDir, quiet: false });
}, STACK_START_LIMIT_MS);
afterAll(async () => {
  await gate?.stop();
  await rm(stateDir, { recursive: true, force: true });
});

/** A start whose setting names a port that another program listens on. */
async function startedOnTakenPort(setting: string, stateDir: string): Promise<{ refused: Ran; port: number }> {
  const taken = createServer();
  await new Promise<void>((listening) => taken.listen(0, '127.0.0.1', listening));
  const { port } = taken.address() as { port: number };
  const refused = await run(process.execPath, [GATE_PROGRAM, 'start'], {
    ...FREE_PORTS,
    [setting]: String(port),
    GATE_STATE_DIR: stateDir,
  });
  taken.close();
  return { refused, port };
}

const shell = (command: string) => run('/bin/sh', ['-c', command]);
const cli = (...args: string[]) => run(process.execPath, [GATE_PROGRAM, ...args], { GATE_STATE_DIR: stateDir });
const park = async (amount: number, idempotencyId: string = randomUUID()) => {
  const bot = await gate.agent();
  const parked = await bot.call('wire_transfer', { from: 'operating', to: 'vendor', amount }, { idempotencyId });
  expect(parked.status).toBe(202);
  return parked;
};
const pidOf = (name: string): number => {
  const text = readFileSync(join(stateDir, 'run', `${name}.pid`), 'utf8');
  return text.startsWith('{') ? (JSON.parse(text) as { pid: number }).pid : Number(text);
};
const runs = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    // Ended and not yet waited for by its parent is ended.
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
};

describe('gate start', () => {
  it('ends with a page whose commands work as printed: an allow, a deny, a call that waits', async () => {
    const page = await eventually('the page', () => /Gate is ready[^]*Ctrl-C/.exec(gate.output())?.[0]);
    const commands = page.split(/\n\n/).filter((part) => part.includes('curl'));
    expect(commands).toHaveLength(3);
    const answers = await Promise.all(commands.map((part) => shell(part.replace(/\n *(GATE_STATE_DIR|npx)[^]*/, ''))));
    const [allowed, denied, parked] = answers.map(({ out }) => JSON.parse(out) as JsonObject);
    expect(allowed).toMatchObject({ id: 1, result: { content: [{ type: 'text' }] } });
    expect(denied).toMatchObject({ error: 'policy_denied' });
    expect(parked).toMatchObject({ status: 'pending', tier: 'yellow' });

    const pending = /^ *(.* gate pending)$/m.exec(page)?.[1];
    const listed = await shell(pending ?? '');
    expect(listed.out).toMatch(/wire_transfer/);
    const [id] = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(listed.out) ?? [];
    const decide = /^ *(.* gate decide) <id> approve$/m.exec(page)?.[1];
    expect((await shell(`${decide} ${id} approve`)).out).toMatch(
      /^approved: wire_transfer for support-bot, by operator:dev/,
    );

    const [, link = ''] = /^ *console +(http:\S+\/login\?link=\S+)$/m.exec(page) ?? [];
    const enter = async () => (await fetch(link, { redirect: 'manual' })).status;
    expect([await enter(), await enter()]).toEqual([303, 401]);
    for (const file of [/all of it +(\S+)/, /log +(\S+)/])
      expect(readFileSync(resolve(PROJECT_ROOT, file.exec(page)?.[1] ?? ''), 'utf8')).toBeDefined();
  });

  it('refuses a second stack over the same folder in one line, and leaves the first one alone', async () => {
    const second = await run(process.execPath, [GATE_PROGRAM, 'start'], { ...FREE_PORTS, GATE_STATE_DIR: stateDir });
    expect(second.code).toBe(1);
    expect(second.err.trim().split('\n')).toHaveLength(1);
    expect(second.err).toMatch(new RegExp(`already runs over .* \\(process ${gate.process.pid}\\)`));
    expect((await (await gate.agent()).call('list_files')).status).toBe(200);
  });

  it.each([
    ['the proxy', 'GATE_PROXY_PORT'],
    ['the console', 'GATE_CONSOLE_PORT'],
    ['the workflow pages', 'GATE_WORKFLOW_PAGES_PORT'],
  ])('names the setting of a port of %s that is taken, before it makes anything', async (_what, setting) => {
    const elsewhere = await mkdtemp(join(tmpdir(), 'gate-start-'));
    const { refused, port } = await startedOnTakenPort(setting, elsewhere);
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(new RegExp(`^gate: port ${port}: another program listens .*${setting}`));
    expect(refused.err).not.toMatch(/ at .*\.js/);
    expect(readdirSync(elsewhere)).toEqual([]);
    await rm(elsewhere, { recursive: true, force: true });
  });

  it('says in one line that the port of the engine is taken, and which setting moves it', async () => {
    const elsewhere = await mkdtemp(join(tmpdir(), 'gate-start-'));
    const { refused, port } = await startedOnTakenPort('GATE_TEMPORAL_PORT', elsewhere);
    await rm(elsewhere, { recursive: true, force: true });
    expect(refused.code).toBe(1);
    expect(refused.err.trim().split('\n')).toHaveLength(1);
    expect(refused.err).toMatch(
      new RegExp(`^gate: temporal: port ${port} .* used by another program.*GATE_TEMPORAL_PORT`),
    );
  });

  it('names every setting that is wrong at once', async () => {
    const elsewhere = await mkdtemp(join(tmpdir(), 'gate-start-'));
    const refused = await run(process.execPath, [GATE_PROGRAM, 'start'], {
      GATE_STATE_DIR: elsewhere,
      GATE_MODE: 'shadow',
      GATE_VELOCITY_LIMIT: 'many',
      GATE_PROXY_PORT: '99999',
    });
    expect(refused.code).toBe(1);
    for (const variable of ['GATE_MODE', 'GATE_VELOCITY_LIMIT', 'GATE_PROXY_PORT'])
      expect(refused.err).toContain(variable);
    await rm(elsewhere, { recursive: true, force: true });
  });
});

describe('gate pending, decide, audit, verify', () => {
  it('take a change of the call, which is what runs', async () => {
    const { correlationId } = await park(12);
    const decided = await cli('decide', correlationId, 'modify', '--set', 'amount=5', '--reason', 'half of it');
    expect(decided).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^approved with changes \(.*\): wire_transfer /),
    });
    await gate.kinds(correlationId, 'upstream.outcome');
    const shown = await cli('pending', correlationId);
    expect(shown.out).toMatch(/status +approved/);
    expect((await cli('audit', correlationId)).out).toMatch(/hil\.created[^]*hil\.modified[^]*half of it/);
  });

  it('take an operator from what waits to the proof of what happened', async () => {
    const parked = await park(11);
    const rows = JSON.parse((await cli('pending', '--json')).out) as PendingRequest[];
    expect(rows.map((row) => row.correlation_id)).toContain(parked.correlationId);
    const shown = await cli('pending', parked.correlationId);
    expect(shown).toMatchObject({
      code: 0,
      out: expect.stringMatching(/tool +wire_transfer\n[^]*arguments\n[^]*"amount": 11/),
    });
    const decided = await cli('decide', parked.correlationId, 'approve', '--reason', 'checked with finance');
    expect(decided).toMatchObject({ code: 0, out: expect.stringMatching(/^approved: .*\nGate executed it, once\.\n/) });
    await gate.kinds(parked.correlationId, 'upstream.outcome');
    const audit = await cli('audit', parked.correlationId);
    expect(audit.out).toMatch(/proxy\.verdict[^]*hil\.created[^]*hil\.approved[^]*checked with[^]*upstream\.outcome/);
    const entries = JSON.parse((await cli('audit', parked.correlationId, '--json')).out) as LedgerEntry[];
    expect(entries).toHaveLength(6);
    const history = await cli('history', parked.correlationId);
    expect(history.out).toMatch(/inspect[^]*evaluate[^]*park[^]*appendLedger[^]*goes on[^]*applyDecision[^]*execute/);
    expect(history.out).toContain('support-bot · wire_transfer');
    // Somebody without the keys of this machine.
    const stranger = await run(process.execPath, [GATE_PROGRAM, 'history', parked.correlationId], {
      GATE_STATE_DIR: stateDir,
      GATE_PAYLOAD_KEYS: `other:${'1234567890abcdef'.repeat(4)}`,
    });
    expect(stranger).toMatchObject({ code: 0, out: expect.stringMatching(/execute +│ \(sealed\)/) });
    expect(await cli('verify')).toMatchObject({ code: 0, out: expect.stringMatching(/^the chain holds: \d+ entries/) });
    // Grown since its first entry, as every ledger that is used.
    expect(await cli('verify', '--expect-length', '1')).toMatchObject({
      code: 0,
      out: expect.stringContaining('as noted: grown from 1 entries to'),
    });
    expect(await cli('audit')).toMatchObject({ code: 0, out: expect.stringContaining('correlation id') });
    const bundle = join(stateDir, 'row.json');
    const kept = join(stateDir, 'kept.checkpoint');
    expect(await cli('checkpoint', '--out', kept)).toMatchObject({ code: 0 });
    expect(await cli('prove', '1', '--out', bundle, '--since', kept)).toMatchObject({ code: 0 });
    // By the key that the operator published; by none it is not proved.
    const proof = ['verify', '--bundle', bundle, '--key', join(stateDir, 'keys', 'ledger-checkpoint.pub')] as const;
    expect(await cli(...proof)).toMatchObject({ code: 0, out: expect.stringContaining('the bundle holds') });
    expect(await cli('verify', '--bundle', bundle)).toMatchObject({
      code: 2,
      out: expect.stringContaining('NOT PROVED'),
    });
    writeFileSync(bundle, readFileSync(bundle, 'utf8').replace(/"authorized": \w+/, '"authorized": null'));
    expect(await cli(...proof)).toMatchObject({ code: 2, out: expect.stringContaining('INVALID') });
  });

  it('say in one line what cannot be done', async () => {
    const parked = await park(12);
    await cli('decide', parked.correlationId, 'deny');
    const cases: [string[], number, RegExp][] = [
      [['decide', parked.correlationId, 'approve'], 4, /already_decided.*\(denied by operator:dev\)/],
      [['decide', randomUUID(), 'approve'], 4, /not_found/],
      [['decide', 'seven', 'approve'], 2, /seven is not an id; `.* pending` lists them/],
      [['decide', parked.correlationId, 'maybe'], 2, /approve, deny or modify, not maybe/],
      [['audit', randomUUID()], 4, /the ledger has no rows/],
      [['audit', 'seven'], 4, /the ledger has no rows of seven/],
      [['history', randomUUID()], 4, /the engine has no history of/],
      [['history', 'seven'], 2, /correlation id/],
      [['pending', '--status', 'odd'], 2, /odd/],
      [['pending', '--limit', '0'], 2, /--limit is a number from 1/],
      [['pending', 'seven'], 2, /seven is not an id/],
      [['pending', randomUUID()], 4, /not_found/],
      [['dance'], 2, /dance/],
    ];
    const ran = await Promise.all(cases.map(([args]) => cli(...args)));
    for (const [index, [args, code, why]] of cases.entries()) {
      const { code: exit, err } = ran[index] as Ran;
      expect({ args, exit, err }).toEqual({ args, exit: code, err: expect.stringMatching(why) });
      expect(err).not.toMatch(/ at .*\.js/);
    }
  });

  it('say where they looked when nothing runs there', async () => {
    const empty = await mkdtemp(join(tmpdir(), 'gate-start-'));
    const ran = await run(process.execPath, [GATE_PROGRAM, 'pending'], { GATE_STATE_DIR: empty });
    expect(ran).toMatchObject({ code: 5, err: expect.stringMatching(/no running stack is known here .*npm start/) });
    await rm(empty, { recursive: true, force: true });
  });
});

describe('npm run demo', () => {
  it('tells its story against the running stack, and everything comes out as told', async () => {
    const demo = await run(process.execPath, [join(PROJECT_ROOT, 'dist', 'demo', 'demo.js'), '--here'], {
      GATE_STATE_DIR: stateDir,
    });
    expect(demo).toMatchObject({ code: 0, out: expect.stringMatching(/Everything came out as told\.\n$/) });
    // No colours where nobody looks.
    for (const mark of ['✗', '\u001b']) expect(demo.out).not.toContain(mark);
  });
});

describe('stopping and starting again', () => {
  it('Ctrl-C ends tidily: exit code 0, nothing left behind, and parked calls go on at the next start', async () => {
    const idempotencyId = randomUUID();
    const parked = await park(13, idempotencyId);
    const pids = [pidOf('gate'), pidOf('temporal')];
    const ended = new Promise((resolve) => gate.process.once('exit', resolve));
    gate.process.kill('SIGINT');
    expect(await ended).toBe(0);
    expect(gate.output()).toMatch(/stopped; parked calls stay parked until the next start\n$/);
    expect(gate.output()).not.toMatch(/cannot be asked|ECONNREFUSED/);
    for (const pid of pids) expect(runs(pid)).toBe(false);
    const late = await cli('pending');
    expect(late).toMatchObject({
      code: 5,
      err: expect.stringMatching(/does not answer at \S+ \(connection refused \(ECONNREFUSED\)\); is Gate started\?/),
    });
    await gate.stop();

    gate = await startStack({ stateDir });
    const before = (await gate.tools()).balances.vendor ?? 0;
    expect((await gate.operator.rowOf(parked.correlationId)).status).toBe('pending');
    expect((await gate.operator.decide(parked.correlationId, 'approve')).status).toBe(200);
    await gate.kinds(parked.correlationId, 'upstream.outcome');
    const replay = await (await gate.agent()).call(
      'wire_transfer',
      { from: 'operating', to: 'vendor', amount: 13 },
      { idempotencyId },
    );
    expect([replay.status, replay.correlationId]).toEqual([200, parked.correlationId]);
    expect((await gate.tools()).balances.vendor).toBe(before + 1_300);
    expect(await gate.verify()).toMatchObject({ valid: true });
  });

  it('kill -9 loses no parked call, and the next start cleans up after it', async () => {
    const parked = await park(14);
    const engine = pidOf('temporal');
    const ended = new Promise((resolve) => gate.process.once('exit', resolve));
    gate.process.kill('SIGKILL');
    await ended;
    await gate.stop();
    expect(runs(engine)).toBe(true);

    gate = await startStack({ stateDir });
    expect(runs(engine)).toBe(engine === pidOf('temporal'));
    expect((await gate.operator.decide(parked.correlationId, 'approve')).status).toBe(200);
    await gate.kinds(parked.correlationId, 'upstream.outcome');
    expect(await gate.verify()).toMatchObject({ valid: true });
  });
});

const executable = chromiumPath();
describe(`the pages of the engine${needs('chromium', executable !== null)}`, () => {
  const there = executable === null ? it.skip : it;
  there('show what a parked call waits for, in clear to whoever holds the link, sealed to others', async () => {
    const parked = await park(7);
    const { code, out } = await cli('history', parked.correlationId, '--link');
    expect(code).toBe(0);
    const browser = await openBrowser(executable ?? '');
    try {
      const page = await browser.newPage();
      await page.goto(out.trim());
      await page.getByText('"wire_transfer"').first().waitFor();
      await page.waitForURL(/\/history$/);
      await page.goto(page.url().replace(/history$/, 'user-metadata'));
      await page
        .frameLocator('iframe')
        .getByText(/support-bot · wire_transfer · waits for a person until \d\d:\d\d UTC/)
        .waitFor();
      const used = await browser.newPage();
      await used.context().clearCookies();
      expect((await used.goto(out.trim()))?.status()).toBe(401);
      await used.goto(`${gate.development.temporal.ui_url}/namespaces/gate/workflows/${parked.correlationId}`);
      await used.getByText('gate-key-id').first().waitFor();
      expect(await used.getByText('"wire_transfer"').count()).toBe(0);
    } finally {
      await browser.close();
    }
  });
});

describe('gate start with operators of its own who leave out the token of its file', () => {
  it('says so, and so does each command that asks with it; with that token among them there is a link again', async () => {
    await gate.stop();
    const own = 'ada@acme:Zk3l9PqRs7TuVwXyZ0123456789abcdEF';
    gate = await startStack({ stateDir, quiet: false, env: { GATE_HIL_OPERATORS: own } });
    const file = join(stateDir, 'dev.json');
    const page = await eventually('the page', () => /Gate is ready[^]*Ctrl-C/.exec(gate.output())?.[0]);
    expect(page).toMatch(/console +http:\S+ {3}people sign in there with a token of GATE_HIL_OPERATORS\n/);
    expect(page).toMatch(
      new RegExp(
        `COMMANDS ARE REFUSED: .* token of ${file}, which is not among your GATE_HIL_OPERATORS;\n.* gate login`,
      ),
    );
    for (const command of ['pending', 'console', 'tools'])
      expect(await cli(command)).toMatchObject({
        code: 3,
        err: expect.stringContaining(`It is that of ${file}, and not among GATE_HIL_OPERATORS`),
      });

    const { operator_token: token } = gate.development;
    await gate.stop();
    gate = await startStack({ stateDir, quiet: false, env: { GATE_HIL_OPERATORS: `${own},dev@acme:${token}` } });
    const again = await eventually('the page', () => /Gate is ready[^]*Ctrl-C/.exec(gate.output())?.[0]);
    expect(again).toMatch(/console +http:\S+\/login\?link=/);
    expect(again).not.toContain('REFUSED');
    expect(await cli('pending')).toMatchObject({ code: 0 });
  });
});
