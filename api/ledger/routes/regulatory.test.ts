import { execFileSync } from 'node:child_process';
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { LedgerOptions } from '../../../adapters/ledger/ledger-store.js';
import type { Manifest } from '../../../domain/evidence/regulatory/manifest.js';
import { verifyRegulatoryBundle } from '../../../adapters/evidence/regulatory/verify-bundle.js';
import { keyFileSigner } from '../../../domain/ledger/signatures/blob-signer.js';
import { pack, unpack } from '../../../test/support/bundle.js';
import { fixture } from '../../../test/support/fixture.js';
import { STORES, testRow } from '../../../test/support/ledger.js';
import { ledgerService, type TestLedgerService } from '../../../test/support/ledger-service.js';

const AT = Date.parse('2026-01-02T03:04:05.006Z');
const WINDOW = 'from=2026-01-02T00:00:00Z&to=2026-01-03T00:00:00Z';
const ALL = '&include_compliance=true&annex_iv=true&include_post_market_plan=true&include_exports=true';

describe.each(STORES)('POST /export/regulatory on %s', (kind) => {
  let gate: TestLedgerService;
  let folder: string;
  let now: number;
  let key: { privateKey: KeyObject; publicKey: KeyObject };
  let pem: string;

  const start = async (options: Partial<LedgerOptions> = {}) => {
    const signer = keyFileSigner({
      privateKey: key.privateKey,
      keyId: 'gate-ledger:v1',
      issuer: 'spiffe://gate.local/service/ledger',
      clock: () => now,
    });
    gate = await ledgerService(kind, { ledger: { clock: () => now, signer, keySet: signer.keySet, ...options } });
  };
  const { sharedHere } = fixture(
    async () => {
      now = AT;
      folder = mkdtempSync(join(tmpdir(), 'gate-regulatory-'));
      key = generateKeyPairSync('ed25519');
      pem = createPublicKey(key.privateKey).export({ type: 'spki', format: 'pem' }).toString();
      await start();
    },
    async () => {
      await gate.close();
      rmSync(folder, { recursive: true, force: true });
    },
  );

  const ask = (query = `tenant=acme&${WINDOW}`, body?: string, headers: Record<string, string> = {}) =>
    gate.call(`POST /export/regulatory?${query}`, body, {
      headers: {
        'x-gate-tenant-scope': new URLSearchParams(query).get('tenant') ?? '',
        ...(body !== undefined && { 'content-type': 'text/markdown' }),
        ...headers,
      },
    });
  const exported = async (...asked: Parameters<typeof ask>) => {
    const answer = await ask(...asked);
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/gzip']);
    const files = unpack(answer.bytes);
    return { bytes: answer.bytes, files, manifest: JSON.parse(String(files.get('manifest.json'))) as Manifest };
  };
  const verdictOf = (bytes: Uint8Array, publicKeyPem: string | null = pem) => {
    const path = join(folder, 'bundle.tar.gz');
    writeFileSync(path, bytes);
    return verifyRegulatoryBundle(path, { publicKeyPem });
  };
  const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex');
  /** Rows of two tenants: acme has the places 2, 4, 5 and 7 of seven. */
  const fill = async () => {
    for (const tenant of ['other', 'acme', 'other', 'acme', 'acme', 'other', 'acme'])
      await gate.ledger.append([
        testRow({ tenant, policy_decision: { words: 'é\u2028/', prev_hash: 'x', policy_bundle: 'v1' } }),
      ]);
  };

  describe('a bundle', () => {
    it('holds the rows of the tenant, the links of every entry between them, and a signed manifest', async () => {
      await fill();
      const { bytes, files, manifest } = await exported();
      expect([...files.keys()]).toEqual([
        'manifest.json',
        'manifest.sig',
        'entries.ndjson',
        'chain_links.ndjson',
        'README.txt',
      ]);
      expect(Object.keys(manifest)).toEqual([
        'schema_version',
        'tenant',
        'generated_at',
        'window',
        'row_count',
        'seq_lo',
        'seq_hi',
        'chain_state',
        'verified_chain',
        'ndjson_sha256',
        'article_scope',
        'signature',
        'chain_links',
        'readme',
      ]);
      const rows = await gate.ledger.byAgent('agent-a');
      expect(manifest).toMatchObject({
        schema_version: '8',
        tenant: 'acme',
        generated_at: '2026-01-02T03:04:05.006Z',
        window: { from: '2026-01-02T00:00:00.000Z', to: '2026-01-03T00:00:00.000Z' },
        row_count: 4,
        seq_lo: 2,
        seq_hi: 7,
        chain_state: { prev_hash_at_window_start: rows[0]?.entry_hash, entry_hash_at_window_end: rows[6]?.entry_hash },
        verified_chain: {
          contract: 'gate.regulatory-bundle-signing/v1',
          commitment: { contract: 'gate.verified-chain/v1', length: 7, head_hash: rows[6]?.entry_hash },
          cryptographic_contract: 'gate.cryptographic-verification/v2',
          cryptographic_status: 'verified',
          signed_rows: 0,
          nothing_signed: true,
          legacy_unverifiable_rows: 0,
        },
        article_scope: ['EU-AI-Act-Article-11', 'EU-AI-Act-Article-12'],
        signature: {
          sidecar: 'manifest.sig',
          algorithm: 'ed25519',
          digest_alg: 'sha256',
          key_id: 'gate-ledger:v1',
          signed_at: '2026-01-02T03:04:05.006Z',
        },
      });
      const lines = String(files.get('entries.ndjson')).trim().split('\n');
      expect(lines.map((line) => (JSON.parse(line) as { seq: number }).seq)).toEqual([2, 4, 5, 7]);
      expect(JSON.parse(lines[0] ?? '')).toMatchObject({ tenant: 'acme', entry_hash: rows[1]?.entry_hash });
      expect(String(files.get('chain_links.ndjson')).trim().split('\n')).toHaveLength(6);
      expect(String(files.get('chain_links.ndjson'))).not.toContain('agent');
      expect(String(files.get('manifest.sig'))).toMatch(/^[0-9a-f]{128}\n$/);
      const verdict = await verdictOf(bytes);
      expect(verdict.checks.filter(({ holds }) => !holds)).toEqual([]);
      expect(verdict.valid).toBe(true);
      expect(verdict.checks.find(({ what }) => what === 'verified_chain')?.detail).toContain('no row is signed');
    });

    it('holds what was asked for besides, each file committed to', async () => {
      await fill();
      const prose = '# How the agents are used\n';
      const { bytes, files, manifest } = await exported(`tenant=acme&${WINDOW}${ALL}`, prose);
      expect(String(files.get('technical_documentation.md'))).toBe(prose);
      for (const [name, commitment] of [
        ['technical_documentation.md', manifest.technical_documentation],
        ['compliance_register.json', manifest.compliance_register],
        ['annex_iv_documentation.json', manifest.annex_iv],
        ['post_market_monitoring_plan.json', manifest.post_market_monitoring_plan],
      ] as const) {
        const file = files.get(name) as Buffer;
        expect(commitment).toEqual({ filename: name, sha256: sha256(file), byte_size: file.length });
      }
      expect(manifest.parquet_pointers).toEqual([]);
      expect(manifest.article_scope).toEqual([
        'EU-AI-Act-Article-11',
        'EU-AI-Act-Article-12',
        'EU-AI-Act-Article-14',
        'EU-AI-Act-Article-15',
        'EU-AI-Act-Annex-IV',
        'EU-AI-Act-Article-72',
      ]);
      const annex = JSON.parse(String(files.get('annex_iv_documentation.json'))) as Record<string, unknown>;
      expect(annex).toMatchObject({
        tenant: 'acme',
        points: [{ point: '1', agents: { names: { 'agent-a': 4 } } }, {}, {}, {}, {}],
      });
      expect((await verdictOf(bytes)).valid).toBe(true);
    });

    it('holds the very register that POST /compliance/evidence answers with', async () => {
      await fill();
      const { files } = await exported(`tenant=acme&${WINDOW}&include_compliance=true`);
      const { body } = await gate.call(`POST /compliance/evidence?tenant=acme&${WINDOW}`);
      // The export appended a row, so the walk is longer; the window's content is the same.
      const same = (register: Record<string, unknown>) => ({ ...register, generated_at: '', chain_verify: {} });
      expect(same(JSON.parse(String(files.get('compliance_register.json'))) as Record<string, unknown>)).toEqual(
        same(body),
      );
    });

    it('of a window without rows is a bundle too', async () => {
      await fill();
      const { bytes, files, manifest } = await exported(
        'tenant=acme&from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z',
      );
      expect(manifest).toMatchObject({
        row_count: 0,
        seq_lo: null,
        seq_hi: null,
        chain_state: { prev_hash_at_window_start: null, entry_hash_at_window_end: null },
      });
      expect([files.get('entries.ndjson')?.length, files.get('chain_links.ndjson')?.length]).toEqual([0, 0]);
      expect((await verdictOf(bytes)).valid).toBe(true);
      expect(
        (await exported('tenant=nobody&from=2020-01-01T00:00:00Z&to=2100-01-02T00:00:00Z')).manifest.row_count,
      ).toBe(0);
    });

    it('leaves out an erased tenant and keeps a cleaned demonstration', async () => {
      await gate.ledger.append([testRow({ state_namespace: 'demo' }), testRow({ tenant: 'gone' })]);
      await gate.ledger.erasure.cleanUpDemo();
      await gate.ledger.erasure.tombstoneTenant('gone');
      expect((await exported()).manifest.row_count).toBe(1);
      expect((await exported(`tenant=gone&${WINDOW}`)).manifest.row_count).toBe(0);
    });

    it('leaves a row that says what left and who signed', async () => {
      await fill();
      const { files } = await exported();
      expect((await gate.ledger.newest(1))[0]).toMatchObject({
        event_kind: 'regulatory.exported',
        tenant: 'system',
        policy_decision: {
          tenant: 'acme',
          row_count: 4,
          seq_lo: 2,
          seq_hi: 7,
          manifest_sha256: sha256(files.get('manifest.json') as Buffer),
          key_id: 'gate-ledger:v1',
          legal_hold: false,
        },
      });
      expect(await gate.ledger.verify()).toMatchObject({ valid: true, entries_checked: 8 });
    });

    it('can be checked with the steps of its README alone', async () => {
      await fill();
      const { bytes, files, manifest } = await exported();
      writeFileSync(join(folder, 'bundle.tar.gz'), bytes);
      writeFileSync(join(folder, 'key.pem'), pem);
      const readme = String(files.get('README.txt'));
      const shell = (script: string) =>
        execFileSync('bash', ['-ec', script], { cwd: folder, encoding: 'utf8', stdio: 'pipe' });
      const commands = (step: string) =>
        (readme.split(`\n ${step}. `)[1] ?? '')
          .split(/\n ?\d+\. /)[0]
          ?.match(/^ {8}\S.*$/gm)
          ?.join('\n') ?? '';
      shell(commands('1'));
      expect(shell(commands('2'))).toContain(manifest.ndjson_sha256);
      expect(shell('sha256sum chain_links.ndjson')).toContain(manifest.chain_links.sha256);
      const row = JSON.parse(String(files.get('entries.ndjson')).split('\n')[2] ?? '') as { entry_hash: string };
      const hashing = commands('3')
        .split('\n')
        .filter((line) => !line.includes('chain_links'))
        .join('\n');
      expect(shell(hashing.replace('Np', '3p'))).toContain(row.entry_hash);
      expect(shell(commands('6'))).toContain('Signature Verified Successfully');
      shell('sed -i \'s/"row_count": 4/"row_count": 5/\' manifest.json');
      expect(() => shell(commands('6'))).toThrow();
    });
  });

  describe('a bundle that was changed', () => {
    sharedHere();
    let handedOut: Awaited<ReturnType<typeof exported>>;
    beforeAll(async () => {
      await fill();
      handedOut = await exported();
    });
    /** The bundle as it was handed out, for each test to change. */
    const asHandedOut = () => ({ bytes: handedOut.bytes, files: new Map(handedOut.files) });
    /** Corrects all digests, like an attacker who has everything but the key. */
    const mended = (
      files: Map<string, Buffer>,
      change: (manifest: Record<string, never>) => void = () => undefined,
    ) => {
      const manifest = JSON.parse(String(files.get('manifest.json'))) as Record<string, never>;
      change(manifest);
      files.set('manifest.json', Buffer.from(JSON.stringify(manifest, null, 2)));
      return files;
    };

    it('is found out, whichever byte of whichever file it was', async () => {
      const { files } = await exported(`tenant=acme&${WINDOW}${ALL}`, 'prose\n');
      for (const [name, bytes] of files) {
        for (let trial = 0; trial < 12; trial++) {
          const at = Math.floor((bytes.length * (trial + 0.5)) / 12);
          // Key id and time of signing are in the part that is blanked before signing.
          if (name === 'manifest.json' && /"(?:key_id|signed_at)"/.test(lineAt(bytes, at))) continue;
          const changed = Buffer.from(bytes);
          changed[at] = (changed[at] as number) ^ (1 << (trial % 7));
          const verdict = await verdictOf(await pack(new Map(files).set(name, changed)));
          expect([name, at, verdict.valid]).toEqual([name, at, false]);
        }
        const missing = new Map(files);
        missing.delete(name);
        expect([name, (await verdictOf(await pack(missing))).valid]).toEqual([name, false]);
      }
      const more = new Map(files).set('more.txt', Buffer.from('x'));
      expect((await verdictOf(await pack(more))).checks.at(-1)?.detail).toBe('more.txt is not named by the manifest');
    });

    const lineAt = (bytes: Buffer, at: number): string =>
      bytes.toString('latin1', bytes.lastIndexOf(10, at) + 1, (bytes.indexOf(10, at) + 1 || bytes.length + 1) - 1);

    it('is found out by the signature even when every digest was put right', async () => {
      const { files } = asHandedOut();
      const lines = String(files.get('entries.ndjson')).split('\n');
      const shorter = Buffer.from(`${lines.slice(1, 4).join('\n')}\n`);
      const forged = mended(new Map(files).set('entries.ndjson', shorter), (manifest) =>
        Object.assign(manifest, { ndjson_sha256: sha256(shorter), row_count: 3, seq_lo: 4 }),
      );
      expect((await verdictOf(await pack(forged))).checks.at(-1)).toEqual({
        what: 'signature',
        holds: false,
        detail: 'it is not that of this manifest',
      });
    });

    it.each([
      ['a row is left out', (rows: string[]) => rows.slice(0, 3), 'entries.ndjson'],
      ['a row comes twice', (rows: string[]) => [...rows, rows[3] ?? ''], 'entries.ndjson'],
      ['two rows change places', ([a, b, ...rest]: string[]) => [b ?? '', a ?? '', ...rest], 'entries.ndjson'],
      [
        'a row says another thing',
        (rows: string[]) => rows.map((row) => row.replace('agent-a', 'agent-x')),
        'entries.ndjson',
      ],
      [
        'a row says another thing and hashes to it',
        ([first = '', ...rest]: string[]) => {
          const canonical = first.replace('agent-a', 'agent-x').replace(/,"entry_hash":"[0-9a-f]{64}"\}$/, '}');
          const { prev_hash } = JSON.parse(canonical) as { prev_hash: string };
          return [`${canonical.slice(0, -1)},"entry_hash":"${sha256(`${prev_hash}|${canonical}`)}"}`, ...rest];
        },
        'entries.ndjson',
      ],
      [
        'a row has no hash',
        ([first = '', ...rest]: string[]) => [first.replace(/,"entry_hash".*/, '}'), ...rest],
        'entries.ndjson',
      ],
    ])('is found out without the key when %s and the digest was put right', async (_, change, where) => {
      const { files } = asHandedOut();
      const rows = change(String(files.get('entries.ndjson')).trim().split('\n'));
      const bytes = Buffer.from(`${rows.join('\n')}\n`);
      const forged = mended(new Map(files).set('entries.ndjson', bytes), (manifest) =>
        Object.assign(manifest, { ndjson_sha256: sha256(bytes) }),
      );
      const verdict = await verdictOf(await pack(forged), null);
      expect(verdict.checks.at(-1)).toMatchObject({ what: where, holds: false });
    });

    it('is not called whole without a key, and not with another', async () => {
      const { bytes } = asHandedOut();
      const without = await verdictOf(bytes, null);
      expect([without.valid, without.checks.every(({ holds }) => holds)]).toEqual([false, true]);
      expect(without.notes[0]).toContain('no public key was given');
      const other = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString();
      expect((await verdictOf(bytes, other)).checks.at(-1)).toMatchObject({ what: 'signature', holds: false });
    });

    it('is found out when it is cut off or is no archive', async () => {
      const { bytes } = asHandedOut();
      for (const broken of [bytes.subarray(0, bytes.length / 2), Buffer.from('hello'), Buffer.alloc(0)])
        expect((await verdictOf(broken)).checks).toMatchObject([{ what: 'archive', holds: false }]);
    });
  });

  describe('refuses, and appends nothing', () => {
    sharedHere();
    it.each([
      ['no tenant', WINDOW, 'tenant_required'],
      ['an invalid tenant', `tenant=a/b&${WINDOW}`, 'tenant_required'],
      ['no window', 'tenant=acme', 'invalid_window'],
      ['an empty window', 'tenant=acme&from=2026-01-02T00:00:00Z&to=2026-01-02T00:00:00Z', 'invalid_window'],
      ['a window from its end', 'tenant=acme&from=2026-01-03T00:00:00Z&to=2026-01-02T00:00:00Z', 'invalid_window'],
      ['a flag that is neither true nor false', `tenant=acme&${WINDOW}&annex_iv=perhaps`, 'invalid_request'],
    ])('%s', async (_, query, error) => {
      expect(await ask(query)).toMatchObject({ status: 400, body: { error } });
      expect(await gate.ledger.head()).toMatchObject({ length: 0 });
    });

    it.each([['application/json'], ['application/octet-stream'], ['image/png']])('a body of type %s', async (type) => {
      const answer = await ask(undefined, '{}', { 'content-type': type });
      expect([answer.status, answer.body['error']]).toEqual([400, 'unsupported_media_type']);
      expect(await gate.ledger.head()).toMatchObject({ length: 0 });
    });

    it('everybody but the console', async () => {
      for (const as of ['service-deep-review', 'service-proxy', 'service-identity', 'agent-workload'])
        expect((await gate.call(`POST /export/regulatory?tenant=acme&${WINDOW}`, undefined, { as })).status).toBe(403);
      expect(await gate.ledger.head()).toMatchObject({ length: 0 });
    });
  });

  describe('refuses', () => {
    it('prose of more than 1 MiB, and takes exactly 1 MiB', async () => {
      expect(await ask(undefined, 'x'.repeat(1_048_577))).toMatchObject({
        status: 413,
        body: { error: 'payload_too_large' },
      });
      expect((await ask(undefined, 'x'.repeat(1_048_576))).status).toBe(200);
    });

    it('a tenant that is not the one the console forwards', async () => {
      const headers = { 'x-gate-tenant-scope': 'other' };
      expect(await ask(undefined, undefined, headers)).toMatchObject({
        status: 403,
        body: { error: 'capability_denied' },
      });
      expect((await ask(undefined, undefined, { 'x-gate-tenant-scope': 'acme' })).status).toBe(200);
      expect(await gate.call(`POST /export/regulatory?tenant=acme&${WINDOW}`)).toMatchObject({
        status: 400,
        body: { error: 'tenant_scope_required' },
      });
    });

    it('to sign for a chain that does not hold: 503 chain_verification_incomplete', async () => {
      await fill();
      await gate.place.unlock();
      await gate.place.sql('update ledger_entries set reasoning = ? where seq = 3', ['x']);
      expect(await ask()).toMatchObject({ status: 503, body: { error: 'chain_verification_incomplete' } });
    });

    it.each([
      ['nobody signs', { signer: undefined }],
      ['the signer fails', { signer: { sign: () => Promise.reject(new Error('away')) } }],
      ['nobody knows the key', { keySet: undefined }],
      [
        'the signature does not hold',
        {
          signer: {
            sign: async () => ({
              signature: 'ab'.repeat(64),
              key_id: 'gate-ledger:v1',
              algorithm: 'ed25519' as const,
              signed_at: '2026-01-02T03:04:05.006Z',
            }),
          },
        },
      ],
    ])('to hand out anything unsigned while %s: 503 signing_unavailable', async (_, options) => {
      await gate.close();
      await start(options as Partial<LedgerOptions>);
      await gate.ledger.append([testRow()]);
      expect(await ask()).toMatchObject({ status: 503, body: { error: 'signing_unavailable' } });
      expect(await gate.ledger.head()).toMatchObject({ length: 1 });
    });

    it('while the store is gone', async () => {
      await gate.ledger.close();
      expect(await ask()).toMatchObject({ status: 503, body: { error: 'ledger_store_unavailable' } });
    });
  });
});
