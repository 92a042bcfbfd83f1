import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { meantLedger } from './ledger-file.js';

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

  it('is the one that is named, else that of lite here, else that of the stack here', () => {
    expect(meantLedger('./gate-lite.db')).toBe('./gate-lite.db');
    mkdirSync('.gate/data', { recursive: true });
    writeFileSync('.gate/data/ledger.db', '');
    expect(meantLedger('./gate-lite.db')).toBe(join(process.cwd(), '.gate/data/ledger.db'));
    expect(meantLedger('other.db')).toBe('other.db');
    writeFileSync('gate-lite.db', '');
    expect(meantLedger('./gate-lite.db')).toBe('./gate-lite.db');
  });
});
