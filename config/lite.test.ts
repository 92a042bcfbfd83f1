import { describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { volumeFault } from './data-volume.js';
import { flagOf, LITE_SETTINGS, readLiteConfig } from './lite.js';

const AGENT = 'agent-0123456789-0123456789-0123456789';
const OPERATOR = 'operator-0123456789-0123456789-0123456';
const mounted = () => null;
const HOSTED = {
  GATE_LITE_DEPLOYMENT_PROFILE: 'Hosted',
  GATE_LITE_TOKEN: AGENT,
  GATE_LITE_DECIDE_TOKEN: OPERATOR,
  GATE_LITE_RATE_LIMIT_QPS: '5',
  GATE_LITE_RATE_LIMIT_BURST: '10',
  GATE_LITE_LEDGER: '/data/gate-lite.db',
  GATE_LITE_UPSTREAM_URL: 'https://tools.gate.dev/mcp',
  GATE_LITE_UPSTREAM_ADAPTER: 'mcp-jsonrpc-v1',
  GATE_LITE_UPSTREAM_TIMEOUT_SECS: '30',
};

describe('settings of lite', () => {
  it('has a default for everything, on loopback, enforcing', () => {
    expect(readLiteConfig({})).toMatchObject({
      host: '127.0.0.1',
      port: 8088,
      mode: 'enforce',
      ledger: './gate-lite.db',
      upstreamAdapter: 'auto',
    });
  });

  it('names each flag once', () => {
    const flags = Object.values(LITE_SETTINGS).map(flagOf);
    expect(new Set(flags).size).toBe(flags.length);
    expect(flags).toEqual(
      expect.arrayContaining([
        '--upstream',
        '--policies',
        '--velocity-window',
        '--deployment-profile',
        '--pending-ttl-secs',
        '--decide-token',
        '--rate-limit-qps',
        '--port',
      ]),
    );
  });

  it('takes the mode of the stack where lite has none of its own, in any case', () => {
    expect(readLiteConfig({ GATE_MODE: 'observe' }).mode).toBe('observe');
    expect(readLiteConfig({ GATE_MODE: 'observe', GATE_LITE_MODE: 'Enforce' }).mode).toBe('enforce');
    expect(() => readLiteConfig({ GATE_LITE_MODE: 'watch' })).toThrow('GATE_LITE_MODE');
  });

  it('turns a switch on for true, 1 and yes, and for nothing else', () => {
    for (const [text, on] of [
      ['true', true],
      ['1', true],
      ['YES', true],
      ['on', false],
      ['0', false],
      ['', false],
    ] as const)
      expect([text, readLiteConfig({ GATE_LITE_VERBOSE_VERDICTS: text }).verboseVerdicts]).toEqual([text, on]);
  });

  it.each([
    ['a webhook that is no URL', { GATE_LITE_WEBHOOK_URL: 'hooks' }, 'GATE_LITE_WEBHOOK_URL: must be an http'],
    ['a chat that is no URL', { GATE_LITE_SLACK_WEBHOOK_URL: 'ftp://x/y' }, 'GATE_LITE_SLACK_WEBHOOK_URL'],
    [
      'a callback boundary that is no URL',
      { GATE_LITE_CALLBACK_ALLOWLIST: 'hooks' },
      'GATE_LITE_CALLBACK_ALLOWLIST: callback allowlist entry "hooks"',
    ],
    ['an empty token', { GATE_LITE_TOKEN: '' }, 'GATE_LITE_TOKEN: is empty'],
    ['a placeholder', { GATE_LITE_TOKEN: 'changeme' }, 'GATE_LITE_TOKEN: looks like a placeholder'],
    ['an agent without a tenant', { GATE_LITE_AGENTS: `bot:${AGENT}` }, 'tenant/agent'],
    ['two agents with one token', { GATE_LITE_AGENTS: `a/b:${AGENT},a/c:${AGENT}` }, 'two entries have one token'],
    ['a list that names nobody', { GATE_LITE_AGENTS: ' , ' }, 'it names nobody'],
    ['an agent that could decide', { GATE_LITE_TOKEN: AGENT, GATE_LITE_DECIDE_TOKEN: AGENT }, 'GATE_LITE_DECIDE_TOKEN'],
    ['others without an agent token', { GATE_LITE_HOST: '0.0.0.0' }, 'set GATE_LITE_TOKEN or GATE_LITE_AGENTS'],
    [
      'others without a decide token',
      { GATE_LITE_HOST: '::', GATE_LITE_TOKEN: AGENT },
      'set GATE_LITE_DECIDE_TOKEN or GATE_LITE_DECIDERS',
    ],
    ['an upstream that is no URL', { GATE_LITE_UPSTREAM_URL: 'tools' }, 'GATE_LITE_UPSTREAM_URL'],
  ])('refuses %s, naming the setting', (_case, env, words) => {
    expect(() => readLiteConfig(env)).toThrow(words);
  });

  it('reads several agents and operators', () => {
    const config = readLiteConfig({
      GATE_LITE_AGENTS: `acme/bot:${AGENT}, acme/other:x:y`,
      GATE_LITE_DECIDERS: `acme:${OPERATOR}`,
    });
    expect(config.agents).toEqual([
      { tenant: 'acme', agent: 'bot', token: AGENT },
      { tenant: 'acme', agent: 'other', token: 'x:y' },
    ]);
    expect(config.deciders).toEqual([{ tenant: 'acme', token: OPERATOR }]);
  });
});

describe('the hosted profile', () => {
  it('starts when everything is as it must be', () => {
    expect(readLiteConfig(HOSTED, mounted).profile).toBe('hosted');
  });

  it('takes tokens from files, as containers hand them out', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gate-lite-config-'));
    const file = join(folder, 'token');
    writeFileSync(file, `${AGENT}\n`);
    const { GATE_LITE_TOKEN: _, ...others } = HOSTED;
    expect(readLiteConfig({ ...others, GATE_LITE_TOKEN_FILE: file }, mounted).token).toBe(AGENT);
    rmSync(folder, { recursive: true });
  });

  it.each(['does not exist', 'is not a mount point', 'is not writable by this user'])(
    'refuses a /data that %s, where the ledger would not last',
    (fault) => {
      expect(() => readLiteConfig(HOSTED, (folder) => `${folder === '/data' ? fault : 'other'}`)).toThrow(
        `GATE_LITE_LEDGER: /data ${fault}`,
      );
    },
  );

  it('looks at the folder itself: one that is no mount point, and one that does not exist', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gate-lite-config-'));
    expect(volumeFault(folder)).toContain('not a mount point');
    expect(volumeFault(join(folder, 'none'))).toBe('does not exist');
    expect(volumeFault('/')).toBeNull();
    rmSync(folder, { recursive: true });
  });

  it.each([
    ['no agent token', { GATE_LITE_TOKEN: undefined }, 'set GATE_LITE_TOKEN or GATE_LITE_AGENTS'],
    ['both kinds of agent tokens', { GATE_LITE_AGENTS: `a/b:${AGENT}-2` }, 'not both'],
    [
      'a short agent token',
      { GATE_LITE_TOKEN: 'short-agent-token' },
      'GATE_LITE_TOKEN holds a token shorter than 32 bytes',
    ],
    [
      'a registry with an empty entry',
      { GATE_LITE_TOKEN: undefined, GATE_LITE_AGENTS: `a/b:${AGENT},` },
      'GATE_LITE_AGENTS has an empty entry',
    ],
    ['no decide token', { GATE_LITE_DECIDE_TOKEN: undefined }, 'set GATE_LITE_DECIDE_TOKEN or GATE_LITE_DECIDERS'],
    ['a short decide token', { GATE_LITE_DECIDE_TOKEN: 'short-token' }, 'GATE_LITE_DECIDE_TOKEN holds'],
    ['one token for both', { GATE_LITE_DECIDE_TOKEN: AGENT }, 'repeats a token of an agent'],
    ['verbose verdicts', { GATE_LITE_VERBOSE_VERDICTS: 'yes' }, 'GATE_LITE_VERBOSE_VERDICTS must be off'],
    [
      'callbacks to private addresses',
      { GATE_LITE_CALLBACK_ALLOW_PRIVATE: '127.0.0.1:9' },
      'GATE_LITE_CALLBACK_ALLOW_PRIVATE must be empty',
    ],
    [
      'a placeholder of some length',
      { GATE_LITE_TOKEN: `changeme-${'x'.repeat(32)}` },
      'GATE_LITE_TOKEN holds a placeholder',
    ],
    [
      'one letter over and over',
      { GATE_LITE_DECIDERS: `a:${'z'.repeat(40)}`, GATE_LITE_DECIDE_TOKEN: undefined },
      'GATE_LITE_DECIDERS holds a placeholder',
    ],
    ['a rate that is no number', { GATE_LITE_RATE_LIMIT_QPS: 'many' }, 'GATE_LITE_RATE_LIMIT_QPS'],
    ['a relative ledger', { GATE_LITE_LEDGER: './gate.db' }, 'GATE_LITE_LEDGER'],
    ['no upstream', { GATE_LITE_UPSTREAM_URL: undefined }, 'GATE_LITE_UPSTREAM_URL is not set'],
    ['a loopback upstream', { GATE_LITE_UPSTREAM_URL: 'https://[::1]/mcp' }, 'not public'],
    ['a local upstream name', { GATE_LITE_UPSTREAM_URL: 'https://tools.internal/mcp' }, 'not public'],
    ['an upstream name of one label', { GATE_LITE_UPSTREAM_URL: 'https://tools/mcp' }, 'not public'],
    ['an upstream with a fragment', { GATE_LITE_UPSTREAM_URL: 'https://tools.gate.dev/mcp#x' }, 'fragment'],
    ['observe mode', { GATE_LITE_MODE: 'observe' }, 'GATE_LITE_MODE must be enforce'],
    ['no rate limit', { GATE_LITE_RATE_LIMIT_QPS: undefined }, 'GATE_LITE_RATE_LIMIT_QPS'],
    ['a rate too high', { GATE_LITE_RATE_LIMIT_QPS: '101' }, 'GATE_LITE_RATE_LIMIT_QPS'],
    ['no burst', { GATE_LITE_RATE_LIMIT_BURST: undefined }, 'GATE_LITE_RATE_LIMIT_BURST'],
    ['a burst too high', { GATE_LITE_RATE_LIMIT_BURST: '201' }, 'GATE_LITE_RATE_LIMIT_BURST'],
    ['a ledger in memory', { GATE_LITE_LEDGER: ':memory:' }, 'GATE_LITE_LEDGER'],
    ['a ledger beside /data', { GATE_LITE_LEDGER: '/data/../gate.db' }, 'GATE_LITE_LEDGER'],
    ['/data itself as ledger', { GATE_LITE_LEDGER: '/data/' }, 'GATE_LITE_LEDGER'],
    [
      'an upstream in clear',
      { GATE_LITE_UPSTREAM_URL: 'http://tools.gate.dev/mcp' },
      'GATE_LITE_UPSTREAM_URL must be https',
    ],
    ['a reserved upstream host', { GATE_LITE_UPSTREAM_URL: 'https://tools.invalid/mcp' }, 'GATE_LITE_UPSTREAM_URL'],
    ['a private upstream address', { GATE_LITE_UPSTREAM_URL: 'https://10.0.0.7/mcp' }, 'not public'],
    ['an upstream with user info', { GATE_LITE_UPSTREAM_URL: 'https://me:x@tools.gate.dev/' }, 'user info'],
    ['plain JSON tools', { GATE_LITE_UPSTREAM_ADAPTER: 'raw-json' }, 'GATE_LITE_UPSTREAM_ADAPTER'],
    ['a long time-out', { GATE_LITE_UPSTREAM_TIMEOUT_SECS: '31' }, 'GATE_LITE_UPSTREAM_TIMEOUT_SECS'],
  ])('refuses %s in one line that names the setting', (_case, change, words) => {
    const env = Object.fromEntries(Object.entries({ ...HOSTED, ...change }).filter(([, value]) => value !== undefined));
    expect(() => readLiteConfig(env, mounted)).toThrow(words);
  });

  it.each([
    ['a command', { name: 'files', command: ['node'] }, /GATE_UPSTREAMS: upstreams\[1\] must not be a command$/],
    ['an address in clear', { name: 'files', url: 'http://tools.gate.dev/mcp' }, /upstreams\[1\] must be https$/],
    [
      'a private address',
      { name: 'files', url: 'https://10.0.0.7/mcp' },
      /upstreams\[1\] names an address that is not public$/,
    ],
    ['only public addresses', { name: 'files', url: 'https://files.gate.dev/mcp' }, null],
  ])('several upstreams with %s', (_case, entry, words) => {
    const folder = mkdtempSync(join(tmpdir(), 'gate-lite-config-'));
    const file = join(folder, 'upstreams.json');
    writeFileSync(file, JSON.stringify({ upstreams: [{ name: 'bank', url: 'https://bank.gate.dev/mcp' }, entry] }));
    const { GATE_LITE_UPSTREAM_URL: _url, GATE_LITE_UPSTREAM_ADAPTER: _adapter, ...others } = HOSTED;
    const read = () => readLiteConfig({ ...others, GATE_UPSTREAMS: file }, mounted);
    if (words) expect(read).toThrow(words);
    else expect(read().upstreams).toHaveLength(2);
    rmSync(folder, { recursive: true });
  });

  it('refuses in a fixed order: the first fault is the one that is named', () => {
    const faults = { GATE_LITE_MODE: 'observe', GATE_LITE_RATE_LIMIT_QPS: '0', GATE_LITE_UPSTREAM_ADAPTER: 'raw-json' };
    expect(() => readLiteConfig({ ...HOSTED, ...faults }, mounted)).toThrow(
      /^[^\n]*\n[^\n]*GATE_LITE_MODE must be enforce$/,
    );
  });
});
