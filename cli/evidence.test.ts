import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type WholeLedger, openLedger } from '../test/support/whole-ledger.js';
import { openLedgerReadOnly } from '../adapters/ledger/read-only.js';
import { parseCheckpoint, signCheckpoint } from '../domain/ledger/tlog/checkpoint.js';
import { cosign, formatVkey, noteKey } from '../domain/ledger/tlog/note.js';
import type { TransparencyLog } from '../adapters/ledger/tlog/transparency-log.js';
import { commandLine } from '../test/support/command.js';
import { ledgerPlace, type TestLedgerPlace, testRow } from '../test/support/ledger.js';
import { type FileLogOptions, proveEntry, proverOver, verdictText, verifyEvidence, withLogOfFile } from './evidence.js';

let folder: string;
let place: TestLedgerPlace;
let ledger: WholeLedger;
let log: TransparencyLog;
const ledgerKey = generateKeyPairSync('ed25519');

/** Answers like the ledger's routes. */
const ask = async <Answer>(path: string): Promise<Answer> => {
  const { pathname, searchParams } = new URL(path, 'http://ledger');
  const number = (name: string) => Number(searchParams.get(name));
  const id = searchParams.get('id');
  const answer =
    pathname === '/proof/inclusion'
      ? await log.inclusion(id === null ? { seq: number('seq') } : { id })
      : await log.consistency(number('from'), number('to'));
  return answer as Answer;
};
const write = (name: string, content: unknown): string => {
  const file = join(folder, name);
  writeFileSync(file, typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content));
  return file;
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gate-evidence-'));
  place = await ledgerPlace('sqlite');
  ledger = await openLedger({
    target: place.target,
    sidecarKeys: place.keys,
    checkpoints: { origin: 'gate.test', privateKey: ledgerKey.privateKey, witnesses: [] },
  });
  log = ledger.transparency as TransparencyLog;
});
afterAll(async () => {
  await ledger.close();
  await place.remove();
  rmSync(folder, { recursive: true, force: true });
});

