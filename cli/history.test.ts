import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../config/project-root.js';
import { decodeHistory, HISTORIES } from '../test/replay/histories.js';
import { commandLine } from '../test/support/command.js';
import { TEST_PAYLOAD_KEYS } from '../test/support/engine-keys.js';
import { type HistoryRun, stepsOf } from '../workers/history.js';
import { TOOL_CALL } from '../workflows/tool-call/messages.js';
import { historyPage } from './history.js';

const recorded = async (name: string, keys = true): Promise<HistoryRun> => ({
  run_id: '0190b8d0-0000-7000-8000-000000000000',
  workflow: TOOL_CALL,
  status: 'completed',
  task_queue: 'gate-tool-call',
  steps: await stepsOf(
    decodeHistory(readFileSync(join(PROJECT_ROOT, HISTORIES, `${name}.pb`))),
    keys ? TEST_PAYLOAD_KEYS : null,
  ),
  children: [],
});

describe('the page of a history', () => {
  it('has a heading for each run, and its steps with their times and outcomes', async () => {
    const page = historyPage([await recorded('approved-run-1'), await recorded('approved-run-2')]);
    expect(page.match(/^toolCall, completed$/gm)).toHaveLength(2);
    expect(page).toMatch(/│ \d\d:\d\d:\d\d\.\d{3} │ begins /);
    expect(page).toMatch(/│ goes on +│ in run [0-9a-f-]{36} /);
    expect(page).toMatch(/│ decide +│ approved \(yellow\) /);
    expect(page).toMatch(/│ ends +│ completed \(yellow\) /);
    expect(page).not.toContain('(sealed)');
  });

  it('fits a terminal of 80 columns, with each step in a word', async () => {
    const lines = historyPage([await recorded('approved-run-1'), await recorded('approved-run-2')], 80).split('\n');
    const framed = lines.filter((line) => /^[┌│├└]/.test(line));
    expect(Math.max(...framed.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(framed.join('\n')).toMatch(/│ settleReview +│|│ appendLedger +│|│ applyDecision +│|│ appendRows +│/);
  });

  it('also of steps that an earlier Gate took', async () => {
    expect(historyPage([await recorded('denied')])).toMatch(/│ judge +│ denied \(red\) /);
    expect(historyPage([await recorded('appending')])).toMatch(/│ appendRows +│ done /);
  });

  it('without the key says that outcomes are sealed and where the key is, and still names each step', async () => {
    const page = historyPage([await recorded('completed', false)]);
    expect(page).toMatch(/│ execute +│ \(sealed\) /);
    expect(page).toMatch(/\(sealed\): this machine has no key that opens it; GATE_PAYLOAD_KEYS names it\n$/);
  });

  it('shows what would move the cursor or hide as what it is', async () => {
    const run = await recorded('denied');
    const page = historyPage([
      { ...run, steps: [{ at: '', step: 'a\u001b[2Jb', summary: 'c\nd', outcome: '\u202ee' }] },
    ]);
    for (const hidden of ['\u001b', '\u202e', 'c\nd']) expect(page).not.toContain(hidden);
  });
});

describe('gate history, as it is typed', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'gate-history-'));
  });
  afterAll(async () => {
    await commands.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const commands = commandLine(() => folder);
  const ID = '0190b8d0-0000-7000-8000-000000000000';

  it('says how it is used', async () => {
    const { code, out } = await commands.done(['history', '--help']);
    expect(code).toBe(0);
    expect(out).toContain('docs/how-to/read-a-history.md');
  }, 60_000);

  it('needs an id, or --link', async () => {
    expect(await commands.done(['history'])).toEqual({
      code: 2,
      out: 'gate: which call? Give its correlation id, or --link for the pages\n',
    });
  }, 60_000);

  it('has no link where no stack, no pages or no pages that answer are known', async () => {
    expect(await commands.done(['history', '--link'])).toMatchObject({
      code: 5,
      out: expect.stringContaining('no running stack is known here'),
    });
    const linked = (pages_url: string | null) => {
      writeFileSync(join(folder, 'dev.json'), JSON.stringify({ temporal: { pages_url }, operator_token: 'secret' }));
      return commands.done(['history', '--link'], { GATE_STATE_DIR: folder });
    };
    expect(await linked(null)).toMatchObject({ code: 1, out: expect.stringContaining('no engine of its own') });
    const away = await linked('http://127.0.0.1:9');
    expect(away).toMatchObject({ code: 5, out: expect.stringContaining('do not answer') });
    expect(away.out).not.toContain('secret');
    rmSync(join(folder, 'dev.json'));
  }, 60_000);

  it('refuses what is no id (2), says where no stack is known (5)', async () => {
    expect(await commands.done(['history', 'seven'])).toEqual({
      code: 2,
      out: 'gate: seven is not a correlation id; `gate pending` and `gate audit` show them\n',
    });
    expect(await commands.done(['history', ID])).toMatchObject({
      code: 5,
      out: expect.stringContaining('no running stack is known here'),
    });
  }, 60_000);

  it('says that lite has no histories, and what has its calls', async () => {
    const lite = join(folder, 'gate-lite.db');
    writeFileSync(lite, '');
    for (const args of [
      ['history', ID],
      ['history', '--link'],
    ])
      expect(await commands.done(args)).toMatchObject({
        code: 1,
        out: expect.stringMatching(/a lite, which has no workflow engine .*gate audit <id> --ledger gate-lite\.db/),
      });
    rmSync(lite);
  }, 60_000);

  it('says that no engine answers (5)', async () => {
    const closed = createServer();
    await new Promise<void>((listening) => closed.listen(0, '127.0.0.1', listening));
    const { port } = closed.address() as { port: number };
    await new Promise((done) => closed.close(done));
    const told = await commands.done(['history', ID], { GATE_TEMPORAL_ADDRESS: `127.0.0.1:${port}` });
    expect(told).toMatchObject({ code: 5, out: expect.stringContaining('does not answer') });
  }, 60_000);
});
