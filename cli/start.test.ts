import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../config/project-root.js';
import { portsOf } from '../stack/ports.js';
import { bornAt } from '../stack/programs/managed-child.js';
import type { DevelopmentFile } from '../stack/development-file.js';
import { commandLine } from '../test/support/command.js';
import { readyPage } from './start.js';

const leaf = (name: string) => ({ cert: `/pki/${name}.crt`, key: `/pki/${name}.key`, spiffe: `spiffe://x/${name}` });
const stack = (demonstration: boolean, mode = 'enforce') =>
  ({
    mode,
    proxy: { url: 'https://127.0.0.1:8443', ca: '/pki/ca.crt', ...leaf('support-bot') },
    console: { url: 'http://127.0.0.1:8085' },
    hil: { url: 'https://127.0.0.1:8084' },
    ledger: { url: 'https://127.0.0.1:8083' },
    temporal: { address: '127.0.0.1:7233', ui_url: null, pages_url: null },
    upstream: { url: 'http://127.0.0.1:3001/mcp', demonstration },
    agents: { 'support-bot': leaf('support-bot'), 'dev-agent': leaf('dev-agent') },
  }) as unknown as DevelopmentFile;

describe('the page that gate start ends with', () => {
  it('says how to sign in at the console: by the link, or how to get one', () => {
    expect(readyPage(stack(true), '.gate', 1)).toMatch(
      /console +http:\S+8085 {3}.*gate console prints a link that signs you in/,
    );
    expect(readyPage(stack(true), '.gate', 1, null, { link: 'http://localhost:8085/login?link=x' })).toMatch(
      /console +http:\/\/localhost:8085\/login\?link=x\n/,
    );
  });

  it('names the console as browsers open it, and with what people sign in where there are no links', () => {
    const named = { ...stack(true), console: { url: 'http://127.0.0.1:8085', opened_at: 'https://gate.example' } };
    expect(readyPage(named as DevelopmentFile, '.gate', 1)).toMatch(/console +https:\/\/gate\.example {3}/);
    expect(readyPage(named as DevelopmentFile, '.gate', 1, null, { by: 'a passkey' })).toMatch(
      /console +https:\/\/gate\.example {3}people sign in there with a passkey\n/,
    );
  });

  it('says why there is no link, and how to ask again', () => {
    const why = 'the console does not answer at http://127.0.0.1:8085 (connection refused\u001b[2J)';
    expect(readyPage(stack(true), '.gate', 1, null, { why })).toMatch(
      /console +http:\S+8085\n {13}no link that signs you in: the console does not answer at http:\S+8085 \(connection refused\\u\{1b\}\[2J\); .*gate console asks again\n {2}review/,
    );
  });

  it('says that commands are refused where the operators leave out the token of its file, and what helps', () => {
    const by = { by: 'a token of GATE_HIL_OPERATORS' };
    const page = readyPage(stack(true), '/somewhere/.gate', 1, null, by, false);
    expect(page).toMatch(/console +http:\S+8085 {3}people sign in there with a token of GATE_HIL_OPERATORS\n/);
    expect(page).toMatch(
      /review .* pending and decide\n {13}COMMANDS ARE REFUSED: .* token of \/somewhere\/\.gate\/dev\.json, .* not among your GATE_HIL_OPERATORS;\n {13}add it there \(name@tenant:token\) .*GATE_STATE_DIR=\/somewhere\/\.gate .*gate login/,
    );
    expect(readyPage(stack(true), '.gate', 1)).not.toContain('REFUSED');
  });

  it('shows an allow, a deny and a park of the demonstration tools', () => {
    const page = readyPage(stack(true), '.gate', 1_234);
    for (const tool of ['list_files', 'delete_file', 'wire_transfer']) expect(page).toContain(`"name":"${tool}"`);
    expect(page).toContain('support-bot.crt');
    expect(page).not.toContain('dev-agent');
  });

  it("shows somebody's own tools by the agent that has no persona, and names none of the demonstration's", () => {
    const page = readyPage(stack(false), '.gate', 1_234);
    expect(page).toContain('"method":"tools/list"');
    expect(page).toContain('dev-agent.crt');
    expect(page).not.toMatch(/support-bot|list_files|wire_transfer/);
  });

  it('says what an MCP client needs for your own tools, where the stack gives tokens', () => {
    const issuer = { issuer: 'https://localhost:8443/development', audience: 'https://localhost:8443/mcp' };
    expect(readyPage({ ...stack(false), token_issuer: issuer } as unknown as DevelopmentFile, '.gate', 1)).toMatch(
      /An MCP client needs the address https:\/\/localhost:8443\/mcp and a token, .*gate token dev-agent \(docs\/how-to\//,
    );
    expect(readyPage(stack(false), '.gate', 1)).not.toContain('MCP client');
  });

  it('names the server that answers at the address of your own tools, and says so where none does', () => {
    const tools = (kind: 'mcp' | 'json' | 'unclear', words: string) =>
      readyPage(stack(false), '.gate', 1_234, { kind, words }).split('all of it')[0];
    expect(tools('mcp', 'MCP server files 1.0')).toContain(
      'tools      http://127.0.0.1:3001/mcp (MCP server files 1.0)\n',
    );
    expect(tools('unclear', 'connection refused\u001b[2J')).toContain(
      '3001/mcp\n             NOTHING ANSWERS THERE YET: connection refused\\u{1b}[2J. Is it started?',
    );
    expect(tools('json', 'no MCP server: it answers HTTP 400 to initialize; each call is posted')).toContain(
      'NO MCP SERVER ANSWERS THERE: no MCP server: it answers HTTP 400 to initialize. Is the path right?',
    );
  });

  it('says in observe mode that everything runs, and in enforce nothing of it', () => {
    expect(readyPage(stack(true, 'observe'), '.gate', 1_234)).toMatch(
      /ready \(1\.2 s, observe\)\n\n {2}OBSERVE MODE: every call runs[^]*without GATE_MODE=observe verdicts/,
    );
    expect(readyPage(stack(true), '.gate', 1_234)).toContain('ready (1.2 s, enforce)\n\n  proxy');
  });

  it('prints commands that a shell reads as they stand', () => {
    const page = readyPage(stack(false), '.gate', 1_234);
    const commands = page.split('\n').filter((line) => line.startsWith('  curl') || line.startsWith('    -'));
    expect(commands.join('\n').match(/^ {2}curl[^\n]*( \\\n {4}-[^\n]*)+$/gm)).toHaveLength(2);
  });
});

/** Other programs of this machine are in nobody's way here. */
const FREE = Object.fromEntries(portsOf({}).map(({ variable }) => [variable, '0']));

describe('a second gate start', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gate-second-'));
  const { done, stop } = commandLine(() => folder);
  afterEach(stop);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each([
    ['gate start', ['start']],
    ['npm start', null],
  ])('over the same folder is refused before anything is made or built, with whom to stop: %s', async (_, args) => {
    mkdirSync(join(folder, 'run'), { recursive: true });
    writeFileSync(join(folder, 'run', 'gate.pid'), `${process.pid} ${bornAt(process.pid)}`);
    const env = { ...FREE, GATE_STATE_DIR: folder };
    const { code, out } = args === null ? npmStart(env) : await done(args, env);
    expect({ code, out }).toEqual({
      code: 1,
      out: expect.stringMatching(
        new RegExp(
          `^gate: Gate already runs over ${folder} \\(process ${process.pid}\\); stop it, or set GATE_STATE_DIR .*\n$`,
        ),
      ),
    });
    expect(readdirSync(folder)).toEqual(['run']);
    rmSync(join(folder, 'run'), { recursive: true });
  });

  it.each([
    ['gate start', ['start']],
    ['npm start', null],
  ])('on a port that is taken is refused in the same way, with the setting that moves it: %s', async (_, args) => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const env = { GATE_STATE_DIR: join(folder, 'other'), ...FREE, GATE_HIL_PORT: String(port) };
    const { code, out } = args === null ? npmStart(env) : await done(args, env);
    expect({ code, out }).toEqual({
      code: 1,
      out: expect.stringMatching(`^gate: port ${port}: another program listens on .*set GATE_HIL_PORT \\(0 takes`),
    });
    expect(existsSync(join(folder, 'other'))).toBe(false);
    taken.close();
  });
});

/** `npm start` by its program; the environment has no PATH, so that a build would fail. */
function npmStart(env: Record<string, string>): { code: number | null; out: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(PROJECT_ROOT, 'bin', 'start.mjs')], {
    env,
    encoding: 'utf8',
  });
  return { code: status, out: `${stdout}${stderr}` };
}

describe('gate start where no folder can be made', () => {
  const { done, stop } = commandLine(() => '/');
  afterEach(stop);

  it('says so in one line', async () => {
    expect(await done(['start'], { ...FREE, GATE_STATE_DIR: '/proc/gate/state' })).toEqual({
      code: 1,
      out: expect.stringMatching(/^gate: \/proc\/gate\/state cannot be written: .*GATE_STATE_DIR to another folder\n$/),
    });
  }, 60_000);
});