describe('gate prove and gate verify --bundle', () => {
  it('what one writes the other finds to hold, by seq and by id, with a checkpoint that was kept', async () => {
    await ledger.append([testRow(), testRow()]);
    const kept = (await ask<{ checkpoint: string }>('/proof/inclusion?seq=2')).checkpoint;
    const [third] = await ledger.append([testRow()]);
    const bundle = await proveEntry(proverOver(ask), { id: third?.id ?? '' }, kept);
    const file = write('bundle.json', bundle);
    const verdict = await verifyEvidence(file, { key: log.vkey });
    expect(verdictText(verdict)).toMatch(
      /^ok {6}row: seq 3.*\nok {6}checkpoint: gate\.test, 3 entries.*\nok {6}inclusion: entry 3 of 3\nok {6}consistency: the 3 entries begin with the 2 .*\nthe bundle holds\n$/,
    );
    expect((await verifyEvidence(file, { key: write('log.vkey', `${log.vkey}\n`) })).valid).toBe(true);
    await expect(proveEntry(proverOver(ask), { seq: 1 }, 'no checkpoint')).rejects.toThrow('--since');
    const longer = kept.replace('\n2\n', '\n9\n');
    await expect(proveEntry(proverOver(ask), { seq: 1 }, longer)).rejects.toMatchObject({ exitCode: 2 });
  });

  it('proves nothing by the key that came with the bundle: whoever makes one puts his own in', async () => {
    const forger = await ledgerPlace('sqlite');
    const stranger = generateKeyPairSync('ed25519');
    const forged = await openLedger({
      target: forger.target,
      sidecarKeys: forger.keys,
      checkpoints: { origin: 'gate.test', privateKey: stranger.privateKey, witnesses: [] },
    });
    await forged.append([testRow({ authorized: true, reasoning: 'this never was' })]);
    const file = write('forged.json', await proveEntry(forged.transparency as TransparencyLog, { seq: 1 }));
    await forged.close();
    await forger.remove();

    const alone = await verifyEvidence(file, {});
    expect(alone).toMatchObject({ valid: true, proved: false });
    expect(verdictText(alone)).toMatch(/\nNOT PROVED: .*--key.*--trusted-logs.*--witness.*\n$/);
    // A trusted log with the same name but another key proves nothing either.
    expect(verdictText(await verifyEvidence(file, { key: log.vkey }))).toMatch(/BROKEN {2}checkpoint.*\nINVALID/s);
    // A quorum of zero proves nothing.
    const witness = formatVkey(noteKey('w', stranger.publicKey, 'cosignature'));
    expect(await verifyEvidence(file, { witness: [witness], witnesses: 0 })).toMatchObject({ proved: false });
    expect(await verifyEvidence(file, { witness: [witness], witnesses: 1 })).toMatchObject({ valid: false });
  });

  it('is proved by a list of trusted logs, and by the public key that its operator published', async () => {
    const file = write('listed.json', await proveEntry(proverOver(ask), { seq: 1 }));
    const other = formatVkey(noteKey('other.example', generateKeyPairSync('ed25519').publicKey));
    const trustedLogs = write('logs', `# logs we trust\n\n${other}\n${log.vkey}\n`);
    expect(await verifyEvidence(file, { trustedLogs })).toMatchObject({ valid: true, proved: true });
    const published = ledgerKey.publicKey.export({ type: 'spki', format: 'pem' }).toString();
    expect(await verifyEvidence(file, { key: write('log.pub', published) })).toMatchObject({ proved: true });
    const strange = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString();
    expect(await verifyEvidence(file, { key: write('strange.pub', strange) })).toMatchObject({ valid: false });

    const unlisted = await verifyEvidence(file, { trustedLogs: write('others', other) });
    expect(verdictText(unlisted)).toContain('the checkpoint is of gate.test, the key of other.example');
    await expect(verifyEvidence(file, { trustedLogs: write('empty', '# nobody\n') })).rejects.toThrow(
      'names no log that is trusted',
    );
    await expect(verifyEvidence(file, { trustedLogs: write('bad', 'what is this\n') })).rejects.toThrow(
      'not a verifier key',
    );
  });

  it('says what is broken', async () => {
    const bundle = await proveEntry(proverOver(ask), { seq: 1 });
    const file = write('changed.json', { ...bundle, entry: { ...bundle.entry, authorized: false } });
    const verdict = await verifyEvidence(file, { key: log.vkey });
    expect(verdict.valid).toBe(false);
    expect(verdictText(verdict)).toBe(
      'BROKEN  row: the row does not hash to its entry_hash\nINVALID: this is not what was signed\n',
    );
  });

  it('is broken where a member stands twice, and only the last is what was signed', async () => {
    const text = JSON.stringify(await proveEntry(proverOver(ask), { seq: 1 }));
    for (const [before, forged] of [
      ['"entry":{', '"entry":{"reasoning":"nobody \\ud800 was asked",'],
      ['{', '{"entry":null,'],
      ['"entry":{', '"entry":{"reas\\u006fning":"nobody was asked",'],
    ] as const) {
      const verdict = await verifyEvidence(write('twice.json', text.replace(before, forged)), { key: log.vkey });
      expect(verdictText(verdict)).toMatch(/^BROKEN {2}JSON: duplicate key "(reasoning|entry)"\nINVALID: /);
      expect(verdict.proved).toBe(false);
    }
    expect(await verifyEvidence(write('once.json', text), { key: log.vkey })).toMatchObject({ proved: true });
  });

  it('what is no evidence is an error and no verdict', async () => {
    const of = (file: string, trust = {}) => verifyEvidence(file, trust);
    await expect(of(join(folder, 'none'))).rejects.toMatchObject({
      exitCode: 1,
      message: expect.stringContaining('there is no such file'),
    });
    await expect(of(write('text', 'hello'))).rejects.toThrow('neither a proof bundle');
    await expect(of(write('half.json', '{"contract":'))).rejects.toThrow('not JSON');
    await expect(of(write('other.json', {}))).rejects.toThrow('not a proof bundle');
    await expect(of(write('bundle.tar.gz', Buffer.from([0x1f, 0x8b, 8])))).rejects.toThrow('regulatory bundle');
    await expect(of(write('ok.json', await proveEntry(proverOver(ask), { seq: 1 })), { key: 'x' })).rejects.toThrow(
      'not a verifier key',
    );
  });
});

