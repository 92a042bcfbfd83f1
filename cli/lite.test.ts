import { describe, expect, it } from '@jest/globals';
import { readLiteConfig } from '../config/lite.js';
import type { Lite } from '../lite/serve.js';
import { readyPage } from './lite.js';

const running = (found: Lite['found'] = null, link: string | null = 'http://127.0.0.1:8088/login?link=abc') =>
  ({
    url: 'http://127.0.0.1:8088',
    access: { agents: 'open', operators: 'token' },
    ownDecideToken: null,
    policies: { directory: 'policies', builtIn: true, version: '1' },
    resumed: 0,
    found,
    signInLink: () => link,
  }) as unknown as Lite;
const page = (env: Record<string, string>, lite = running()) => readyPage(lite, readLiteConfig(env), undefined);
const TOOLS = { GATE_LITE_UPSTREAM_URL: 'http://tools.example/mcp?key=secret' };

describe('the page that gate lite ends its start with', () => {
  it('shows calls that are judged where there are no tools, and calls of the tools where there are', () => {
    expect(page({})).toMatch(/An allow, a deny, and a call that waits for you:(?:.|\n)*"name":"wire_transfer"/);
    const own = page(TOOLS, running({ kind: 'mcp', words: 'MCP server files 1.0' }));
    expect(own).toContain('tools      http://tools.example/mcp (MCP server files 1.0)\n');
    expect(own).toContain('"method":"tools/list"');
    expect(own).toContain('X-Gate-Server-Execution-Contract: gate.server-execution/v1');
    expect(own).not.toMatch(/wire_transfer|secret/);
  });

  it('says what is to be done where nothing answers at the address, in words that steer no terminal', () => {
    const shown = page(TOOLS, running({ kind: 'unclear', words: 'connection refused\u001b[2J' }));
    expect(shown).toContain('NOT REACHED: connection refused\\u{1b}[2J. Is it started?');
  });

  it('says how long the link is good, and in observe mode that everything runs', () => {
    expect(page({})).toContain(
      'signs you in once, within 10 minutes; `npx gate lite link --endpoint http://127.0.0.1:8088` prints another',
    );
    expect(page({}, running(null, null))).toContain('console    http://127.0.0.1:8088/\n');
    expect(page({ GATE_LITE_MODE: 'observe' })).toMatch(
      /OBSERVE MODE: every call runs[^]*without GATE_LITE_MODE=observe \(or --mode observe\)/,
    );
    expect(page({})).not.toContain('OBSERVE');
  });
});
