import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { PendingRequest } from '../contracts/review.js';
import { commandLine } from '../test/support/command.js';
import { typedInFolder } from '../test/support/command-here.js';
import { type ConsoleFixture, openConsole } from '../test/support/console-over-hil.js';
import { eventually } from '../test/support/waiting.js';
import { OPERATOR_COMMANDS } from './file-commands.js';
import { personTarget } from './person-target.js';
import { watch } from './watch.js';

const HOUR = 3_600_000;

describe('gate login', () => {
  let fixture: ConsoleFixture;
  let folder: string;
  let origin: string;
  let file: string;
  let calls = 0;
  const commands = commandLine(() => folder);
  const env = () => ({ XDG_CONFIG_HOME: join(folder, 'config') });
  const typed = typedInFolder(commands, () => folder, {
    ...OPERATOR_COMMANDS,
    login: async () => (await import('./login.js')).registerLogin,
    logout: async () => (await import('./logout.js')).registerLogout,
    whoami: async () => (await import('./whoami.js')).registerWhoami,
  });
  const done = (...args: string[]) => typed(args, env());
  const parked = (over = {}) => fixture.hil.park((calls += 1), over);

  beforeAll(async () => {
    fixture = await openConsole();
    await fixture.service.app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = fixture.service.app.server.address() as AddressInfo;
    origin = `http://localhost:${port}`;
    folder = mkdtempSync(join(tmpdir(), 'gate-login-'));
    file = join(folder, 'config', 'gate', 'sign-in', `http_localhost_${port}.json`);
  });
  afterEach(() => {
    rmSync(join(folder, 'config'), { recursive: true, force: true });
    rmSync(join(folder, '.gate'), { recursive: true, force: true });
  });
  afterAll(async () => {
    await commands.stop();
    await fixture.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** The command, waiting for somebody to agree under the code. */
  const waiting = async (...args: string[]) => {
    const command = commands.run(['login', '--console', origin, ...args], env());
    const code = await eventually('the code is shown', () => /^ {4}([A-Z]{4}-[A-Z]{4})$/m.exec(command.out())?.[1]);
    return { command, code };
  };
  /** A sign-in as `gate login` leaves one, without its five seconds. */
  const signedIn = async (as: Parameters<ConsoleFixture['token']>[0] = {}) => {
    const token = await fixture.token(as);
    const { subject = 'operator:dev', tenant = 'acme', role = 'admin' } = as ?? {};
    const times = { ends_at: new Date(fixture.hil.now + HOUR).toISOString(), signed_in_at: new Date().toISOString() };
    mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 });
    writeFileSync(file, JSON.stringify({ console: origin, token, subject, tenant, role, ...times }), { mode: 0o600 });
    return token;
  };
  const statusOf = async ({ id }: PendingRequest) => (await fixture.hil.reviews.get(id))?.status;

  it('shows where and a code, waits, and then is whoever agreed; the token of the sign-in before is ended', async () => {
    const before = await signedIn();
    const { command, code } = await waiting();
    expect(command.out()).toContain(`Open ${origin}/device and type the code`);
    expect(command.out()).toContain(`${origin}/device?user_code=${code}`);
    const browser = await fixture.browser();
    expect((await browser.post('/device/allow', { user_code: code })).status).toBe(200);
    expect(await command.ended).toBe(0);
    expect(command.out()).toContain(`signed in at ${origin} as operator:dev (admin, acme) until 2026-11-02T11:00:`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(file, '..')).mode & 0o777).toBe(0o700);
    expect(command.out()).not.toContain('gate_cli_');
    expect(await fixture.sessions.ofToken(before)).toBeNull();
    const { token } = JSON.parse(readFileSync(file, 'utf8')) as { token: string };
    expect(await fixture.sessions.ofToken(token)).not.toBeNull();
    expect(await done('whoami')).toEqual({
      code: 0,
      out: expect.stringContaining(`operator:dev (admin, acme) at ${origin} until`),
    });
  }, 60_000);

  it('is nobody where it was refused, and leaves no file', async () => {
    const { command, code } = await waiting('--no-browser');
    await (await fixture.browser()).post('/device/refuse', { user_code: code });
    expect(await command.ended).toBe(3);
    expect(command.out()).toContain('gate: access_denied: refused at the console');
    expect(existsSync(file)).toBe(false);
  }, 60_000);

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)(
    'ends at once on %s, and leaves nothing',
    async (signal, exit) => {
      const { command } = await waiting();
      command.process.kill(signal);
      expect(await command.ended).toBe(exit);
      expect(command.out()).toContain('gate: stopped: nobody is signed in');
      expect(existsSync(file)).toBe(false);
    },
    60_000,
  );

  it.each([
    ['http://gate.example', 'is not https'],
    ['gate.example', 'is no address'],
    ['https://gate.example/path', 'is more than an address'],
    ['https://user@gate.example', 'is more than an address'],
  ])('asks nothing at %s', async (address, words) => {
    expect(await done('login', '--console', address)).toEqual({ code: 2, out: expect.stringContaining(words) });
  });

  it('says how to name a console where none is known', async () => {
    expect(await done('login')).toEqual({ code: 2, out: expect.stringContaining('login --console https://') });
    expect(await done('logout')).toEqual({ code: 4, out: expect.stringContaining('nobody is signed in') });
    expect(await done('whoami')).toEqual({ code: 3, out: expect.stringContaining('nobody is signed in') });
  });

  describe('what it keeps', () => {
    it.each([
      ['others can read', () => chmodSync(file, 0o644), 'can be read by others'],
      ['the group can read', () => chmodSync(file, 0o640), 'can be read by others'],
      ['is something else', () => writeFileSync(file, '{}'), 'is not what gate login wrote'],
      ['is no JSON', () => writeFileSync(file, 'x'), 'is not what gate login wrote'],
      [
        'is of another console',
        () => writeFileSync(file, readFileSync(file, 'utf8').replace(origin, 'https://evil.example')),
        'is not what gate login wrote',
      ],
      [
        'is a link',
        () => {
          writeFileSync(join(folder, 'elsewhere.json'), readFileSync(file), { mode: 0o600 });
          rmSync(file);
          symlinkSync(join(folder, 'elsewhere.json'), file);
        },
        'cannot be read',
      ],
    ])('is not used where it %s', async (_, change, words) => {
      await signedIn();
      change();
      for (const command of [
        ['pending'],
        ['whoami'],
        ['login', '--console', origin],
        ['approvals', '--console', origin],
      ])
        expect(await done(...command)).toEqual({ code: 3, out: expect.stringContaining(words) });
    });
  });

  describe('signed in', () => {
    it('pending lists and shows what waits in the person’s tenant', async () => {
      await signedIn();
      const [own, foreign] = [await parked(), await parked({ tenant: 'globex' })];
      const list = await done('pending', '--json');
      expect(list.code).toBe(0);
      const ids = (JSON.parse(list.out) as { id: string }[]).map(({ id }) => id);
      expect(ids).toContain(own.id);
      expect(ids).not.toContain(foreign.id);
      for (const id of [own.id, own.correlation_id])
        expect(await done('pending', id)).toEqual({ code: 0, out: expect.stringContaining('IBAN-9999-SECRET-VALUE') });
      expect(await done('pending', foreign.id)).toEqual({ code: 4, out: expect.stringContaining('not_found') });
    });

    it('decide approves, denies and changes, and the record names the person', async () => {
      await signedIn();
      const [one, two, three] = [await parked(), await parked(), await parked()];
      expect(await done('decide', one.id, 'approve')).toEqual({
        code: 0,
        out: expect.stringContaining('by operator:dev'),
      });
      expect((await done('decide', two.correlation_id, 'deny', '--reason', 'no')).code).toBe(0);
      expect((await done('decide', three.id, 'modify', '--set', 'amount=0.5')).code).toBe(0);
      expect(await fixture.hil.reviews.get(one.id)).toMatchObject({
        status: 'approved',
        decided_by: 'operator:dev',
        decided_via: 'command-line',
      });
      expect(await fixture.hil.reviews.get(two.id)).toMatchObject({ status: 'denied', decision_reason: 'no' });
    });

    it('decide takes no beginning of an id; pending does, and ends with what can be pasted', async () => {
      await signedIn();
      const row = await parked();
      const short = row.id.slice(0, 8);
      for (const decision of ['approve', 'deny'])
        expect(await done('decide', short, decision)).toEqual({
          code: 2,
          out: expect.stringContaining(` pending ${short}\` shows the call`),
        });
      expect(await statusOf(row)).toBe('pending');
      const { out } = await done('pending', short);
      // A shell that is given the whole line must not read a decision in it.
      const [, pasted = ''] = /^decide with: [^|]* decide (\S+) DECISION --reason "…" [^|]*$/m.exec(out) ?? [];
      expect(pasted).toBe(row.id);
      expect((await done('decide', pasted, 'deny')).code).toBe(0);
      expect((await done('pending', short)).out).not.toContain('decide with');
    });

    it('decide is refused to a viewer, and of another tenant finds nothing', async () => {
      await signedIn({ role: 'viewer' });
      const row = await parked();
      expect(await done('decide', row.id, 'approve')).toEqual({
        code: 3,
        out: expect.stringContaining('role_too_low'),
      });
      await signedIn({ subject: 'operator:glx', tenant: 'globex' });
      expect(await done('decide', row.id, 'approve')).toEqual({ code: 4, out: expect.stringContaining('not_found') });
      expect(await statusOf(row)).toBe('pending');
    });

    it('approvals and audit answer', async () => {
      await signedIn();
      const row = await parked();
      await done('decide', row.id, 'deny');
      expect(await done('approvals')).toEqual({ code: 0, out: expect.stringContaining('operator:dev') });
      for (const asked of [[row.correlation_id], ['payments-agent'], []]) {
        fixture.reached.length = 0;
        expect(await done('audit', ...asked)).toEqual({ code: 4, out: expect.stringContaining('no rows') });
        // An id without rows may be the one of a waiting call.
        const isId = asked[0] === row.correlation_id;
        expect(fixture.reached).toEqual([
          isId ? `GET /audit/correlation/${row.correlation_id}` : 'GET /audit/agent/rows',
          ...(isId ? [`GET /pending/${row.correlation_id}`] : []),
        ]);
      }
    });

    it('everything is refused once the person ended it in the browser, with what to do', async () => {
      const token = await signedIn();
      const { id = '' } = (await fixture.sessions.ofToken(token)) ?? {};
      await (await fixture.browser()).post('/me/end', { session: id });
      for (const command of [['pending'], ['whoami'], ['approvals'], ['audit']])
        expect(await done(...command)).toEqual({ code: 3, out: expect.stringMatching(/unauthenticated.*gate login/) });
    });

    it('a watch ends once the sign-in does, and says why', async () => {
      const token = await signedIn();
      await parked({ agent_id: 'watched-first' });
      let screen = '';
      const watched = watch(
        personTarget({ console: origin, token }),
        () => Promise.reject(new Error('nothing is opened here')),
        {
          keys: (async function* () {
            yield await new Promise<string>(() => undefined);
          })(),
          size: () => ({ columns: 200, lines: 200 }),
          show: (lines) => (screen = lines.join('\n')),
        },
        undefined,
        () => fixture.hil.now,
      );
      const ended = expect(watched).rejects.toMatchObject({
        message: expect.stringContaining('unauthenticated'),
        exitCode: 3,
      });
      await eventually('what waits is shown', () => screen.includes('watched-first'));
      await parked({ agent_id: 'watched-next' });
      await eventually('what comes is shown', () => screen.includes('watched-next'));
      await fixture.sessions.endToken(token);
      await ended;
    }, 60_000);

    it('logout ends it at the console too', async () => {
      const token = await signedIn();
      expect(await done('logout')).toEqual({ code: 0, out: `signed out at ${origin}: operator:dev\n` });
      expect(await fixture.sessions.ofToken(token)).toBeNull();
      expect(existsSync(file)).toBe(false);
    });

    it('at a console that is named, and not at one where nobody is', async () => {
      await signedIn();
      expect((await done('pending', '--console', origin)).code).toBe(0);
      expect(await done('pending', '--console', 'https://gate.example')).toEqual({
        code: 3,
        out: expect.stringContaining('nobody is signed in at https://gate.example'),
      });
      for (const beside of [['--endpoint', 'http://127.0.0.1:1'], []])
        expect((await done('decide', calls.toString(), 'deny', '--console', origin, ...beside, '--as', 'x')).code).toBe(
          2,
        );
    });

    it('a lite that lies in the folder is meant before', async () => {
      await signedIn();
      writeFileSync(join(folder, 'gate-lite.env'), 'GATE_LITE_PORT=1\n');
      try {
        expect(await done('whoami')).toEqual({ code: 3, out: expect.stringContaining('by its decide token') });
        expect((await done('pending')).code).toBe(5);
      } finally {
        rmSync(join(folder, 'gate-lite.env'));
      }
    });

    it('the stack of a folder knows its own sign-ins alone, below its own folder', async () => {
      await signedIn();
      const stack = join(folder, '.gate');
      mkdirSync(join(stack, 'sign-in'), { recursive: true, mode: 0o700 });
      writeFileSync(join(stack, 'dev.json'), JSON.stringify({ console: { url: 'http://127.0.0.1:1' } }));
      expect(await done('whoami')).toEqual({
        code: 3,
        out: expect.stringContaining('token of the operator of this stack'),
      });
      writeFileSync(
        join(stack, 'dev.json'),
        JSON.stringify({ console: { url: origin.replace('localhost', '127.0.0.1') } }),
      );
      expect((await done('whoami')).code).toBe(3);
      writeFileSync(join(stack, 'sign-in', file.split('/').at(-1) ?? ''), readFileSync(file), { mode: 0o600 });
      expect((await done('whoami')).code).toBe(0);
      expect((await done('pending')).code).toBe(0);
    });
  });
});
