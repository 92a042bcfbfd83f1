import { spawn, spawnSync } from 'node:child_process';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { copyFile, cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LITE_COMMANDS, OPERATOR_COMMANDS } from '../../cli/file-commands.js';
import { PROJECT_ROOT } from '../../config/project-root.js';
import type { JsonObject } from '../../contracts/json.js';
import { signReport } from '../../lite/graduation.js';
import { commandLine } from '../support/command.js';
import { typedInFolder } from '../support/command-here.js';
import { echoTools, editFile, liteFolder, type EchoTools } from '../support/lite.js';
import { eventually } from '../support/waiting.js';

const CHILD = fileURLToPath(new URL('../support/stdio-tools.mjs', import.meta.url));

let folder: string;
let tools: EchoTools;
const commands = commandLine(() => folder);
const { done, lite, run } = commands;
beforeEach(async () => {
  folder = await liteFolder();
  tools = await echoTools();
});
afterEach(async () => {
  await commands.stop();
  await tools.close();
  await rm(folder, { recursive: true, force: true });
});

async function call(
  url: string,
  tool: string,
  { id = randomUUID(), path = 'a.txt', token }: { id?: string; path?: string; token?: string } = {},
): Promise<{ status: number; body: JsonObject }> {
  const answer = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'X-Gate-Server-Execution-Contract': 'gate.server-execution/v1',
      'X-Gate-Idempotency-Id': id,
      ...(token && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: { path } } }),
  });
  return { status: answer.status, body: (await answer.json()) as JsonObject };
}
const textField = ({ body }: { body: JsonObject }, name: string): string => {
  const value = body[name];
  return typeof value === 'string' ? value : '';
};
const textOf = ({ body }: { body: JsonObject }) => JSON.stringify(body);

describe('gate lite, typed in an empty folder', () => {
  it('says of a ledger that was not there that it is new, and of one that was nothing', async () => {
    for (const words of ['ledger     other/mistyped.db (new: there was none)\n', 'ledger     other/mistyped.db\n']) {
      const gate = await lite(['--ledger', 'other/mistyped.db']);
      expect(gate.out()).toContain(words);
      gate.process.kill('SIGTERM');
      await gate.ended;
    }
  });

  it('prints a first call that works as it is printed, and stops tidily on SIGTERM', async () => {
    const gate = await lite();
    const curl = /curl [^]*?\}\}\}'/.exec(gate.out())?.[0] ?? '';
    const shell = spawn('sh', ['-c', curl], { env: { PATH: process.env.PATH ?? '' } });
    let said = '';
    shell.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await new Promise((resolve) => shell.on('close', resolve));
    expect(JSON.parse(said)).toMatchObject({ contract: 'gate.decision/v1', decision: 'allow', executable: false });
    gate.process.kill('SIGTERM');
    expect(await gate.ended).toBe(0);
    expect(await done(['verify'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('the chain holds: 3 entries'),
    });
  });

  it('names each flag with its variable, its default and its reason', async () => {
    const { out } = await done(['lite', '--help']);
    expect(out.replaceAll(/\s+/g, ' ')).toContain(
      '--port <value> Port to listen on; 0 takes a free one. [GATE_LITE_PORT, default 8088]',
    );
  });

  it('says which setting is wrong, and does not start: 2 for wrong usage, 1 for what is unsafe', async () => {
    expect(await done(['lite', '--mode', 'watch'])).toMatchObject({
      code: 2,
      out: expect.stringContaining('  --mode: '),
    });
    expect(await done(['lite', '--wish'])).toMatchObject({ code: 2 });
    expect(await done(['lite', '--prot', '1'])).toMatchObject({
      code: 2,
      out: expect.stringContaining('Did you mean --port?'),
    });
    // By the name under which it was given.
    for (const [port, fault] of [
      ['high', 'must be a number'],
      ['70000', 'must be a port from 0 to 65535'],
    ] as const) {
      expect((await done(['lite', '--port', port])).out).toContain(`  --port: ${fault} (it is "${port}")`);
      expect((await done(['lite'], { GATE_LITE_PORT: port })).out).toContain(`  GATE_LITE_PORT: ${fault}`);
    }
    expect(await done(['lite', '--upstream', 'tools'])).toMatchObject({
      code: 1,
      out: expect.stringContaining('  --upstream: must be an http(s):// URL (it is "tools")'),
    });
    expect(await done(['lite', '--deployment-profile', 'hosted'])).toMatchObject({
      code: 1,
      out: expect.stringContaining('unsafe hosted configuration: set GATE_LITE_TOKEN or GATE_LITE_AGENTS'),
    });
  });

  it('names variables that nothing reads, also when it is to be quiet, and none that the other edition reads', async () => {
    const { out } = await commands.lite([], {
      GATE_LITE_TOKNE: 'x',
      GATE_UPSTREM_URL: 'http://127.0.0.1:9',
      GATE_UPSTREAM_URL: 'http://127.0.0.1:9',
      GATE_MODE: 'observe',
    });
    const said = out()
      .split('\n')
      .filter((line) => line.includes('read by nothing'));
    expect(said).toEqual([
      'gate: GATE_LITE_TOKNE is read by nothing; did you mean GATE_LITE_TOKEN?',
      'gate: GATE_UPSTREM_URL is read by nothing; did you mean GATE_UPSTREAM_URL?',
    ]);
    const quiet = await commands.done(['lite', '--quiet', '--', 'true'], { GATE_LITE_MOED: 'observe' });
    expect(quiet.out).toContain('gate: GATE_LITE_MOED is read by nothing; did you mean GATE_LITE_MODE?');
  });

  it('passes over no rules: those in ./policies that nobody compiled stop the start', async () => {
    await mkdir(join(folder, 'policies'));
    await writeFile(join(folder, 'policies', 'mine.rego'), 'package gate.authz');
    expect(await done(['lite', '--port', '0'])).toMatchObject({
      code: 1,
      out: expect.stringContaining('./policies holds rules that are not compiled'),
    });
    expect(existsSync(join(folder, 'gate-lite.db'))).toBe(false);
    expect((await lite(['--policies', 'built-in'])).out()).toContain('rules      built in');
  });

  it('goes on when whoever read what it printed is gone', async () => {
    const gate = run(['lite', '--port', '18499', '--log-level', 'error']);
    gate.process.stdout?.destroy();
    await eventually('the listener', () =>
      fetch('http://127.0.0.1:18499/health').then(
        ({ ok }) => ok,
        () => false,
      ),
    );
  });

  it('lets one process have the file', async () => {
    await lite();
    expect(await done(['lite', '--port', '0'])).toMatchObject({
      code: 1,
      out: expect.stringContaining('in use by another gate process'),
    });
  });
});

