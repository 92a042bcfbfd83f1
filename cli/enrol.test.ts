import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { enrolled } from './enrol.js';
import { CliError } from './errors.js';

const TOKEN = 'a-token-that-nobody-else-reads';
const MADE = {
  agent_id: '70000000-0000-4000-8000-000000000007',
  token: TOKEN,
  expires_at: '2026-11-02T11:00:00.000Z',
};

describe('gate agents enrol', () => {
  let folder: string;
  let asked: unknown[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gate-enrol-'));
    asked = [];
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const file = () => join(folder, 'bot.token');
  const enrolling = (answer: () => unknown) =>
    enrolled(
      {
        ask: async <Answer>(...of: unknown[]) => {
          asked.push(of);
          return answer() as Answer;
        },
      },
      { tenant: 'acme', agent: 'bot', file: file() },
    );

  it('puts the token into a file for its owner alone, and says everything but the token', async () => {
    const said = await enrolling(() => MADE);
    expect(asked).toEqual([['identity', 'POST', '/enrollments', { tenant: 'acme', agent_name: 'bot' }]]);
    expect(said).toEqual({
      tenant: 'acme',
      agent_name: 'bot',
      agent_id: MADE.agent_id,
      expires_at: MADE.expires_at,
      token_file: file(),
    });
    expect([readFileSync(file(), 'utf8'), statSync(file()).mode & 0o777]).toEqual([`${TOKEN}\n`, 0o600]);
  });

  it('asks for no token where the file is there, and leaves that as it is', async () => {
    writeFileSync(file(), 'of somebody');
    await expect(enrolling(() => MADE)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('there is a file of this name already'),
    });
    expect([asked, readFileSync(file(), 'utf8')]).toEqual([[], 'of somebody']);
  });

  it('asks for none where the file cannot be made', async () => {
    rmSync(folder, { recursive: true });
    await expect(enrolling(() => MADE)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('cannot be made (ENOENT)'),
    });
    expect(asked).toEqual([]);
  });

  it.each([
    ['bootstrap_not_available', /a recovery/],
    ['agent_suspended', /gate release agent bot/],
    ['invalid_token', /GATE_IDENTITY_ADMIN_TOKEN/],
    ['agent_name_reserved', /^refused$/],
  ])('leaves no file where identity refuses (%s), and says what to do', async (code, says) => {
    const refusing = enrolling(() => {
      throw new CliError('refused', 4, code);
    });
    await expect(refusing).rejects.toMatchObject({ exitCode: 4, code, message: expect.stringMatching(says) });
    expect(existsSync(file())).toBe(false);
  });

  it('says no word of an answer that is not identity’s', async () => {
    await expect(enrolling(() => ({ token: TOKEN }))).rejects.toMatchObject({
      message: expect.not.stringContaining(TOKEN),
    });
    expect(existsSync(file())).toBe(false);
  });
});