describe('gate prove on a ledger file', () => {
  const pem = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString();
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const signing = pem(privateKey);
  const vkey = (origin = 'gate.local/ledger') => formatVkey(noteKey(origin, publicKey));
  let own: TestLedgerPlace;
  let file: string;

  beforeEach(async () => {
    own = await ledgerPlace('sqlite');
    ({ file } = own.target as { file: string });
  });
  afterEach(() => own.remove());

  /** Opens a ledger over the file. Without a key it signs nothing, as in lite. */
  const running = async (
    work: (opened: WholeLedger) => Promise<unknown>,
    checkpoints?: { origin: string; privateKey: KeyObject; witnesses: ReturnType<typeof noteKey>[] },
  ) => {
    const opened = await openLedger({ target: own.target, sidecarKeys: own.keys, ...(checkpoints && { checkpoints }) });
    await work(opened);
    await opened.close();
  };
  const append = (rows: number) => (opened: WholeLedger) =>
    opened.append(Array.from({ length: rows }, () => testRow()));
  const prove = async (seq: number, by: FileLogOptions, since?: string) => {
    const opened = openLedgerReadOnly(file, { sidecarKeys: own.keys });
    try {
      return await withLogOfFile(opened, file, by, (log) => proveEntry(log, { seq }, since));
    } finally {
      await opened.close();
    }
  };
  const inFolder = () =>
    readdirSync(dirname(file)).map((name) => [name, readFileSync(join(dirname(file), name), 'hex')]);

  it('signs a checkpoint over all entries with the key it is given, and changes no byte of the file', async () => {
    await running(append(400));
    await running(append(300));
    const before = inFolder();
    const written = write('lite.json', await prove(513, { key: signing }));
    expect(inFolder()).toEqual(before);
    expect(verdictText(await verifyEvidence(written, { key: vkey() }))).toMatch(
      /^ok {6}row: seq 513.*\nok {6}checkpoint: gate\.local\/ledger, 700 entries.*\nok {6}inclusion: entry 513 of 700\nthe bundle holds\n$/,
    );
    // The key may be in a file, and the log may have another name.
    const named = await prove(1, { key: write('log.pem', signing), origin: 'example.org/gate' });
    expect((await verifyEvidence(write('named.json', named), { key: vkey('example.org/gate') })).valid).toBe(true);
    for (const seq of [1, 256, 257, 512, 700])
      expect((await prove(seq, { key: signing })).inclusion).toMatchObject({ seq, tree_size: 700 });
  });

  it('proves that the file only grew since a checkpoint that was kept', async () => {
    await running(append(300));
    const { checkpoint: kept } = await prove(1, { key: signing });
    await running(append(300));
    const written = write('grown.json', await prove(600, { key: signing }, kept));
    expect(verdictText(await verifyEvidence(written, { key: vkey() }))).toContain(
      'ok      consistency: the 600 entries begin with the 300 of the older checkpoint',
    );
    // A checkpoint of another history, or signed by somebody else, is no earlier state of this log, so no bundle is made.
    const other = await signCheckpoint(
      { origin: 'gate.local/ledger', size: 300, root: Buffer.alloc(32, 7) },
      privateKey,
    );
    await expect(prove(600, { key: signing }, other)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('consistency'),
    });
    const stranger = pem(generateKeyPairSync('ed25519').privateKey);
    await expect(prove(600, { key: stranger }, kept)).rejects.toMatchObject({ exitCode: 2 });
  });

  it('takes the newest checkpoint in the file, cosignatures included, where only its verifier key is given', async () => {
    const witness = generateKeyPairSync('ed25519');
    const witnessKey = noteKey('witness.example', witness.publicKey, 'cosignature');
    const checkpoints = { origin: 'gate.local/ledger', privateKey, witnesses: [witnessKey] };
    await running(async (opened) => {
      await append(300)(opened);
      const note = await (opened.transparency as TransparencyLog).checkpoint();
      const line = cosign(parseCheckpoint(note).note.text, 'witness.example', witness.privateKey, 1_700_000_000);
      await (opened.transparency as TransparencyLog).cosign(`${note}${line}\n`);
      await append(10)(opened);
    }, checkpoints);
    const bundle = await prove(300, { key: vkey() });
    expect(bundle.inclusion.tree_size).toBe(300);
    const published = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    expect(await prove(300, { key: published })).toEqual(bundle);
    const trust = { key: vkey(), witness: [formatVkey(witnessKey)], witnesses: 1 };
    expect((await verifyEvidence(write('cosigned.json', bundle), trust)).valid).toBe(true);
    await expect(prove(301, { key: vkey() })).rejects.toMatchObject({
      exitCode: 1,
      message: expect.stringContaining('entry 301 is not in a tree of 300 entries'),
    });
    // The private key signs what was appended since, under the same name.
    expect(await prove(310, { key: signing })).toMatchObject({ log_key: vkey(), inclusion: { tree_size: 310 } });
    await expect(prove(1, {})).rejects.toMatchObject({
      exitCode: 1,
      message: expect.stringMatching(/has a checkpoint of gate\.local\/ledger over 300 entries; give --key/),
    });
    const elsewhere = formatVkey(noteKey('gate.local/ledger', generateKeyPairSync('ed25519').publicKey));
    await expect(prove(1, { key: elsewhere })).rejects.toThrow(/no checkpoint by .* is stored/);
  });

  it('reads a file while a ledger runs on it', async () => {
    await running(async (opened) => {
      await append(3)(opened);
      expect((await prove(3, { key: signing })).inclusion.tree_size).toBe(3);
      await append(1)(opened);
      expect((await prove(4, { key: signing })).inclusion.tree_size).toBe(4);
      expect(await opened.verify()).toMatchObject({ valid: true, entries_checked: 4 });
    });
  });

  it('of before there were checkpoints too, and a row that is hidden without its content', async () => {
    await running(async (opened) => {
      await append(2)(opened);
      await opened.erasure.tombstoneTenant('acme');
    });
    await own.unlock();
    for (const table of ['ledger_cosignatures', 'ledger_checkpoints', 'ledger_tree_nodes'])
      await own.sql(`drop table ${table}`);
    const bundle = await prove(2, { key: signing });
    expect(bundle.entry).toBeNull();
    expect((await verifyEvidence(write('hidden.json', bundle), { key: vkey() })).valid).toBe(true);
  });

  it('signs nothing over a chain that does not hold, nor over another one than was signed before', async () => {
    const checkpoints = { origin: 'gate.local/ledger', privateKey, witnesses: [] };
    await running(async (opened) => {
      await append(5)(opened);
      await (opened.transparency as TransparencyLog).checkpoint();
    }, checkpoints);
    await own.unlock();
    const put = (size: number, note: string) =>
      own.sql('update ledger_checkpoints set tree_size = ?, note = ?', [size, note]);
    const refused = (message: RegExp) =>
      expect(prove(1, { key: signing })).rejects.toMatchObject({
        exitCode: 2,
        message: expect.stringMatching(message),
      });
    const root = Buffer.alloc(32, 7);
    await put(5, await signCheckpoint({ origin: 'gate.local/ledger', size: 5, root }, privateKey));
    await refused(/the first 5 entries are not those of the checkpoint that was signed/);
    // Whoever signed it: a log has only one history.
    await put(
      5,
      await signCheckpoint({ origin: 'gate.local/ledger', size: 5, root }, generateKeyPairSync('ed25519').privateKey),
    );
    await refused(/the first 5 entries are not those of the checkpoint that was signed/);
    await put(9, await signCheckpoint({ origin: 'gate.local/ledger', size: 9, root }, privateKey));
    await refused(/a checkpoint over 9 entries was signed, the chain has 5/);
    await put(5, 'no checkpoint');
    await refused(/cannot be read/);
    await own.sql('delete from ledger_checkpoints');
    await own.sql('update ledger_entries set authorized = 0 where seq = 4');
    await refused(/the chain does not hold at seq 4/);
  });

  it('says what is missing in one line', async () => {
    await running(append(1));
    const refused = (by: FileLogOptions, message: RegExp) =>
      expect(prove(1, by)).rejects.toMatchObject({ exitCode: 1, message: expect.stringMatching(message) });
    await refused(
      {},
      /has no signed checkpoint; give --key with an Ed25519 key \(PEM\) to sign one; .*openssl genpkey -algorithm ed25519 -out log\.pem.* makes one$/,
    );
    await refused({ key: vkey() }, /no checkpoint by .* is stored, and no key to sign one with was given$/);
    await refused({ key: 'neither' }, /no file of that name is here, and it is not a verifier key/);
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
    await refused({ key: pem(rsa) }, /^[^\n]*--key: no Ed25519 key in PEM[^\n]*$/);
    await refused({ key: write('rsa.pem', pem(rsa)) }, /--key \S*rsa\.pem: no Ed25519 key in PEM/);
    await refused({ key: signing, origin: 'two words' }, /--origin is no name/);
    await expect(prove(2, { key: signing })).rejects.toThrow('there is no such entry');
  });

  it('as it is typed: checkpoint, prove, verify', async () => {
    await running(append(3));
    const line = commandLine(() => folder);
    const [key, trusted] = [write('typed.pem', signing), write('typed.vkey', vkey())];
    const of = ['--ledger', file, '--key', key];
    expect(await line.done(['checkpoint', ...of, '--out', 'typed.checkpoint'])).toMatchObject({ code: 0 });
    for (const args of [['checkpoint'], ['prove', '1']])
      expect(await line.done([...args, ...of, '--out', 'none/x'])).toEqual({
        code: 1,
        out: 'gate: none/x cannot be written (ENOENT)\n',
      });
    const proved = await line.done(['prove', '2', ...of, '--out', 'typed.json', '--since', 'typed.checkpoint']);
    expect(proved).toEqual({ code: 0, out: 'typed.json: entry 2 in a log of 3 entries\n' });
    const verdict = await line.done(['verify', '--bundle', 'typed.json', '--key', trusted]);
    expect(verdict).toMatchObject({ code: 0, out: expect.stringContaining('the bundle holds') });
    const blind = await line.done(['verify', '--bundle', 'typed.json']);
    expect(blind).toMatchObject({ code: 2, out: expect.stringContaining('NOT PROVED') });
    const listed = await line.done(['verify', '--bundle', 'typed.json'], { GATE_TRUSTED_LOGS: trusted });
    expect(listed).toMatchObject({ code: 0, out: expect.stringContaining('the bundle holds') });
    const bare = await line.done(['prove', '2', '--ledger', file, '--out', 'bare.json']);
    expect(bare).toEqual({
      code: 1,
      out: expect.stringMatching(/^gate: .* has no signed checkpoint; give --key .*\n$/),
    });
    expect(readdirSync(folder)).not.toContain('bare.json');
    const stack = await line.done(['prove', '2', '--key', key, '--out', 'bare.json']);
    expect(stack).toMatchObject({ code: 2, out: expect.stringContaining('give --ledger, too') });
  }, 60_000);
});
