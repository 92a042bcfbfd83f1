import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { meantLedger, readable } from './ledger-file.js';
import { ledgerPath } from './target.js';

describe('the ledger file that is meant', () => {
  const before = { cwd: process.cwd(), state: process.env['GATE_STATE_DIR'] };
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gate-meant-'));
    process.chdir(folder);
    delete process.env['GATE_STATE_DIR'];
  });
  afterEach(() => {
    process.chdir(before.cwd);
    if (before.state !== undefined) process.env['GATE_STATE_DIR'] = before.state;
    rmSync(folder, { recursive: true, force: true });
  });

  it('is the one that is named, else that of the known stack here, else that of lite, as for every other command', async () => {
    const ofStack = join(process.cwd(), '.gate/data/ledger.db');
    expect([meantLedger(undefined), ledgerPath(undefined)]).toEqual(['./gate-lite.db', null]);
    mkdirSync('.gate/data', { recursive: true });
    writeFileSync('.gate/data/ledger.db', '');
    expect([meantLedger(undefined), ledgerPath(undefined)]).toEqual([ofStack, null]);
    writeFileSync('gate-lite.db', '');
    expect([meantLedger(undefined), ledgerPath(undefined)]).toEqual(['gate-lite.db', 'gate-lite.db']);
    writeFileSync('.gate/dev.json', '{}');
    expect([meantLedger(undefined), ledgerPath(undefined)]).toEqual([ofStack, null]);
    rmSync('.gate/data/ledger.db');
    const missing = readable(meantLedger(undefined), () => Promise.resolve());
    await expect(missing).rejects.toThrow(/^the ledger of this stack is in Postgres; `.* export --to FILE`/);
    expect([meantLedger('./gate-lite.db'), ledgerPath('./gate-lite.db')]).toEqual(['./gate-lite.db', './gate-lite.db']);
  });
});
