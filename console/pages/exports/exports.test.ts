import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { verifyRegulatoryBundle } from '../../../adapters/evidence/regulatory/verify-bundle.js';
import type { NewLedgerRow } from '../../../contracts/ledger.js';
import { keyFileSigner } from '../../../domain/ledger/signatures/blob-signer.js';
import { type ConsoleOverLedger, consoleOverLedger } from '../../../test/support/console-over-ledger.js';
import { unpack } from '../../../test/support/bundle.js';
import { testRow } from '../../../test/support/ledger.js';
import { ledgerService, type TestLedgerService } from '../../../test/support/ledger-service.js';
import { eventually } from '../../../test/support/waiting.js';
import { fieldsIn, wordsIn } from '../../../test/support/html.js';

const WINDOW = { from: '2020-01-01', to: '2100-01-01 00:00' };
const key = generateKeyPairSync('ed25519');

let gate: TestLedgerService;
let page: ConsoleOverLedger;
let folder: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gate-exports-'));
  const signer = keyFileSigner({
    privateKey: key.privateKey,
    keyId: 'gate-ledger:v1',
    issuer: 'spiffe://gate.local/service/ledger',
    clock: Date.now,
  });
  gate = await ledgerService('sqlite', {
    ledger: { signer, keySet: signer.keySet, coldPlace: { at: { directory: join(folder, 'cold') }, retentionMs: 0 } },
  });
  page = consoleOverLedger(() => gate);
});
afterEach(async () => {
  await page.close();
  await gate.close();
  rmSync(folder, { recursive: true, force: true });
});
const append = (...rows: Partial<NewLedgerRow>[]) => gate.ledger.append(rows.map((row) => testRow(row)));
const text = async (path = '/exports') => (await page.get(path)).text;

describe('the exports', () => {
  it('copy old rows for an administrator, and list what was copied', async () => {
    await append({}, { tenant: 'globex' });
    // What a press copies is said before it.
    expect(await text()).toContain('It copies every row, <strong>of every tenant</strong>');
    const ran = await page.post('/exports/run');
    expect([ran.status, ran.headers['location']]).toEqual([
      303,
      expect.stringMatching(/^\/exports\?came=[0-9a-f-]{36}$/),
    ]);
    const found = await text(String(ran.headers['location']));
    expect(found).toContain('Copied.');
    expect(wordsIn(found)).toMatch(/ 2 1 to 2 /);
    expect(found).toContain('file://');
    expect((await page.post('/exports/run')).headers['location']).toBe('/exports?came=nothing');
    expect(await text('/exports?came=nothing')).toContain('No row is old enough');
  });

  it.each(['your password ended: call 555', '99999999-9999-4999-8999-999999999999', '[object Object]'])(
    'tell of no copy that the ledger does not have: %j',
    async (came) => {
      await append({});
      await page.post('/exports/run');
      const found = await page.get(`/exports?${new URLSearchParams({ came }).toString()}`);
      expect([found.status, found.text.replaceAll(/[0-9a-f]{64}/g, '')]).toEqual([
        200,
        expect.not.stringMatching(/Copied\.|555|99999999/),
      ]);
    },
  );

  it.each(['viewer', 'approver'] as const)('only show a %s what was copied, and not where', async (role) => {
    await append({});
    await page.post('/exports/run');
    page.role = role;
    const found = await text();
    expect(found).toContain('1 to 1');
    expect(found).not.toMatch(/file:\/\/|<button[^>]*>(?:Copy|Make)/);
    for (const path of ['/exports/run', '/exports/regulatory'])
      expect([path, (await page.post(path, WINDOW)).status]).toEqual([path, 403]);
  });

  it('say that there is no place for copies where none is set, and have the rest', async () => {
    const bare = await ledgerService('sqlite');
    const over = consoleOverLedger(() => bare);
    const found = await over.get('/exports');
    expect([found.status, found.text]).toEqual([200, expect.stringContaining('Make the archive')]);
    expect(found.text).not.toContain('is away');
    const ran = await over.post('/exports/run');
    expect([ran.status, ran.text]).toEqual([503, expect.stringContaining('export_sink_unavailable')]);
    await over.close();
    await bare.close();
  });

  it('say that the ledger is away, and copy nothing then', async () => {
    page.ledgerIsAway = true;
    expect(await text()).toContain('The ledger is away');
    for (const path of ['/exports/run', '/exports/regulatory']) {
      const { status, text: said } = await page.post(path, WINDOW);
      expect([status, said]).toEqual([503, expect.stringContaining('console_neighbour_away')]);
    }
  });
});

