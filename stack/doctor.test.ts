import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { settingLines } from '../config/setting-lines.js';
import { START_SETTINGS } from './process-settings.js';
import { freePort } from './programs/free-port.js';
import { examine } from './doctor.js';

let folder: string;
/** Ports that are not those of a stack that happens to run on this machine. */
const anyPorts = Object.fromEntries(
  settingLines(START_SETTINGS).flatMap(({ variable }) => (variable.endsWith('_PORT') ? [[variable, '0']] : [])),
);
const here = (change: Record<string, string> = {}) => ({
  PATH: process.env['PATH'],
  GATE_STATE_DIR: join(folder, 'state'),
  GATE_CACHE_DIR: join(folder, 'cache'),
  ...anyPorts,
  ...change,
});
const found = async (what: string, change: Record<string, string> = {}, nowMs?: number) =>
  (await examine(here(change), nowMs)).find((finding) => finding.what === what);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gate-doctor-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('gate doctor: what a start needs, looked for beforehand', () => {
  it('an ordinary machine: nothing is a fault, and nothing was made', async () => {
    const findings = await examine(here());
    expect(findings.filter(({ state }) => state === 'fault')).toEqual([]);
    expect(findings.map(({ what }) => what)).toEqual([
      'Node',
      'settings',
      'state folder',
      'disk',
      'clock',
      'workflow engine',
      'ports',
    ]);
    expect(await found('state folder')).toMatchObject({ detail: expect.stringContaining('made at the first start') });
  });

  it('a port that is taken, with the setting that moves it', async () => {
    const port = await freePort();
    const other = createServer().listen(port, '127.0.0.1');
    await once(other, 'listening');
    expect(await found(`port ${port}`, { GATE_PROXY_PORT: String(port) })).toEqual({
      what: `port ${port}`,
      state: 'fault',
      detail: 'another program listens on 127.0.0.1; GATE_PROXY_PORT moves it (0 takes a free one)',
    });
    other.close();
  });

  it('settings that cannot be read, each by its name; what is not set is none of them', async () => {
    expect(await found('settings', { GATE_PROXY_PORT: 'eight', GATE_MODE: 'sometimes' })).toMatchObject({
      state: 'fault',
      detail: expect.stringMatching(/GATE_PROXY_PORT.*GATE_MODE|GATE_MODE.*GATE_PROXY_PORT/),
    });
  });

  it('variables that are named like settings and that nothing reads, with what was meant', async () => {
    const change = { GATE_UPSTREM_URL: 'http://127.0.0.1:1/mcp', GATE_SIGNING_KEY_FILE_X: '1', GATE_TRUSTED_LOGS: 'x' };
    expect(await found('settings', change)).toEqual({
      what: 'settings',
      state: 'warning',
      detail: expect.stringMatching(
        /^GATE_UPSTREM_URL is read by nothing; did you mean GATE_UPSTREAM_URL\?; GATE_SIGNING_KEY_FILE_X is read/,
      ),
    });
  });

  it('a state folder that is a file', async () => {
    const file = join(folder, 'a-file');
    writeFileSync(file, '');
    expect(await found('state folder', { GATE_STATE_DIR: file })).toMatchObject({ state: 'fault' });
    expect(await found('state folder', { GATE_STATE_DIR: join(file, 'below') })).toMatchObject({ state: 'fault' });
  });

  it('a clock that was never set, or was put back behind what is stored', async () => {
    expect(await found('clock', {}, 0)).toMatchObject({ state: 'fault', detail: expect.stringContaining('1970') });
    const data = join(folder, 'state', 'data');
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, 'ledger.db'), '');
    const ahead = new Date(Date.now() + 3_600_000);
    utimesSync(join(data, 'ledger.db'), ahead, ahead);
    expect(await found('clock')).toMatchObject({ state: 'warning', detail: expect.stringContaining('put back') });
  });

  it('the program of the workflow engine: there, to be built, to be downloaded, or a variable that does not work', async () => {
    expect(await found('workflow engine', { PATH: '/nowhere' })).toMatchObject({
      state: 'warning',
      detail: expect.stringContaining('neither is Go'),
    });
    expect(await found('workflow engine', { GATE_TEMPORAL_BIN: '/nowhere/temporal' })).toMatchObject({
      state: 'fault',
      detail: expect.stringContaining('GATE_TEMPORAL_BIN'),
    });
  });

  it('what settings name elsewhere: an engine and a database that do not answer are faults, tools a warning', async () => {
    const port = await freePort();
    const nobody = `127.0.0.1:${port}`;
    for (const [what, change] of [
      ['workflow engine', { GATE_TEMPORAL_ADDRESS: nobody }],
      ['database', { GATE_DATABASE_URL: `postgres://gate@${nobody}/gate` }],
    ] as const)
      expect(await found(what, change)).toMatchObject({
        state: 'fault',
        detail: expect.stringContaining(`${nobody} (${Object.keys(change)[0]}) cannot be reached: ECONNREFUSED`),
      });
    expect(await found('tools', { GATE_UPSTREAM_URL: `http://${nobody}/mcp` })).toMatchObject({
      state: 'warning',
      detail: expect.stringContaining(
        `${nobody} (GATE_UPSTREAM_URL) cannot be reached: ECONNREFUSED; Gate starts all the same`,
      ),
    });
    const tools = createServer().listen(port, '127.0.0.1');
    await once(tools, 'listening');
    expect(await found('tools', { GATE_UPSTREAM_URL: `http://${nobody}/mcp` })).toMatchObject({ state: 'ok' });
    tools.close();
  });

  it('ports that are any free ones', async () => {
    expect(await found('ports')).toEqual({ what: 'ports', state: 'ok', detail: 'each is any free one' });
  });

  it('a stack that runs already: its ports are its own', async () => {
    const stateDir = join(folder, 'running');
    mkdirSync(join(stateDir, 'run'), { recursive: true });
    // Any other process of this program stands for Gate: the one that started this test.
    writeFileSync(join(stateDir, 'run', 'gate.pid'), String(process.ppid));
    const findings = await examine(here({ GATE_STATE_DIR: stateDir }));
    expect(findings.find(({ what }) => what === 'state folder')).toMatchObject({
      state: 'fault',
      detail: expect.stringContaining(`process ${process.ppid}`),
    });
    expect(findings.some(({ what }) => what.startsWith('port'))).toBe(false);
  });
});
