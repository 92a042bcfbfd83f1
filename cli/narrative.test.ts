import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { callRows } from '../test/support/ledger-calls.js';
import { testKeys } from '../test/support/ledger.js';
import { commandLine } from '../test/support/command.js';
import { narrativePath } from './narrative.js';
import { openLedger } from '../test/support/whole-ledger.js';

describe('gate narrative, of a running ledger', () => {
  it.each(['agent/a', '.', '..', '%2e%2e', '-'])(
    'asks for the agent %j and none other, however its address is read',
    (agent) => {
      const { pathname, searchParams } = new URL(narrativePath(agent, '7d'), 'https://ledger.example');
      expect(pathname).toMatch(/^\/audit\/agents\/[^/]+\/narrative$/);
      const inPath = decodeURIComponent(pathname.split('/')[3] ?? '');
      expect([searchParams.get('agent_id') ?? inPath, searchParams.get('window')]).toEqual([agent, '7d']);
    },
  );
});

describe('gate narrative, on a ledger file', () => {
  let folder: string;
  const commands = commandLine(() => folder);
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gate-narrative-'));
    const now = Date.now() - 3_600_000;
    const ledger = await openLedger({
      target: { file: join(folder, 'ledger.db') },
      sidecarKeys: testKeys(),
      clock: () => now,
    });
    await ledger.append(callRows({ name: 'a', outcome: 'completed' }));
    await ledger.append(callRows({ name: 'b', tier: 'red', tool: 'delete_file' }));
    await ledger.close();
  });
  afterEach(async () => {
    await commands.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const gate = (...args: string[]) => commands.done(['narrative', ...args, '--ledger', 'ledger.db']);

  it('tells the story, with the rows it rests on', async () => {
    const { code, out } = await gate('agent-a', '--window', '1d');
    expect(code).toBe(0);
    expect(out).toContain('In the last 24 hours `agent-a` made 2 requests: 1 allowed and 1 denied.\n');
    expect(out).toMatch(/█·{1,2} {2}requests by hour, at most 2\n/);
    expect(out).toContain(
      '- 1 request was denied, for “Violation: destructive” (once, first in row 5). [#5]\n- Of its executions 1 completed. [#4]\n',
    );
    expect(out).toMatch(/│ 5 +│ \S+Z │ `delete_file` was denied: Violation: destructive │/);
  }, 60_000);

  it('tells of an agent without rows that there are none, and prints JSON where it is asked to', async () => {
    expect(await gate('nobody')).toEqual({ code: 0, out: 'No request of `nobody` is recorded in the last 7 days.\n' });
    const { out } = await gate('agent-a', '--json');
    expect(JSON.parse(out)).toMatchObject({ agent_id: 'agent-a', window: '7d', total: 2 });
  }, 60_000);

  it('knows four windows', async () => {
    expect(await gate('agent-a', '--window', '2d')).toMatchObject({
      code: 2,
      out: expect.stringContaining('1d, 7d, 30d, 90d'),
    });
  }, 60_000);
});
