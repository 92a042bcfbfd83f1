import { hash } from 'node:crypto';
import { copyFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { icebergMetadata, icebergRead } from 'icebird';
import { ledgerPlace, STORES, type TestLedgerPlace, testRow } from '../../../test/support/ledger.js';
import { S3_BUCKET, S3_KEY, S3_REGION, s3Server, type TestS3Server } from '../../../test/support/s3-server.js';
import { type EvidencedLedger, openEvidencedLedger } from '../../../test/support/evidenced-ledger.js';
import { s3Files, type S3Options, type S3Place } from './s3.js';

const PREFIX = 'gate/prod';
const KEYS = `/${S3_BUCKET}/${PREFIX}/`;
const QUICK = { backoffMs: 1, timeoutMs: 30_000 };
const WIDE = { from: '2020-01-01T00:00:00.000Z', to: '2100-01-01T00:00:00.000Z' };

let server: TestS3Server;
const placeIn = (change: Partial<S3Place> = {}): S3Place => ({
  endpoint: server.url,
  bucket: S3_BUCKET,
  prefix: PREFIX,
  region: S3_REGION,
  ...S3_KEY,
  ...change,
});
const filesOf = (change: Partial<S3Place> = {}, options: S3Options = {}) =>
  s3Files(placeIn(change), { ...QUICK, ...options });
/** The stored keys, without the prefix. */
const stored = () => [...server.objects.keys()].map((key) => key.replace(KEYS, '')).toSorted();
const requests = () => server.log.map((line) => line.replace(KEYS, ''));

beforeEach(async () => {
  server = await s3Server({ readers: true });
});
afterEach(() => server.close());

describe('files in an S3-compatible store', () => {
  it('are written, created once and read, every request with a signature that the store finds to hold', async () => {
    const files = filesOf();
    expect(files.location).toBe(`s3://${S3_BUCKET}/${PREFIX}`);
    expect(await files.read('a/b.json')).toBeNull();
    await files.write('a/b.json', 'ü');
    await files.write('a/b.json', 'ü 2');
    expect(await files.read('a/b.json')).toBe('ü 2');
    expect(await files.create('a/b.json', 'other')).toBe(false);
    expect(await files.create('a/c.json', 'c')).toBe(true);
    await files.write('data/1.parquet', Uint8Array.of(0, 255, 1));
    expect(server.objects.get(`${KEYS}data/1.parquet`)).toEqual(Buffer.of(0, 255, 1));
    expect(await files.digest('data/1.parquet')).toBe(hash('sha256', Buffer.of(0, 255, 1), 'hex'));
    await expect(files.digest('data/2.parquet')).rejects.toThrow(/answered 404 NoSuchKey to GET/);
    expect(await files.read('a/b.json')).toBe('ü 2');
    expect(filesOf({ prefix: '' }, { uri: 'https://mirror/x/' }).location).toBe('https://mirror/x');
  });

  it('of writers that create one file at once, one is told that it did', async () => {
    const writers = Array.from({ length: 8 }, (_, index) => filesOf().create('metadata/v1.json', `writer ${index}`));
    const won = (await Promise.all(writers)).map((created, index) => (created ? `writer ${index}` : null));
    expect(won.filter((writer) => writer !== null)).toEqual([await filesOf().read('metadata/v1.json')]);
  });

  it('a passing fault is tried again, a lasting one is not, and neither for ever', async () => {
    server.fail({ status: 503, times: 2 });
    server.fail({ status: 409 });
    await filesOf().write('a', '1');
    expect(requests()).toEqual(['PUT a 503', 'PUT a 503', 'PUT a 409', 'PUT a 200']);
    server.fail({ status: 500, times: 4 });
    await expect(filesOf().read('a')).rejects.toMatchObject({ code: 'export_sink_unavailable', status: 503 });
    expect(requests().slice(4)).toEqual(Array(4).fill('GET a 500'));
    server.fail({ status: 501 });
    await expect(filesOf().create('b', '1')).rejects.toThrow(/answered 501 SlowDown to PUT/);
    expect(requests()).toHaveLength(9);
  });

  it('an object that is larger than any of ours is not read, and not asked for again', async () => {
    await filesOf().write('a.json', 'x'.repeat(200_000));
    const asked = requests().length;
    await expect(filesOf({}, { maxBytes: 100_000 }).read('a.json')).rejects.toThrow(
      /answered: the answer is larger than 100000 bytes to GET/,
    );
    expect(requests().length).toBe(asked + 1);
    expect(await filesOf({}, { maxBytes: 200_000 }).read('a.json')).toHaveLength(200_000);
  });

  it('a write whose answer was lost is there once', async () => {
    server.fail({ method: 'PUT', lost: true });
    await filesOf().write('a', '1');
    server.fail({ method: 'PUT', lost: true });
    expect(await filesOf().create('b', '1')).toBe(false);
    expect(await filesOf().read('b')).toBe('1');
  });

  it('waits so long and no longer', async () => {
    server.fail({ silent: true, times: 4 });
    await expect(filesOf({}, { timeoutMs: 50 }).read('a')).rejects.toThrow(/did not answer in time to GET/);
    server.fail({ silent: true });
    await filesOf({}, { timeoutMs: 3_000 }).write('a', '1');
    expect(requests().at(-1)).toBe('PUT a 200');
  });

  it.each<[string, Partial<S3Place>, RegExp]>([
    ['a wrong secret', { secretAccessKey: 'a-wrong-secret' }, /answered 403 SignatureDoesNotMatch to PUT/],
    ['an unknown key', { accessKeyId: 'AKIDNOBODY' }, /answered 403 InvalidAccessKeyId/],
    ['another region', { region: 'us-east-1' }, /answered 403 AuthorizationHeaderMalformed/],
    ['a bucket that is not there', { bucket: 'no-such-bucket' }, /answered 404 NoSuchBucket/],
  ])('%s is said without a secret', async (_what, change, message) => {
    const files = filesOf(change);
    for (const ask of [files.write('a', '1'), files.create('a', '1'), files.read('a')]) {
      const error = await ask.then(
        () => new Error('it was let through'),
        (thrown: unknown) => thrown as Error & { code?: string },
      );
      expect(error).toMatchObject({ code: 'export_sink_unavailable' });
      const text = `${error.message} ${JSON.stringify(error)} ${String(error.cause)}`;
      for (const secret of [S3_KEY.accessKeyId, S3_KEY.secretAccessKey, 'a-wrong-secret', 'AKIDNOBODY', 'StringToSign'])
        expect(text).not.toContain(secret);
    }
    await expect(files.write('a', '1')).rejects.toThrow(message);
    expect(stored()).toEqual([]);
  });

  it('follows no redirect, and says when nobody is there', async () => {
    server.fail({ status: 307, headers: { location: 'http://127.0.0.1:1/' } });
    await expect(filesOf().read('a')).rejects.toThrow(/answered 307/);
    const gone = filesOf();
    await server.close();
    await expect(gone.read('a')).rejects.toThrow(/did not answer \(ECONNREFUSED\) to GET/);
    server = await s3Server();
  });
});

describe.each(STORES)('the cold tier of %s in an S3-compatible store', (kind) => {
  let place: TestLedgerPlace;
  let ledger: EvidencedLedger;

  const open = (where: TestLedgerPlace, options: S3Options = {}) =>
    openEvidencedLedger({
      target: where.target,
      sidecarKeys: where.keys,
      coldSink: { files: filesOf({}, { uri: `${server.url}${KEYS}`, ...options }), retentionMs: 0 },
      clock: () => Date.now() + 1_000,
    });
  const append = (rows: number, to = ledger) => to.append(Array.from({ length: rows }, () => testRow()));
  const readTable = async () => {
    const tableUrl = `${server.url}${KEYS}`.slice(0, -1);
    return icebergRead({ tableUrl, metadata: await icebergMetadata({ tableUrl }) });
  };
  const seqs = async () => (await readTable()).map(({ seq }) => Number(seq));
  /** Makes the store refuse the record of an export. */
  const refuseRecords = async () => {
    if (kind === 'sqlite')
      await place.sql(
        "create trigger no_exports before insert on ledger_exports begin select raise(abort, 'no records'); end",
      );
    else await place.sql('alter table ledger_exports add constraint no_exports check (version < 0) not valid');
  };
  const takeRecords = async () => {
    if (kind === 'sqlite') await place.sql('drop trigger no_exports');
    else await place.sql('alter table ledger_exports drop constraint no_exports');
  };

  beforeEach(async () => {
    place = await ledgerPlace(kind);
    ledger = await open(place);
  });
  afterEach(async () => {
    await ledger.close();
    await place.remove();
  });

  it('is a table that icebird reads from the store itself', async () => {
    await append(5);
    const first = await ledger.coldTier.export();
    await append(3);
    const second = await ledger.coldTier.export();
    expect(await ledger.coldTier.export()).toBe('NothingToExport');
    const rows = await readTable();
    expect(rows.map(({ seq }) => Number(seq))).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(rows.at(-1)?.['entry_hash']).toBe((await ledger.head()).hash);
    expect(await ledger.coldTier.table(WIDE)).toMatchObject({
      row_count: 8,
      table: { location: `${server.url}${KEYS}`.slice(0, -1) },
      files: [(first as { Wrote: unknown }).Wrote, (second as { Wrote: unknown }).Wrote],
    });
    expect(stored().filter((key) => !/^(data|metadata)\/[0-9a-z.-]+\.(parquet|avro)$/.test(key))).toEqual([
      'metadata/owner.json',
      'metadata/v1.metadata.json',
      'metadata/v2.metadata.json',
      'metadata/version-hint.text',
    ]);
  });

  it('is compared with what was uploaded before an entry may go', async () => {
    await append(3);
    await ledger.coldTier.export();
    expect(await ledger.coldCopies.copiedThrough(0)).toBe(3);
    await ledger.coldCopies.copyCheck()(1, 3);
    const data = [...server.objects.keys()].find((key) => key.endsWith('.parquet')) ?? '';
    const bytes = server.objects.get(data) as Buffer;
    server.put(data, Buffer.concat([bytes, Buffer.of(0)]));
    await expect(ledger.coldCopies.copyCheck()(2, 2)).rejects.toThrow(/is not the file that was exported/);
    server.put(data, bytes);
    // A file that the table does not name is not a copy.
    const metadata = `${KEYS}metadata/v1.metadata.json`;
    server.put(metadata, Buffer.from('{"current-snapshot-id":1}'));
    await ledger.close();
    ledger = await open(place);
    await expect(ledger.coldCopies.copyCheck()(1, 3)).rejects.toThrow(/has a version 1 that this ledger/);
  });

  it('leaves objects that nobody names when it ends between the upload and the commit', async () => {
    await append(2);
    await ledger.coldTier.export();
    await append(1);
    const before = stored();
    const [metadata, hint] = ['metadata/v1.metadata.json', 'metadata/version-hint.text'].map((file) =>
      server.objects.get(KEYS + file),
    );
    await refuseRecords();
    await expect(ledger.coldTier.export()).rejects.toMatchObject({ code: 'ledger_store_unavailable' });
    await takeRecords();
    expect(stored().length).toBe(before.length + 3);
    expect(stored()).not.toContain('metadata/v2.metadata.json');
    expect([metadata, hint]).toEqual([server.objects.get(`${KEYS}metadata/v1.metadata.json`), Buffer.from('1')]);
    expect(await seqs()).toEqual([1, 2]);
    expect(await ledger.coldTier.exports()).toHaveLength(1);
    await ledger.coldTier.export();
    expect(await seqs()).toEqual([1, 2, 3]);
  });

  it('makes its table whole again after a commit whose metadata did not get through', async () => {
    await append(2);
    server.fail({ method: 'PUT', path: 'v1.metadata.json', status: 403 });
    await expect(ledger.coldTier.export()).rejects.toMatchObject({ code: 'export_sink_unavailable' });
    expect(await ledger.coldTier.exports()).toHaveLength(1);
    // The answer to the second attempt is lost; the third attempt finds its own file.
    server.fail({ method: 'PUT', path: 'v1.metadata.json', lost: true });
    expect(await ledger.coldTier.export()).toBe('NothingToExport');
    expect(await seqs()).toEqual([1, 2]);
  });

  it('two processes of one ledger commit each version once', async () => {
    const twin = await open(place);
    try {
      for (let version = 1; version <= 4; version++) {
        await append(2);
        const passes = await Promise.allSettled([ledger.coldTier.export(), twin.coldTier.export()]);
        expect(passes.some(({ status }) => status === 'fulfilled')).toBe(true);
        await ledger.coldTier.export();
        expect((await ledger.coldTier.exports())[0]).toMatchObject({ seq_hi: version * 2 });
        expect(await seqs()).toEqual(Array.from({ length: version * 2 }, (_, index) => index + 1));
      }
    } finally {
      await twin.close();
    }
  });

  it('two ledgers never share a place: the second uploads nothing', async () => {
    const elsewhere = await ledgerPlace('sqlite');
    const other = await open(elsewhere);
    try {
      await append(1);
      await append(1, other);
      const passes = await Promise.allSettled([ledger.coldTier.export(), other.coldTier.export()]);
      const refused = passes.filter((pass) => pass.status === 'rejected');
      expect(refused).toHaveLength(1);
      expect(refused[0]?.reason).toMatchObject({
        code: 'export_sink_unavailable',
        message: expect.stringContaining('holds the table of another ledger'),
      });
      expect(await readTable()).toHaveLength(1);
      expect(stored().filter((key) => key.startsWith('data/'))).toHaveLength(1);
      expect((await Promise.all([ledger, other].map(({ coldTier }) => coldTier.exports()))).flat()).toHaveLength(1);
    } finally {
      await other.close();
      await elsewhere.remove();
    }
  });

  it('refuses a store that takes a conditional write twice, before anything is exported', async () => {
    await server.close();
    server = await s3Server({ unconditional: true });
    await ledger.close();
    ledger = await open(place);
    await append(1);
    await expect(ledger.coldTier.export()).rejects.toMatchObject({
      code: 'export_sink_unavailable',
      message: expect.stringContaining('takes a conditional write (If-None-Match) twice'),
    });
    expect(stored()).toEqual(['metadata/owner.json']);
    expect(await ledger.coldTier.exports()).toEqual([]);
  });
});

describe('two copies of one ledger that export to one place', () => {
  let places: TestLedgerPlace[];
  let copies: [EvidencedLedger, EvidencedLedger];
  const isAhead = expect.objectContaining({
    code: 'export_sink_unavailable',
    message: expect.stringMatching(/has a version 1 that this ledger, which knows 0, did not make/),
  });

  beforeEach(async () => {
    places = [await ledgerPlace('sqlite'), await ledgerPlace('sqlite')];
    const [place, copy] = places as [TestLedgerPlace, TestLedgerPlace];
    const coldSink = { files: filesOf({}, { uri: `${server.url}${KEYS}` }), retentionMs: 0 };
    const options = { sidecarKeys: place.keys, coldSink, clock: () => Date.now() + 1_000 };
    const ledger = await openEvidencedLedger({ target: place.target, ...options });
    await ledger.append([testRow()]);
    await ledger.close();
    copyFileSync((place.target as { file: string }).file, (copy.target as { file: string }).file);
    copies = [
      await openEvidencedLedger({ target: place.target, ...options }),
      await openEvidencedLedger({ target: copy.target, ...options }),
    ];
    for (const ledgers of copies) await ledgers.append([testRow()]);
  });
  afterEach(async () => {
    for (const copy of copies) await copy.close();
    for (const place of places) await place.remove();
  });

  it('the second replaces nothing and records nothing', async () => {
    const [one, two] = copies;
    await one.coldTier.export();
    const before = new Map(server.objects);
    await expect(two.coldTier.export()).rejects.toEqual(isAhead);
    expect(new Map(server.objects)).toEqual(before);
    expect(await two.coldTier.exports()).toEqual([]);
  });

  it('of two at the very same moment one makes the version, and keeps it', async () => {
    const passes = await Promise.allSettled(copies.map(({ coldTier }) => coldTier.export()));
    expect(passes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const made = server.objects.get(`${KEYS}metadata/v1.metadata.json`);
    const loser = copies[passes.findIndex(({ status }) => status === 'rejected')] as EvidencedLedger;
    await expect(loser.coldTier.export()).rejects.toMatchObject({ code: 'export_sink_unavailable' });
    expect(server.objects.get(`${KEYS}metadata/v1.metadata.json`)).toBe(made);
    const tableUrl = `${server.url}${KEYS}`.slice(0, -1);
    expect(await icebergRead({ tableUrl, metadata: await icebergMetadata({ tableUrl }) })).toHaveLength(2);
  });
});