describe('gate pending and gate decide', () => {
  it('mean a lite process where no stack is known, and say what is missing where neither answers', async () => {
    const gate = await lite(['--upstream', tools.url]);
    // A letter order that turns around, and a line that clears the screen: what an agent wrote is shown, not obeyed.
    const parked = await call(gate.url, 'wire_transfer', { path: '\u202Efdp.exe\u001B[2J' });
    const id = textField(parked, 'pending_id');
    expect(await done(['pending', '--endpoint', gate.url])).toMatchObject({
      code: 0,
      out: expect.stringContaining(id),
    });
    expect(await done(['pending'], { GATE_LITE_URL: gate.url })).toMatchObject({
      code: 0,
      out: expect.stringContaining(id),
    });
    for (const either of [id, textField(parked, 'correlation_id')])
      expect(await done(['pending', either, '--endpoint', gate.url])).toMatchObject({
        code: 0,
        out: expect.stringMatching(/tool +wire_transfer\n[^]*arguments\n[^]*\\u\{202e\}fdp\.exe\\u001b\[2J/),
      });
    expect(await done(['pending', randomUUID(), '--endpoint', gate.url])).toMatchObject({ code: 4 });
    expect(await done(['decide', id, 'deny', '--json', '--endpoint', gate.url])).toMatchObject({
      code: 0,
      out: expect.stringContaining('"decided_via": "command-line"'),
    });
    expect(await done(['decide', id, 'approve', '--endpoint', gate.url])).toMatchObject({ code: 4 });
    expect(await done(['decide', randomUUID(), 'deny', '--endpoint', gate.url])).toMatchObject({ code: 4 });
    expect(await done(['pending', '--endpoint', 'http://127.0.0.1:1'])).toMatchObject({
      code: 5,
      out: expect.stringContaining('no gate lite answers'),
    });
  });
});

describe('gate lite init', () => {
  it('writes settings with fresh tokens and the rules, keeps what is there, and starts with both', async () => {
    expect(await done(['lite', 'init', '--upstream', tools.url, '--port', '0'])).toMatchObject({ code: 0 });
    const settings = await readFile(join(folder, 'gate-lite.env'), 'utf8');
    expect(settings).toMatch(/^GATE_LITE_MODE=observe$/m);
    expect((await stat(join(folder, 'gate-lite.env'))).mode & 0o077).toBe(0);
    expect(await done(['lite', 'init'])).toMatchObject({ code: 0, out: expect.stringContaining('kept     policies') });
    expect(await readFile(join(folder, 'gate-lite.env'), 'utf8')).toBe(settings);
    expect((await done(['lite', 'init', '--print-config', '--mode', 'enforce'])).out).toMatch(
      /^GATE_LITE_MODE=enforce$/m,
    );

    const gate = await lite(['--env-file', 'gate-lite.env']);
    expect(gate.out()).toContain(`rules      ${join(folder, 'policies')}`);
    expect(gate.out()).not.toMatch(/ANONYMOUS/);
    const [, token = ''] = /^GATE_LITE_TOKEN=(.{43})$/m.exec(settings) ?? [];
    expect(gate.out()).not.toContain(token);
    expect(await call(gate.url, 'read_file')).toMatchObject({ status: 401 });
    expect(await call(gate.url, 'read_file', { token })).toMatchObject({ status: 200 });
  });

  it('refuses a settings file that names what is no setting, or that is not there', async () => {
    await writeFile(join(folder, 'typo.env'), 'GATE_LITE_TOKNE=abc\n');
    expect(await done(['lite', '--env-file', 'typo.env'])).toMatchObject({
      code: 2,
      out: expect.stringContaining('GATE_LITE_TOKNE is no setting'),
    });
    const missing = await done(['lite', '--env-file', 'none.env']);
    expect([missing.code === 0, missing.out]).toEqual([false, expect.stringContaining('none.env')]);
    // As it is installed, not behind a `node` that takes the option for its own.
    const installed = spawnSync(join(PROJECT_ROOT, 'bin', 'gate.mjs'), ['lite', '--env-file', 'none.env'], {
      cwd: folder,
    });
    expect([installed.status, installed.stderr.toString()]).toEqual([
      2,
      'gate: --env-file none.env cannot be read: there is no such file\n',
    ]);
  });

  it('says of what is no ledger that it is none, and leaves it as it is; its keys are not asked for', async () => {
    await writeFile(join(folder, 'other.db'), 'x'.repeat(5_000));
    await mkdir(join(folder, 'folder.db'));
    for (const name of ['other.db', 'folder.db']) {
      expect(await done(['lite', '--port', '0', '--ledger', name])).toEqual({
        code: 1,
        out: expect.stringMatching(new RegExp(`^gate: \\S*${name} is not a ledger file\\n$`)),
      });
      expect(existsSync(join(folder, `${name}.keys`))).toBe(false);
    }
    expect(await readFile(join(folder, 'other.db'), 'utf8')).toBe('x'.repeat(5_000));
  });
});

describe('gate lite before a stdio MCP server', () => {
  it("runs it as a child that sees none of Gate's own settings, and starts it again when it died: that call is uncertain", async () => {
    const gate = await lite(['--', process.execPath, CHILD], { TOOL_SETTING: 'given' });
    expect(textOf(await call(gate.url, 'read_file'))).toContain('read_file no token given');
    expect(await call(gate.url, 'read_file', { path: 'die' })).toMatchObject({
      status: 409,
      body: { error: 'server_execution_uncertain' },
    });
    expect(await call(gate.url, 'read_file')).toMatchObject({ status: 200 });
    const list = await fetch(`${gate.url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":7,"method":"tools/list"}',
    });
    expect(await list.json()).toMatchObject({ id: 7, result: { tools: [{ name: 'read_file' }] } });
  });

  it('says nothing of the child when Ctrl-C ends both at once', async () => {
    const gate = await lite(['--', process.execPath, CHILD]);
    const pid = gate.process.pid ?? 0;
    const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ').map(Number);
    expect(children).toHaveLength(1);
    for (const one of [...children, pid]) process.kill(one, 'SIGINT');
    expect(await gate.ended).toBe(0);
    expect(gate.out()).toContain('stopped');
    expect(gate.out()).not.toContain('ended; it is started again');
  });

  it('refuses to start when the child is no MCP server', async () => {
    expect(await done(['lite', '--port', '0', '--', 'no-such-program'])).toMatchObject({
      code: 1,
      out: expect.stringContaining('does not start as an MCP server'),
    });
  });
});

describe('the tools behind gate lite', () => {
  const list = async (url: string, method = 'tools/list') => {
    const answer = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 7, method }),
    });
    return { status: answer.status, body: (await answer.json()) as JsonObject };
  };
  const listing = (description: string) => (request: JsonObject) => ({
    jsonrpc: '2.0',
    id: request.id ?? null,
    result: { tools: [{ name: 'read_file', description, inputSchema: { type: 'object' } }] },
  });

  it('are pinned in the file: a change is a row after a restart too, is refused where it is to be, and can be accepted', async () => {
    tools.answer = listing('reads a file');
    const first = await lite(['--upstream', tools.url]);
    expect(await list(first.url)).toMatchObject({ status: 200, body: { id: 7 } });
    first.process.kill('SIGTERM');
    await first.ended;

    tools.answer = listing('reads a file and mails it');
    const again = await lite(['--upstream', tools.url]);
    expect(await list(again.url)).toMatchObject({ status: 200 });
    expect(await list(again.url)).toMatchObject({ status: 200 });
    again.process.kill('SIGTERM');
    await again.ended;
    const rows = JSON.parse((await done(['audit', '--json'])).out) as JsonObject[];
    const kinds = rows.map(({ event_kind: kind }) => kind as string);
    expect(kinds.filter((kind) => kind === 'proxy.control')).toHaveLength(2);
    expect(kinds.filter((kind) => kind !== 'proxy.control')).toEqual(['tool_definition.drifted']);
    expect(rows.find(({ event_kind: kind }) => kind === 'tool_definition.drifted')).toMatchObject({
      authorized: false,
      reasoning: 'changed read_file',
    });

    const strict = await lite(['--upstream', tools.url, '--block-poisoned-definitions']);
    for (const method of ['tools/list', 'list_tools'])
      expect(await list(strict.url, method)).toMatchObject({
        status: 502,
        body: { error: 'tool_definition_poisoned' },
      });
    expect(await done(['pins', '--forget', '_legacy_unqualified/anonymous'])).toMatchObject({ code: 1 });
    strict.process.kill('SIGTERM');
    await strict.ended;
    expect(await done(['pins'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('_legacy_unqualified/anonymous  1 tools since'),
    });
    expect(await done(['pins', '--forget', 'nobody'])).toMatchObject({ code: 2 });
    expect(await done(['pins', '--forget', 'no/body'])).toMatchObject({ code: 1 });
    expect(await done(['pins', '--forget', '_legacy_unqualified/anonymous'])).toMatchObject({ code: 0 });
    const accepting = await lite(['--upstream', tools.url, '--block-poisoned-definitions']);
    expect(await list(accepting.url)).toMatchObject({ status: 200 });
    accepting.process.kill('SIGTERM');
    await accepting.ended;
    const written = JSON.parse((await done(['audit', '--json'])).out) as JsonObject[];
    expect(written.find(({ event_kind: kind }) => kind === 'tool_definition.accepted')).toMatchObject({
      actor_sub: 'operator:local',
      policy_decision: { action: 'forget', decided_by: 'operator:local', reason: null },
    });
    expect(await done(['verify'])).toMatchObject({ code: 0, out: expect.stringContaining('6 entries') });
  }, 60_000);
});

describe('a lite process that is killed', () => {
  it('loses nothing it answered, executes what is approved afterwards, and settles the attempt under way as uncertain', async () => {
    const gate = await lite(['--upstream', tools.url]);
    const parkedId = randomUUID();
    const parked = await call(gate.url, 'wire_transfer', { id: parkedId });
    const doneId: string = randomUUID();
    expect(await call(gate.url, 'read_file', { id: doneId })).toMatchObject({ status: 200 });
    const slowId = randomUUID();
    let reached: () => void = () => undefined;
    const inTool = new Promise<void>((resolve) => (reached = resolve));
    const { answer } = tools;
    tools.answer = (request) => (reached(), gate.process.kill('SIGKILL'), answer(request));
    const lost = call(gate.url, 'read_file', { id: slowId }).catch(() => null);
    await inTool;
    await gate.ended;
    await lost;
    tools.answer = answer;

    const again = await lite(['--upstream', tools.url]);
    expect(await call(again.url, 'read_file', { id: doneId })).toMatchObject({ status: 200 });
    expect(await call(again.url, 'read_file', { id: slowId })).toMatchObject({
      status: 409,
      body: { error: 'server_execution_uncertain' },
    });
    const before = tools.executed.length;
    expect(
      await done(['decide', textField(parked, 'correlation_id'), 'approve', '--endpoint', again.url]),
    ).toMatchObject({ code: 0 });
    await eventually('the approved call at its tool', () => tools.executed.length > before);
    expect(tools.executed.length).toBe(before + 1);
    again.process.kill('SIGTERM');
    await again.ended;
    expect(await done(['verify'])).toMatchObject({ code: 0 });
  });
});

describe('commands on the file', () => {
  const typed = typedInFolder(commands, () => folder, { ...OPERATOR_COMMANDS, ...LITE_COMMANDS });
  let seeded: string | null = null;
  afterAll(async () => {
    if (seeded !== null) await rm(seeded, { recursive: true, force: true });
  });
  beforeEach(async () => {
    if (seeded !== null) return cp(seeded, folder, { recursive: true });
    const gate = await lite(['--upstream', tools.url, '--mode', 'observe']);
    await call(gate.url, 'read_file');
    await call(gate.url, 'delete_file');
    gate.process.kill('SIGTERM');
    await gate.ended;
    seeded = await liteFolder();
    await cp(folder, seeded, { recursive: true });
  });

  it('audit prints the newest rows, those of an agent, those of a call', async () => {
    const rows = JSON.parse((await typed(['audit', '--json'])).out) as { correlation_id: string; event_kind: string }[];
    expect(rows).toHaveLength(8);
    expect(JSON.parse((await typed(['audit', 'anonymous', '--json'])).out)).toHaveLength(8);
    expect(JSON.parse((await typed(['audit', rows[0]?.correlation_id ?? '', '--json'])).out)).toHaveLength(4);
    expect(await typed(['audit', 'nobody'])).toMatchObject({ code: 4 });
    expect(await typed(['audit', randomUUID()])).toMatchObject({ code: 4 });
  });

  it('verify never makes a file, and finds a changed row and removed newest rows', async () => {
    expect(await typed(['verify', '--ledger', 'nothing.db'])).toMatchObject({
      code: 1,
      out: expect.stringContaining('no ledger file'),
    });
    expect(existsSync(join(folder, 'nothing.db'))).toBe(false);
    await copyFile(join(folder, 'gate-lite.db'), join(folder, 'cut.db'));
    await copyFile(join(folder, 'gate-lite.db.keys'), join(folder, 'cut.db.keys'));
    editFile(
      join(folder, 'cut.db'),
      'delete from entry_payloads where entry_seq > 6',
      'delete from ledger_entries where seq > 6',
      'update ledger_head set length = 6, head_hash = (select entry_hash from ledger_entries where seq = 6)',
    );
    expect(await typed(['verify', '--ledger', 'cut.db'])).toMatchObject({
      code: 2,
      out: expect.stringContaining('INVALID'),
    });
    editFile(join(folder, 'gate-lite.db'), 'update ledger_entries set chain_version = 99 where seq = 8');
    expect(await typed(['verify'])).toMatchObject({
      code: 2,
      out: expect.stringMatching(
        /^UNSUPPORTED chain version 99 behind 7 valid entries: upgrade this verifier; where no newer Gate wrote here, that row was changed$/m,
      ),
    });
    await writeFile(join(folder, 'text.db'), 'not a database');
    expect((await typed(['verify', '--ledger', 'text.db'])).code).toBe(1);
  });

  it('report counts calls, not rows, and is signed and checked', async () => {
    expect(JSON.parse((await typed(['report', '--json'])).out)).toMatchObject({
      total_requests: 2,
      would_deny: 1,
      would_pend: 0,
      allowed: 1,
      recommend_enforce: false,
      ledger_chain_valid: true,
    });
    expect((await typed(['report', '--since', 'yesterday'])).code).toBe(2);
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    await writeFile(join(folder, 'key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
    await writeFile(join(folder, 'public.pem'), publicKey.export({ type: 'spki', format: 'pem' }));
    expect(await typed(['report', '--signing-key', 'key.pem', '--output', 'report.json'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('signed report written to report.json'),
    });
    expect(await typed(['report', 'verify', '--report', 'report.json', '--pubkey', 'public.pem'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('OK - signature valid (gate-lite-file:v1); chain_valid=true'),
    });
    const text = await readFile(join(folder, 'report.json'), 'utf8');
    expect(await typed(['report', 'verify', '--report', 'report.json'])).toMatchObject({
      code: 2,
      out: expect.stringMatching(/^NOT PROVED: .*--pubkey <file>\n$/),
    });
    await writeFile(join(folder, 'changed.json'), text.replace('"would_deny": 1', '"would_deny": 0'));
    // Written anew and signed with a key of the forger's own, which the report brings along.
    const signed = JSON.parse(text) as ReturnType<typeof signReport>;
    const forger = generateKeyPairSync('ed25519');
    const forged = signReport({ ...signed.report, would_deny: 0, recommend_enforce: true }, forger.privateKey);
    await writeFile(join(folder, 'forged.json'), JSON.stringify(forged));
    await writeFile(join(folder, 'forger.pem'), forger.publicKey.export({ type: 'spki', format: 'pem' }));
    expect(await typed(['report', 'verify', '--report', 'forged.json'])).toMatchObject({
      code: 2,
      out: expect.stringMatching(/^NOT PROVED: /),
    });
    for (const [report, key] of [
      ['forged.json', 'public.pem'],
      ['report.json', 'forger.pem'],
      ['changed.json', 'public.pem'],
    ] as const)
      expect(await typed(['report', 'verify', '--report', report, '--pubkey', key])).toMatchObject({
        code: 2,
        out: expect.stringContaining('cannot be trusted'),
      });
    for (const args of [
      ['--report', 'changed.json'],
      ['--report', 'none.json'],
      ['--report', 'report.json', '--pubkey', 'key.pem.none'],
    ])
      expect(await typed(['report', 'verify', ...args])).toMatchObject({ code: 2 });
    expect(await typed(['report', '--signing-key', 'public.pem'])).toMatchObject({ code: 2 });
  });

  it('backup and restore bring the same chain back, and a damaged backup changes nothing', async () => {
    expect(await typed(['backup', '--output', 'copy.db'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('8 entries verified'),
    });
    expect(await typed(['restore', '--input', 'copy.db'])).toMatchObject({
      code: 1,
      out: expect.stringContaining('--force'),
    });
    await rm(join(folder, 'gate-lite.db'));
    expect(await typed(['restore', '--input', 'copy.db'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('8 entries verified'),
    });
    expect(await typed(['verify'])).toMatchObject({ code: 0 });
    editFile(join(folder, 'copy.db'), "update ledger_entries set reasoning = 'harmless' where seq = 2");
    expect(await typed(['restore', '--input', 'copy.db', '--force'])).toMatchObject({ code: 2 });
    expect(await typed(['verify'])).toMatchObject({ code: 0 });
  });

  it('a backup that does not verify leaves the earlier one in its place', async () => {
    await copyFile(join(folder, 'gate-lite.db'), join(folder, 'bent.db'));
    await copyFile(join(folder, 'gate-lite.db.keys'), join(folder, 'bent.db.keys'));
    expect(await typed(['backup', '--ledger', 'bent.db', '--output', 'bent-copy.db'])).toMatchObject({ code: 0 });
    const before = await readFile(join(folder, 'bent-copy.db'));
    editFile(join(folder, 'bent.db'), "update ledger_entries set reasoning = 'harmless' where seq = 2");
    expect(await typed(['backup', '--ledger', 'bent.db', '--output', 'bent-copy.db'])).toMatchObject({ code: 2 });
    expect(await readFile(join(folder, 'bent-copy.db'))).toEqual(before);
    expect(await readdir(folder)).not.toContain('bent-copy.db.part');
  });

  it('replay judges a recorded call again and comes to the same', async () => {
    const rows = JSON.parse((await typed(['audit', '--json'])).out) as { correlation_id: string; tool_type: string }[];
    const id = rows.find((row) => row.tool_type === 'delete_file')?.correlation_id ?? '';
    expect(await typed(['replay', id])).toMatchObject({
      code: 0,
      out: expect.stringContaining('the same: allow (red)'),
    });
    expect(await typed(['replay', randomUUID()])).toMatchObject({ code: 4 });
  });
});