describe('the archive for an auditor', () => {
  it('holds the rows of the person’s tenant alone, signed, with what was ticked', async () => {
    await append({}, { tenant: 'globex', reasoning: 'globex only' }, {});
    const asked = { ...WINDOW, tenant: 'globex', compliance: 'yes', annex: 'yes', documentation: '# Ours\r\n' };
    const { status, headers, bytes } = await page.post('/exports/regulatory', asked);
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([200, 'application/gzip', 'no-store']);
    expect(headers['content-disposition']).toBe('attachment; filename="gate-acme-2020-01-01-2100-01-01.tar.gz"');
    const file = join(folder, 'bundle.tar.gz');
    writeFileSync(file, bytes);
    const publicKeyPem = createPublicKey(key.privateKey).export({ type: 'spki', format: 'pem' }).toString();
    expect(await verifyRegulatoryBundle(file, { publicKeyPem })).toMatchObject({ valid: true });
    const files = unpack(bytes);
    expect([...files.keys()].join(' ')).toMatch(/compliance.*annex|annex.*compliance/);
    expect([...files.values()].join('')).not.toContain('globex only');
    expect([...files.values()].join('')).toContain('# Ours');
  });

  it('is of the own tenant for another tenant’s person', async () => {
    await append({});
    const { bytes } = await page.post('/exports/regulatory', { ...WINDOW, tenant: 'acme' }, { as: 'globex' });
    expect(JSON.parse(String(unpack(bytes).get('manifest.json')))).toMatchObject({ tenant: 'globex' });
  });

  it.each([
    ['no end', { from: '2020-01-01' }],
    ['an end before its start', { from: '2021-01-01', to: '2020-01-01' }],
    ['words', { from: 'yesterday', to: 'today' }],
  ])('is refused with %s, and what was typed stays', async (_, fields) => {
    const { status, text: said } = await page.post('/exports/regulatory', { ...fields, annex: 'yes' });
    expect([status, said]).toEqual([400, expect.stringContaining('invalid_window')]);
    expect(fieldsIn(said)).toMatchObject({ from: fields.from, annex: 'yes' });
  });

  it('is made once at a time for a tenant, and again when it was read or given up', async () => {
    await append({});
    let goOn = () => undefined as void;
    page.reading = async function* (parts) {
      yield* parts;
      await new Promise<void>((resolve) => (goOn = resolve));
    } as NonNullable<typeof page.reading>;
    let isRead = false;
    const first = page.post('/exports/regulatory', WINDOW).then(() => (isRead = true));
    await eventually('the ledger to be asked', () => page.asked.some((path) => path.startsWith('/export/regulatory')));
    const second = await page.post('/exports/regulatory', WINDOW);
    expect([second.status, second.text]).toEqual([429, expect.stringContaining('rate_limited')]);
    await eventually('the file to be read', () => {
      goOn();
      return isRead;
    });
    await first;
    page.reading = null;
    expect((await page.post('/exports/regulatory', WINDOW)).status).toBe(200);
  });
});

