import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ledgerPlace, STORES, type TestLedgerPlace, testRow } from '../../../test/support/ledger.js';
import { uuidFromDigest } from '../../../domain/crypto/digest.js';
import { type WholeLedger, openLedger } from '../../../test/support/whole-ledger.js';
import { type Checkpoint, parseCheckpoint } from '../../../domain/ledger/tlog/checkpoint.js';
import { consistencyHolds, inclusionHolds, leafHash, nodeHash } from '../../../domain/ledger/tlog/merkle.js';
import { cosign, type NoteKey, noteKey, parseVkey, verifiedSignatures } from '../../../domain/ledger/tlog/note.js';
import { makeProofBundle, verifyProofBundle } from '../../../domain/ledger/tlog/proof-bundle.js';
import { type HeldKey, keyInMemory } from '../../../domain/identity/held-key.js';
import type { CheckpointKeys, TransparencyLog } from './transparency-log.js';

const id = (name: string) => uuidFromDigest('tlog', name);
const ORIGIN = 'gate.test/ledger';
const hex = (nodes: readonly string[]) => nodes.map((node) => Buffer.from(node, 'hex'));

/** RFC 6962 section 2.1 over the entry hashes: the reference for every root. */
function naiveRoot(hashes: readonly string[]): Buffer {
  if (hashes.length === 1) return leafHash(Buffer.from(hashes[0] as string, 'hex'));
  let k = 1;
  while (k * 2 < hashes.length) k *= 2;
  return nodeHash(naiveRoot(hashes.slice(0, k)), naiveRoot(hashes.slice(k)));
}

