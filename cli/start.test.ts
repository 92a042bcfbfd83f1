import { describe, expect, it } from '@jest/globals';
import type { DevelopmentFile } from '../stack/development-file.js';
import { readyPage } from './start.js';

const leaf = (name: string) => ({ cert: `/pki/${name}.crt`, key: `/pki/${name}.key`, spiffe: `spiffe://x/${name}` });
const stack = (demonstration: boolean, mode = 'enforce') =>
  ({
    mode,
    proxy: { url: 'https://127.0.0.1:8443', ca: '/pki/ca.crt', ...leaf('support-bot') },
    hil: { url: 'https://127.0.0.1:8084' },
    ledger: { url: 'https://127.0.0.1:8083' },
    temporal: { address: '127.0.0.1:7233', ui_url: null, pages_url: null },
    upstream: { url: 'http://127.0.0.1:3001/mcp', demonstration },
    agents: { 'support-bot': leaf('support-bot'), 'dev-agent': leaf('dev-agent') },
  }) as unknown as DevelopmentFile;

describe('the page that gate start ends with', () => {
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

  it('says in observe mode that everything runs, and in enforce nothing of it', () => {
    expect(readyPage(stack(true, 'observe'), '.gate', 1_234)).toMatch(
      /ready \(1\.2 s, observe\)\n\n {2}OBSERVE MODE: every call runs/,
    );
    expect(readyPage(stack(true), '.gate', 1_234)).toContain('ready (1.2 s, enforce)\n\n  proxy');
  });

  it('prints commands that a shell reads as they stand', () => {
    const page = readyPage(stack(false), '.gate', 1_234);
    const commands = page.split('\n').filter((line) => line.startsWith('  curl') || line.startsWith('    -'));
    expect(commands.join('\n').match(/^ {2}curl[^\n]*( \\\n {4}-[^\n]*)+$/gm)).toHaveLength(2);
  });
});