describe('the register by control', () => {
  it('counts what the log holds of the person’s tenant, and never says that it suffices', async () => {
    await append({ authorized: false, policy_decision: { outcome: 'deny' } }, { tenant: 'globex' });
    const found = await text('/compliance?from=2020-01-01&to=2100-01-01');
    const words = wordsIn(found);
    expect(words).toMatch(/Rows 1 /);
    expect(words).toContain('2 rows walked');
    expect(words).toMatch(/observed|no data/);
    expect(words).not.toMatch(/\b(?:is|are) (?:compliant|satisfied)/i);
    expect(page.asked).toContain(
      '/compliance/evidence?tenant=acme&from=2020-01-01T00%3A00%3A00Z&to=2100-01-01T00%3A00%3A00Z',
    );
  });

  it('shows what agents wrote as text', async () => {
    await append({
      authorized: false,
      signal: '<script>alert(1)</script>\u202e',
      policy_decision: { outcome: 'deny' },
    });
    const found = await text('/compliance?from=2020-01-01&to=2100-01-01');
    expect(found).toContain('&lt;script>alert(1)&lt;/script>\\u{202e}');
    expect(found).not.toMatch(/<script>alert|\u202e/);
  });

  it('is counted once at a time for a tenant, and the walk of another one does not wait', async () => {
    await append({});
    const path = '/compliance?from=2020-01-01&to=2100-01-01';
    const asked = await Promise.all([page.get(path), page.get(path), page.get(path, { as: 'globex' })]);
    expect(asked.map(({ status }) => status)).toEqual([200, 429, 200]);
    expect(asked[1]?.text).toContain('rate_limited');
    expect((await page.get(path)).status).toBe(200);
  });

  it('counts nothing before it is asked, and says why a window is none', async () => {
    await text('/compliance');
    expect(page.asked).toEqual([]);
    for (const query of ['from=2020-01-01', 'from=x&to=y']) {
      const found = await page.get(`/compliance?${query}`);
      expect([found.status, found.text]).toEqual([400, expect.stringContaining('invalid_window')]);
    }
    page.ledgerIsAway = true;
    expect(await text('/compliance?from=2020-01-01&to=2100-01-01')).toContain('The ledger is away');
  });
});

const FORMULA = /[=+\-@\uff1d]/;
/** What each piece begins with that a reader makes who divides at a sign and at the end of a line, whatever stands in quotes. */
const firstsOf = (file: string, divider: string): string[] =>
  file.split(new RegExp(`[${divider}\r\n]`)).map((piece) => /[^"\s\p{Cc}]/u.exec(piece)?.[0] ?? '');

describe('rows as CSV', () => {
  it('are of the own tenant, newest first, with a last line that says that they are all', async () => {
    await append({}, { tenant: 'globex' }, { tool_name: 'a,"b"\nc' });
    const { headers, text: file } = await page.get('/audit/export?as=csv');
    expect([headers['content-type'], headers['content-disposition']]).toEqual([
      'text/csv; charset=utf-8',
      'attachment; filename="gate-audit.csv"',
    ]);
    const lines = file.split('\r\n');
    expect(lines[0]).toMatch(/^seq,timestamp,event,agent_id,tool,/);
    expect(lines.slice(1).map((line) => line.split(',')[0])).toEqual(['3', '1', 'export complete', '']);
    expect(lines[1]).toContain('"a,""b""\nc"');
  });

  it.each(['=1+1', '+1', '-1', '@x', '\u0001=1', '  =1', '\uff1d1'])('run no formula: %j', async (words) => {
    await append({ reasoning: words, tool_name: null });
    const { text: file } = await page.get('/audit/export?as=csv');
    expect(file).toContain(`'${words.trimStart().replace('\u0001', '')},`);
    expect(firstsOf(file, ';').filter((sign) => FORMULA.test(sign))).toEqual([]);
  });

  it.each([
    ['x;=cmd|1', `"x;'=cmd|1"`],
    ['x\t=1+1', `"x\t'=1+1"`],
    ['\t=1', `"\t'=1"`],
    ['a\n=1+1', `"a\n'=1+1"`],
    ['x;"=1+1', `"x;""'=1+1"`],
    ['x; -1', `"x; '-1"`],
    ['a = b, -1 of c@d', '"a = b, -1 of c@d"'],
  ])('run none in a second cell either, where a spreadsheet divides at ; or a tab: %j', async (words, cell) => {
    await append({ agent_id: 'bot"', reasoning: words, tool_name: null });
    const { text: file } = await page.get('/audit/export?as=csv');
    expect(file).toContain(`,${cell},`);
    for (const divider of [';', '\t']) expect(firstsOf(file, divider).filter((sign) => FORMULA.test(sign))).toEqual([]);
  });
});