describe.each(STORES)('the ledger as a transparency log on %s', (kind) => {
  const witness = generateKeyPairSync('ed25519');
  const witnessKey = noteKey('witness.test/w1', witness.publicKey, 'cosignature');
  let place: TestLedgerPlace;
  let key: KeyObject;
  let now: number;
  let ledger: WholeLedger;
  let log: TransparencyLog;
  const hashes: string[] = [];

  const open = async (privateKey: CheckpointKeys['privateKey'] = key, witnesses: NoteKey[] = [witnessKey]) => {
    ledger = await openLedger({
      target: place.target,
      sidecarKeys: place.keys,
      clock: () => now,
      checkpoints: { origin: ORIGIN, privateKey, witnesses },
    });
    log = ledger.transparency as TransparencyLog;
  };
  const append = async (count: number) => {
    for (let done = 0; done < count; done += 300) {
      const from = hashes.length;
      const receipts = await ledger.append(
        Array.from({ length: Math.min(300, count - done) }, (_, index) => testRow({ id: id(String(from + index)) })),
      );
      hashes.push(...receipts.map((receipt) => receipt.entry_hash));
    }
    now += 2_000;
  };
  const verified = (text: string): Checkpoint => {
    const checkpoint = parseCheckpoint(text);
    expect(verifiedSignatures(checkpoint.note, [parseVkey(log.vkey)])).toHaveLength(1);
    expect(checkpoint.origin).toBe(ORIGIN);
    return checkpoint;
  };

  beforeEach(async () => {
    now = Date.parse('2026-01-02T03:04:05.006Z');
    hashes.length = 0;
    key = generateKeyPairSync('ed25519').privateKey;
    place = await ledgerPlace(kind);
    await open();
  });
  afterEach(async () => {
    await ledger.close();
    await place.remove();
  });

  it('signs the root over the entry hashes, at every size that matters to the tree', async () => {
    expect(verified(await log.checkpoint()).size).toBe(0);
    for (const step of [1, 1, 5, 248, 1, 1, 255, 300]) {
      now += 2_000;
      await append(step);
      const { size, root } = verified(await log.checkpoint());
      expect([size, root.toString('hex')]).toEqual([hashes.length, naiveRoot(hashes).toString('hex')]);
    }
  });

  it('proves any entry, by seq and by id, in the newest checkpoint and in an older one', async () => {
    await append(700);
    const older = verified(await log.checkpoint());
    await append(333);
    const newest = verified(await log.checkpoint());
    for (const seq of [1, 2, 255, 256, 257, 512, 513, 700, 701, 1032, 1033]) {
      const proof = await log.inclusion(seq % 2 ? { seq } : { id: id(String(seq - 1)) });
      expect(proof).toMatchObject({ seq, leaf_index: seq - 1, entry_hash: hashes[seq - 1], tree_size: 1033 });
      expect(proof.entry?.id).toBe(id(String(seq - 1)));
      const claim = (at: Checkpoint, found: typeof proof) =>
        inclusionHolds({
          leaf: leafHash(Buffer.from(found.entry_hash, 'hex')),
          index: found.leaf_index,
          size: at.size,
          root: at.root,
          proof: hex(found.proof),
        });
      expect(claim(newest, proof)).toBe(true);
      if (seq <= 700) expect(claim(older, await log.inclusion({ seq }, 700))).toBe(true);
    }
    await expect(log.inclusion({ seq: 1034 })).rejects.toMatchObject({ code: 'not_found' });
    await expect(log.inclusion({ id: id('none') })).rejects.toMatchObject({ code: 'not_found' });
    await expect(log.inclusion({ seq: 5 }, 600)).rejects.toMatchObject({ code: 'not_found' });
    await expect(log.inclusion({ seq: 701 }, 700)).rejects.toMatchObject({ code: 'proof_out_of_range' });
    await expect(log.inclusion({ seq: 1 }, 2_000)).rejects.toMatchObject({ code: 'proof_out_of_range' });
  });

  it('proves that it only grew, between any two sizes', async () => {
    await append(600);
    const sizes = [1, 2, 255, 256, 300, 511, 512, 600];
    for (const from of sizes)
      for (const to of sizes.filter((size) => size >= from)) {
        const proof = await log.consistency(from, to);
        expect([proof.from_root, proof.to_root]).toEqual([
          naiveRoot(hashes.slice(0, from)).toString('hex'),
          naiveRoot(hashes.slice(0, to)).toString('hex'),
        ]);
        const [oldRoot, root] = hex([proof.from_root, proof.to_root]) as [Buffer, Buffer];
        expect(consistencyHolds({ old: from, oldRoot, size: to, root, proof: hex(proof.proof) })).toBe(true);
      }
    expect(await log.consistency(0)).toMatchObject({ from: 0, to: 600, proof: [] });
    await expect(log.consistency(7, 6)).rejects.toMatchObject({ code: 'proof_out_of_range' });
    await expect(log.consistency(1, 601)).rejects.toMatchObject({ code: 'proof_out_of_range' });
  });

  it('signs at most once a second, but at once for an entry that is asked for', async () => {
    await append(1);
    expect(verified(await log.checkpoint()).size).toBe(1);
    await ledger.append([testRow({ id: id('second') })]);
    expect(verified(await log.checkpoint()).size).toBe(1);
    expect((await log.inclusion({ id: id('second') })).tree_size).toBe(2);
    expect(verified(await log.checkpoint()).size).toBe(2);
    expect(await place.sql('select tree_size from ledger_checkpoints')).toHaveLength(2);
  });

  it('goes on after a restart, and with another key where the old one is gone', async () => {
    await append(300);
    const before = verified(await log.checkpoint());
    await ledger.close();
    await open(generateKeyPairSync('ed25519').privateKey);
    await append(300);
    const after = verified(await log.checkpoint());
    expect([after.size, after.root]).toEqual([600, naiveRoot(hashes)]);
    const { proof } = await log.consistency(300, 600);
    expect(consistencyHolds({ old: 300, oldRoot: before.root, size: 600, root: after.root, proof: hex(proof) })).toBe(
      true,
    );
  });

  it('with another key, serves what the old one signed under both, so that a bundle holds before the log grows', async () => {
    await append(3);
    const old = { note: await log.checkpoint(), vkey: log.vkey };
    await ledger.close();
    await open(generateKeyPairSync('ed25519').privateKey);
    now += 2_000;
    const both = await log.checkpoint();
    expect(both).toContain(old.note.split('\n\n')[1]?.trim());
    for (const vkey of [old.vkey, log.vkey])
      expect(verifiedSignatures(parseCheckpoint(both).note, [parseVkey(vkey)])).toHaveLength(1);
    const bundle = makeProofBundle(await log.inclusion({ seq: 2 }));
    expect(verifyProofBundle(bundle, { logKeys: [parseVkey(log.vkey)] }).valid).toBe(true);
    await append(1);
    expect(verified(await log.checkpoint()).size).toBe(4);
    const older = makeProofBundle(await log.inclusion({ seq: 2 }, 3));
    expect(verifyProofBundle(older, { logKeys: [parseVkey(log.vkey)] }).valid).toBe(true);
    // The stored note is the one that was signed then.
    expect(await place.sql('select note from ledger_checkpoints where tree_size = 3')).toEqual([{ note: old.note }]);
  });

  it('signs with another key from when that is the one, while it runs', async () => {
    const [old, next] = [key, generateKeyPairSync('ed25519').privateKey].map(keyInMemory) as [HeldKey, HeldKey];
    let signing = old;
    await ledger.close();
    await open(() => signing);
    await append(3);
    const before = { note: await log.checkpoint(), vkey: log.vkey };
    signing = next;
    now += 2_000;
    const both = parseCheckpoint(await log.checkpoint()).note;
    expect(log.vkey).not.toBe(before.vkey);
    for (const vkey of [before.vkey, log.vkey]) expect(verifiedSignatures(both, [parseVkey(vkey)])).toHaveLength(1);
    await append(2);
    const after = verified(await log.checkpoint());
    expect(verifiedSignatures(after.note, [parseVkey(before.vkey)])).toHaveLength(0);
    const { proof } = await log.consistency(3, 5);
    const { root: oldRoot } = parseCheckpoint(before.note);
    expect(consistencyHolds({ old: 3, oldRoot, size: 5, root: after.root, proof: hex(proof) })).toBe(true);
    const bundle = makeProofBundle(await log.inclusion({ seq: 2 }));
    expect(verifyProofBundle(bundle, { logKeys: [parseVkey(log.vkey)] }).valid).toBe(true);
  });

  it('believes no kept node: changed or missing ones are computed from the entries again', async () => {
    await append(600);
    const before = verified(await log.checkpoint());
    await place.sql('update ledger_tree_nodes set hash = ? where level = 8 and idx = 0', ['00'.repeat(32)]);
    // A running process notices by a proof that does not verify; after a restart it notices by the root.
    expect((await log.inclusion({ seq: 300 })).proof).toHaveLength(10);
    await place.sql('update ledger_tree_nodes set hash = ? where level = 8 and idx = 0', ['00'.repeat(32)]);
    expect((await log.consistency(100, 300)).to_root).toBe(naiveRoot(hashes.slice(0, 300)).toString('hex'));
    await place.sql('delete from ledger_tree_nodes where idx = 1');
    await ledger.close();
    await open();
    expect(verified(await log.checkpoint()).root).toEqual(before.root);
  });

  it('never signs a second history, even one whose chain was made to hold', async () => {
    await append(5);
    await log.checkpoint();
    await ledger.close();
    await place.unlock();
    // An attacker with the keys replaces the ledger by another, and leaves the checkpoints.
    for (const table of ['entry_payloads', 'ledger_entries']) await place.sql(`delete from ${table}`);
    await place.sql(`update ledger_head set length = 0, head_hash = ?, head_seal = null`, ['0'.repeat(64)]);
    await open();
    await ledger.append([testRow()]);
    // The chain is shorter than the signed checkpoint: entries are missing.
    expect(await ledger.verify()).toMatchObject({
      valid: false,
      first_invalid_seq: 2,
      first_invalid_reason: 'head',
      entries_checked: 1,
    });
    await expect(log.checkpoint()).rejects.toMatchObject({ code: 'chain_verification_incomplete' });
    await ledger.append(Array.from({ length: 10 }, () => testRow()));
    expect((await ledger.verify()).valid).toBe(true);
    await expect(log.checkpoint()).rejects.toMatchObject({ code: 'checkpoint_inconsistent' });
    await expect(log.inclusion({ seq: 1 })).rejects.toMatchObject({ code: 'checkpoint_inconsistent' });
  });

  it('proves the place of a row of an erased tenant without showing it', async () => {
    await append(3);
    await ledger.erasure.tombstoneTenant('acme');
    const proof = await log.inclusion({ seq: 2 });
    expect(proof).toMatchObject({ seq: 2, entry_hash: hashes[1], entry: null });
    expect(verifyProofBundle(makeProofBundle(proof)).valid).toBe(true);
  });

  it('signs nothing over a chain that does not verify', async () => {
    await append(3);
    await place.unlock();
    await place.sql("update ledger_entries set reasoning = 'other' where seq = 2");
    await expect(log.checkpoint()).rejects.toMatchObject({ code: 'chain_verification_incomplete' });
    expect(await place.sql('select * from ledger_checkpoints')).toEqual([]);
  });

  it('refuses to forget what it signed: the store does not change checkpoints', async () => {
    await append(1);
    await log.checkpoint();
    await expect(place.sql("update ledger_checkpoints set note = ''")).rejects.toThrow(/append-only/);
    await expect(place.sql('delete from ledger_checkpoints')).rejects.toThrow(/append-only/);
  });

  describe('cosignatures of witnesses (C2SP tlog-cosignature)', () => {
    const at = () => Math.floor(now / 1000);
    const textOf = (checkpoint: string) => parseCheckpoint(checkpoint).note.text;

    it('are kept and served with the checkpoint; a repeat changes nothing', async () => {
      await append(3);
      const checkpoint = await log.checkpoint();
      const line = cosign(textOf(checkpoint), witnessKey.name, witness.privateKey, at());
      const stranger = cosign(textOf(checkpoint), 'stranger', generateKeyPairSync('ed25519').privateKey, at());
      const result = { tree_size: 3, accepted: [{ witness: witnessKey.name, cosigned_at: at() }] };
      expect(await log.cosign(`${checkpoint}${stranger}\n${line}\n`)).toEqual(result);
      expect(await log.cosign(`${textOf(checkpoint)}\n${line}\n`)).toEqual(result);
      const served = await log.checkpoint();
      expect(served).toBe(`${checkpoint}${line}\n`);
      expect(verifiedSignatures(parseCheckpoint(served).note, [witnessKey])).toHaveLength(1);
      expect((await log.inclusion({ seq: 2 })).checkpoint).toBe(served);
    });

    it('are refused when they do not hold, come from nobody known, from the future, or under another checkpoint', async () => {
      await append(3);
      const checkpoint = await log.checkpoint();
      const text = textOf(checkpoint);
      const signed = (over: string, seconds = at(), by = witness.privateKey) =>
        `${text}\n${cosign(over, witnessKey.name, by, seconds)}\n`;
      const other = text.replace(/^3$/m, '4');
      const refused = {
        'over other bytes': signed(other),
        'from the future': signed(text, at() + 3_600),
        'by an unknown key': signed(text, at(), generateKeyPairSync('ed25519').privateKey),
        'under a checkpoint nobody signed': `${other}\n${cosign(other, witnessKey.name, witness.privateKey, at())}\n`,
        "with the log's signature alone": checkpoint,
        'no note': 'hello',
      };
      for (const [what, note] of Object.entries(refused))
        expect([what, await log.cosign(note).catch((error: { code: string }) => error.code)]).toEqual([
          what,
          'cosignature_invalid',
        ]);
      expect(await log.checkpoint()).toBe(checkpoint);
    });
  });

  it('a plain signature by a witness is no cosignature', async () => {
    await ledger.close();
    const plain = noteKey('witness.test/w1', createPublicKey(witness.privateKey));
    await open(key, [plain]);
    await append(1);
    await expect(log.cosign(await log.checkpoint())).rejects.toMatchObject({ code: 'cosignature_invalid' });
  });
});
