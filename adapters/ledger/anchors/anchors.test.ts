import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { unpack } from '../../../test/support/bundle.js';
import { ledgerPlace, STORES, type TestLedgerPlace, testRow } from '../../../test/support/ledger.js';
import {
  OPENSSL_PRESENT,
  type TestTimeStampAuthority,
  timeStampAuthority,
} from '../../../test/support/time-stamp-authority.js';
import { needs } from '../../../test/support/needs.js';
import { sha256Hex } from '../../../domain/crypto/digest.js';
import type { LedgerOptions } from '../ledger-store.js';
import { type EvidencedLedger, openEvidencedLedger } from '../../../test/support/evidenced-ledger.js';
import { verifyRegulatoryBundle } from '../../evidence/regulatory/verify-bundle.js';
import { keyFileSigner } from '../../../domain/ledger/signatures/blob-signer.js';
import type { AnchorSource } from './anchors.js';
import { timeStampAnchor, webhookAnchor } from './sources.js';
import { readTrust, timeStampRequest } from '../../../domain/ledger/anchors/time-stamp.js';

const AT = Date.parse('2026-01-02T03:04:05.006Z');
const INTERVAL = 60_000;

describe.each(STORES)('anchors on %s', (kind) => {
  let place: TestLedgerPlace;
  let ledger: EvidencedLedger;
  let now: number;
  let key: ReturnType<typeof generateKeyPairSync>;
  let receiver: Server;
  let url: string;
  let received: Record<string, unknown>[];
  let status: number;

  const open = async (options: Partial<LedgerOptions> = {}) => {
    const signer = keyFileSigner({
      privateKey: key.privateKey,
      keyId: 'gate-ledger:v1',
      issuer: 'ledger',
      clock: () => now,
    });
    ledger = await openEvidencedLedger({
      target: place.target,
      sidecarKeys: place.keys,
      clock: () => now,
      signer,
      keySet: signer.keySet,
      ...options,
    });
  };
  beforeEach(async () => {
    now = AT;
    status = 200;
    received = [];
    key = generateKeyPairSync('ed25519') as unknown as typeof key;
    place = await ledgerPlace(kind);
    await open();
    receiver = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        received.push(JSON.parse(Buffer.concat(parts).toString('utf8')) as Record<string, unknown>);
        response.writeHead(status).end(`kept ${received.length}`);
      });
    });
    await new Promise<void>((listening) => receiver.listen(0, '127.0.0.1', listening));
    url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/anchors`;
  });
  afterEach(async () => {
    receiver.closeAllConnections();
    await new Promise((closed) => receiver.close(closed));
    await ledger.close();
    await place.remove();
  });

  const linesOf = async (seqLo: number, seqHi: number) => {
    const pages: string[][] = [];
    for await (const page of ledger.anchors.lines(seqLo, seqHi)) pages.push(page);
    return pages;
  };
  const sweep = (source: AnchorSource = webhookAnchor(url)) => ledger.anchors.sweep({ source, intervalMs: INTERVAL });

  describe('with a webhook', () => {
    it('posts the root of the chain, keeps the answer, and says so in the chain', async () => {
      await ledger.append([testRow(), testRow()]);
      const { hash } = await ledger.head();
      expect(await sweep()).toEqual({ anchored: 1, failed: 0 });
      expect(received).toEqual([
        { anchored_seq: 2, anchored_entry_hash: hash, requested_at: '2026-01-02T03:04:05.006Z' },
      ]);
      expect((await ledger.newest(1))[0]).toMatchObject({
        seq: 3,
        event_kind: 'chain.root_anchored',
        policy_decision: {
          anchored_seq: 2,
          anchored_entry_hash: hash,
          source: 'webhook',
          proof_sha256: sha256Hex('kept 1'),
          gen_time: null,
        },
      });
      expect(await ledger.verifyAssured()).toMatchObject({
        valid: true,
        anchor_mismatch: false,
        anchors: [
          {
            anchored_seq: 2,
            anchored_entry_hash: hash,
            source: 'webhook',
            status: 'anchored',
            gen_time: null,
            proof_sha256: sha256Hex('kept 1'),
            anchored_at: '2026-01-02T03:04:05.006Z',
            chain_match: true,
          },
        ],
      });
    });

    it('anchors nothing of an empty chain, nor when only anchors were added, and the next root when more was', async () => {
      expect(await sweep()).toEqual({ anchored: 0, failed: 0 });
      await ledger.append([testRow()]);
      await sweep();
      expect(await sweep()).toEqual({ anchored: 0, failed: 0 });
      await ledger.append([testRow()]);
      await sweep();
      expect(received.map((root) => root['anchored_seq'])).toEqual([1, 3]);
    });

    it('tries again with the same root, later each time, while the receiver is down; appends go on', async () => {
      await ledger.append([testRow()]);
      status = 503;
      expect(await sweep()).toEqual({ anchored: 0, failed: 1 });
      await ledger.append([testRow()]);
      expect(await sweep()).toEqual({ anchored: 0, failed: 0 });
      now += INTERVAL;
      expect(await sweep()).toEqual({ anchored: 0, failed: 1 });
      now += INTERVAL;
      expect(await sweep()).toEqual({ anchored: 0, failed: 0 });
      now += INTERVAL;
      status = 200;
      expect(await sweep()).toEqual({ anchored: 1, failed: 0 });
      expect(received.map((root) => root['anchored_seq'])).toEqual([1, 1, 1]);
      expect(await ledger.verifyAssured()).toMatchObject({ valid: true, anchor_mismatch: false });
    });

    it('makes good the row that a crash left out', async () => {
      await ledger.append([testRow()]);
      const kept: AnchorSource = {
        source: 'webhook',
        async anchor() {
          setImmediate(() => void ledger.close());
          return { bytes: Buffer.from('proof'), genTime: null };
        },
      };
      await sweep(kept).catch(() => undefined);
      await ledger.close();
      await open();
      now += INTERVAL;
      await sweep();
      await sweep();
      const rows = (await ledger.newest(10)).filter((row) => row.event_kind === 'chain.root_anchored');
      expect(rows.map((row) => row.policy_decision?.['anchored_seq'])).toEqual([1]);
    });

    it('anchors once when two sweeps meet, and apart for each source', async () => {
      await ledger.append([testRow()]);
      await Promise.all([sweep(), sweep()]);
      expect(received).toHaveLength(1);
      const other: AnchorSource = {
        source: 'identity',
        anchor: async () => ({ bytes: Buffer.from('x'), genTime: null }),
      };
      expect(await sweep(other)).toEqual({ anchored: 1, failed: 0 });
      expect((await ledger.verifyAssured()).anchors?.map(({ source }) => source)).toEqual(['identity', 'webhook']);
    });

    it('shows that the chain is not the one that was anchored, beside whether it is valid', async () => {
      await ledger.append([testRow(), testRow()]);
      await sweep();
      await place.sql('update chain_anchors set anchored_entry_hash = ? where anchored_seq = 2', ['ab'.repeat(32)]);
      expect(await ledger.verifyAssured()).toMatchObject({
        valid: true,
        anchor_mismatch: true,
        anchors: [{ chain_match: false }],
      });
    });

    it('shows that the chain was put back to before an anchored root', async () => {
      await ledger.append([testRow()]);
      const [head] = await place.sql('select length, head_hash, head_seal from ledger_head');
      await ledger.append([testRow()]);
      await sweep();
      await ledger.close();
      await place.unlock();
      await place.sql('delete from ledger_entries where seq > 1');
      await place.sql('update ledger_head set length = 1, head_hash = ?, head_seal = ?', [
        head?.['head_hash'] as string,
        head?.['head_seal'] as Buffer,
      ]);
      await open();
      // Opened as a ledger that did not see the chain before: only the anchor shows the change.
      expect(await ledger.verifyAssured()).toMatchObject({
        valid: true,
        anchor_mismatch: true,
        anchors: [{ anchored_seq: 2, chain_match: false }],
      });
    });

    it('gives the lines of a bundle some at a time, each anchor once', async () => {
      const one = (seq: number, source: string) =>
        place.sql(
          `insert into chain_anchors (id, anchored_seq, anchored_entry_hash, source, status, requested_at, attempts, next_attempt_at, proof, noted)
           values (?, ?, ?, ?, 'anchored', '', 1, '', ?, 1)`,
          [`${seq} ${source}`, seq, 'ab'.repeat(32), source, Buffer.from([seq % 256])],
        );
      for (let seq = 1; seq <= 150; seq++)
        for (const source of ['webhook', 'rfc3161', 'identity']) await one(seq, source);
      const pages = await linesOf(2, 149);
      expect(pages.map((page) => page.length)).toEqual([200, 200, 44]);
      const found = pages
        .flat()
        .map((line) => JSON.parse(line) as { anchored_seq: number; source: string; proof: string });
      expect(found.map(({ anchored_seq, source }) => `${anchored_seq} ${source}`)).toEqual(
        Array.from({ length: 148 }, (_, index) =>
          ['identity', 'rfc3161', 'webhook'].map((name) => `${index + 2} ${name}`),
        ).flat(),
      );
      expect(found.at(-1)?.proof).toBe(Buffer.from([149]).toString('base64'));
    });

    it('says nothing of anchors where there are none, and never counts an answer as a time stamp', async () => {
      const before = await ledger.verifyAssured();
      expect([before.anchor_mismatch, 'anchors' in before]).toEqual([null, false]);
      await ledger.append([testRow()]);
      await sweep();
      expect((await ledger.verifyAssured()).cryptographic_verification).toMatchObject({
        status: 'verified',
        tsa: { required: false, anchors_observed: 1, rfc3161_observed: 0, verified: 0, failed: 0 },
      });
    });
  });

  (OPENSSL_PRESENT ? describe : describe.skip)(
    `with a time-stamping authority${needs('openssl', OPENSSL_PRESENT)}`,
    () => {
      let authority: TestTimeStampAuthority;
      beforeEach(async () => {
        authority = await timeStampAuthority();
        await ledger.append([testRow(), testRow()]);
      });
      afterEach(() => authority.close());
      const trusting = (pem = authority.rootPem, required = true) => ({
        timeStamps: { trust: readTrust(pem), required },
      });
      const reopen = async (options: Partial<LedgerOptions>) => {
        await ledger.close();
        await open(options);
      };
      const stamped = (trust = true) =>
        sweep(timeStampAnchor(authority.url, trust ? readTrust(authority.rootPem) : null));
      const cryptography = async () => (await ledger.verifyAssured()).cryptographic_verification;

      it('keeps a time stamp that openssl verifies, and counts it as verified', async () => {
        await reopen(trusting());
        expect(await cryptography()).toMatchObject({ status: 'unavailable', first_failure: { reason: 'tsa_missing' } });
        const { hash } = await ledger.head();
        expect(await stamped()).toEqual({ anchored: 1, failed: 0 });
        const result = await ledger.verifyAssured();
        expect(result).toMatchObject({
          anchor_mismatch: false,
          anchors: [{ source: 'rfc3161', chain_match: true, gen_time: expect.stringMatching(/^20\d\d-.*Z$/) }],
          cryptographic_verification: {
            status: 'verified',
            tsa: {
              required: true,
              anchors_observed: 1,
              rfc3161_observed: 1,
              verified: 1,
              failed: 0,
              trust_bundle_sha256: sha256Hex(authority.rootPem),
              first_failure: null,
            },
          },
        });
        const [[line = ''] = []] = await linesOf(1, 9);
        const folder = mkdtempSync(join(tmpdir(), 'gate-anchor-'));
        writeFileSync(join(folder, 'token.tsr'), Buffer.from((JSON.parse(line) as { proof: string }).proof, 'base64'));
        const verified = execFileSync(
          'openssl',
          ['ts', '-verify', '-digest', hash, '-in', 'token.tsr', '-CAfile', authority.rootFile],
          { cwd: folder, encoding: 'utf8', stdio: 'pipe' },
        );
        rmSync(folder, { recursive: true });
        expect(verified).toContain('Verification: OK');
      });

      it('does not take an answer that is refused, no time stamp, of another request, or of an authority nobody trusts', async () => {
        const { hash } = await ledger.head();
        const another = authority.reply(timeStampRequest(sha256Hex('another')).bytes);
        // Over the right root, but made for an earlier request and kept since.
        const kept = authority.reply(timeStampRequest(hash).bytes);
        for (const how of ['refuse', Buffer.from('no time stamp'), another, kept] as const) {
          authority.answer(how);
          expect(await stamped()).toEqual({ anchored: 0, failed: 1 });
          now += 10 * INTERVAL;
        }
        expect(await place.sql('select last_error from chain_anchors')).toEqual([
          { last_error: 'the time stamp answers another request' },
        ]);
        authority.answer('stamp');
        const stranger = await timeStampAuthority();
        expect(await sweep(timeStampAnchor(stranger.url, readTrust(authority.rootPem)))).toEqual({
          anchored: 0,
          failed: 1,
        });
        await stranger.close();
        now += 10 * INTERVAL;
        expect(await stamped()).toEqual({ anchored: 1, failed: 0 });
      });

      it('keeps a time stamp it cannot judge, and says that it cannot', async () => {
        expect(await stamped(false)).toEqual({ anchored: 1, failed: 0 });
        expect(await cryptography()).toMatchObject({
          status: 'unavailable',
          first_failure: { seq: 2, reason: 'tsa_trust_unavailable' },
          tsa: { verified: 0, failed: 1, trust_bundle_sha256: null },
        });
        await reopen(trusting(authority.rootPem, false));
        expect(await cryptography()).toMatchObject({ status: 'verified', tsa: { verified: 1 } });
      });

      it('finds a stored time stamp that was changed or is of another root', async () => {
        await reopen(trusting());
        await stamped();
        const [row] = await place.sql('select proof, proof_sha256, anchored_entry_hash from chain_anchors');
        const cases = [
          ['proof', Buffer.from('other'), 'tsa_proof_digest_mismatch'],
          ['anchored_entry_hash', 'ab'.repeat(32), 'tsa_imprint_mismatch'],
        ] as const;
        for (const [column, value, reason] of cases) {
          await place.sql(`update chain_anchors set ${column} = ?`, [value]);
          expect(await cryptography()).toMatchObject({
            status: 'invalid',
            tsa: { failed: 1, first_failure: { seq: 2, reason } },
          });
          await place.sql(`update chain_anchors set ${column} = ?`, [row?.[column] ?? null]);
        }
        const garbage = Buffer.from('no time stamp');
        await place.sql('update chain_anchors set proof = ?, proof_sha256 = ?', [garbage, sha256Hex(garbage)]);
        expect(await cryptography()).toMatchObject({ tsa: { first_failure: { reason: 'tsa_response_malformed' } } });
      });

      it('goes into the regulatory bundle, where it can be checked', async () => {
        await stamped();
        await ledger.append([testRow()]);
        const window = { tenant: 'acme', from: '2026-01-01T00:00:00.000Z', to: '2026-02-01T00:00:00.000Z' };
        const bytes = await buffer((await ledger.exportRegulatory(window)).stream());
        const folder = mkdtempSync(join(tmpdir(), 'gate-anchor-'));
        writeFileSync(join(folder, 'bundle.tar.gz'), bytes);
        const publicKeyPem = String(key.publicKey.export({ type: 'spki', format: 'pem' }));
        const verdict = await verifyRegulatoryBundle(join(folder, 'bundle.tar.gz'), { publicKeyPem });
        rmSync(folder, { recursive: true });
        expect(verdict.checks.filter(({ holds }) => !holds)).toEqual([]);
        expect([verdict.valid, verdict.checks.at(-1)]).toEqual([
          true,
          { what: 'anchors.ndjson', holds: true, detail: '1 anchors' },
        ]);
        expect(String(unpack(bytes).get('anchors.ndjson')).trim().split('\n')).toHaveLength(1);
      });
    },
  );
});
