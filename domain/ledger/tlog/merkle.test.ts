import { hash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  completeNodes,
  completeRoot,
  consistencyHolds,
  consistencySpans,
  EMPTY_ROOT,
  inclusionHolds,
  inclusionSpans,
  leafHash,
  nodeHash,
  spanRoot,
} from './merkle.js';

/** RFC 6962 section 2.1, written exactly as defined there: the reference for everything else. */
function mth(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return hash('sha256', '', 'buffer');
  if (leaves.length === 1) return hash('sha256', Buffer.concat([Buffer.of(0), leaves[0] as Buffer]), 'buffer');
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  return hash('sha256', Buffer.concat([Buffer.of(1), mth(leaves.slice(0, k)), mth(leaves.slice(k))]), 'buffer');
}
function path(m: number, leaves: readonly Buffer[]): Buffer[] {
  if (leaves.length <= 1) return [];
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  return m < k
    ? [...path(m, leaves.slice(0, k)), mth(leaves.slice(k))]
    : [...path(m - k, leaves.slice(k)), mth(leaves.slice(0, k))];
}
function subproof(m: number, leaves: readonly Buffer[], whole: boolean): Buffer[] {
  if (m === leaves.length) return whole ? [] : [mth(leaves)];
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  return m <= k
    ? [...subproof(m, leaves.slice(0, k), whole), mth(leaves.slice(k))]
    : [...subproof(m - k, leaves.slice(k), false), mth(leaves.slice(0, k))];
}

const leavesOf = (count: number, salt = ''): Buffer[] =>
  Array.from({ length: count }, (_, index) => hash('sha256', `${salt}${index}`, 'buffer'));
const rootOf = (leaves: readonly Buffer[]) => mth(leaves);
/** The roots of spans, computed from the nodes that a store keeps. */
const resolve = (leaves: readonly Buffer[], spans: readonly { from: number; to: number }[]) =>
  spans.map((span) =>
    spanRoot(
      completeNodes(span).map(({ level, index }) =>
        completeRoot(leaves.slice(index * 2 ** level, (index + 1) * 2 ** level).map(leafHash)),
      ),
    ),
  );

describe('the Merkle tree of RFC 6962', () => {
  it('gives the roots and paths of the test vectors that implementations of RFC 6962 share', () => {
    // From the certificate-transparency project's Merkle tests: eight leaves, and the roots of the trees of the first 1 to 8 of them.
    const inputs = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'];
    const roots = [
      '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
      'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
      'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
      '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
      '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
      'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
      '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
    ];
    const leaves = inputs.map((text) => Buffer.from(text, 'hex'));
    expect(EMPTY_ROOT.toString('hex')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    roots.forEach((root, index) => {
      const part = leaves.slice(0, index + 1);
      const hashes = completeNodes({ from: 0, to: part.length }).map((node) =>
        completeRoot(part.slice(node.index * 2 ** node.level, (node.index + 1) * 2 ** node.level).map(leafHash)),
      );
      expect(spanRoot(hashes).toString('hex')).toBe(root);
    });
    const texts = (proof: Buffer[]) => proof.map((node) => node.toString('hex'));
    expect(texts(resolve(leaves, inclusionSpans(5, 8)))).toEqual([
      'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
      'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ]);
    expect(texts(resolve(leaves, consistencySpans(6, 8)))).toEqual([
      '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
      'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ]);
  });

  it('agrees with the text of the RFC on every tree up to 24 leaves', () => {
    for (let size = 0; size <= 24; size++) {
      const leaves = leavesOf(size);
      expect(resolve(leaves, [{ from: 0, to: size }])[0]).toEqual(rootOf(leaves));
      for (let index = 0; index < size; index++)
        expect(resolve(leaves, inclusionSpans(index, size))).toEqual(path(index, leaves));
      for (let old = 1; old <= size; old++)
        expect(resolve(leaves, consistencySpans(old, size))).toEqual(subproof(old, leaves, true));
    }
  });

  it('accepts exactly the proofs the RFC makes', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), fc.nat(), fc.nat(), (size, a, b) => {
        const leaves = leavesOf(size);
        const index = a % size;
        const old = (b % size) + 1;
        const root = rootOf(leaves);
        const proof = path(index, leaves);
        const leaf = leafHash(leaves[index] as Buffer);
        expect(inclusionHolds({ leaf, index, size, root, proof })).toBe(true);
        const oldRoot = rootOf(leaves.slice(0, old));
        const grown = { old, oldRoot, size, root, proof: subproof(old, leaves, true) };
        expect(consistencyHolds(grown)).toBe(true);
      }),
      { seed: 6962, numRuns: 150 },
    );
  });

  it('refuses a proof with any one thing changed', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 200 }), fc.nat(), fc.nat(), fc.nat(), (size, a, b, c) => {
        const leaves = leavesOf(size);
        const index = a % size;
        const root = rootOf(leaves);
        const proof = path(index, leaves);
        const claim = { leaf: leafHash(leaves[index] as Buffer), index, size, root, proof };
        const flipped = (bytes: Buffer) => {
          const copy = Buffer.from(bytes);
          const at = b % copy.length;
          copy[at] = (copy[at] as number) ^ (1 << (c % 8));
          return copy;
        };
        const at = c % proof.length;
        const refused = [
          { ...claim, leaf: flipped(claim.leaf) },
          { ...claim, root: flipped(root) },
          { ...claim, proof: proof.with(at, flipped(proof[at] as Buffer)) },
          { ...claim, proof: proof.toSpliced(at, 1) },
          { ...claim, proof: [...proof, leaves[0] as Buffer] },
          { ...claim, index: (index + 1) % size },
          { ...claim, index: size },
          { ...claim, index: -1 },
          { ...claim, index: 0.5 },
        ];
        for (const wrong of refused) expect(inclusionHolds(wrong)).toBe(false);
        const old = (b % (size - 1)) + 1;
        const steps = subproof(old, leaves, true);
        const grown = { old, oldRoot: rootOf(leaves.slice(0, old)), size, root, proof: steps };
        const step = c % steps.length;
        const rejected = [
          { ...grown, oldRoot: flipped(grown.oldRoot) },
          { ...grown, root: flipped(root) },
          { ...grown, proof: steps.with(step, flipped(steps[step] as Buffer)) },
          { ...grown, proof: steps.toSpliced(step, 1) },
          { ...grown, proof: [...steps, leaves[0] as Buffer] },
          { ...grown, old: size + 1 },
          { ...grown, proof: [] },
        ];
        for (const wrong of rejected) expect(consistencyHolds(wrong)).toBe(false);
      }),
      { seed: 9162, numRuns: 100 },
    );
  });

  it('two trees of one size prove nothing but that they are the same; every tree begins with the empty one', () => {
    const [one, other] = [rootOf(leavesOf(5)), rootOf(leavesOf(5, 'other'))];
    expect(consistencyHolds({ old: 5, oldRoot: one, size: 5, root: one, proof: [] })).toBe(true);
    expect(consistencyHolds({ old: 5, oldRoot: other, size: 5, root: one, proof: [] })).toBe(false);
    expect(consistencyHolds({ old: 0, oldRoot: EMPTY_ROOT, size: 5, root: one, proof: [] })).toBe(true);
    expect(consistencyHolds({ old: 0, oldRoot: other, size: 5, root: one, proof: [] })).toBe(false);
    expect(consistencyHolds({ old: 0, oldRoot: EMPTY_ROOT, size: 5, root: one, proof: [one] })).toBe(false);
  });

  it('works past 2^32 leaves, where 32-bit arithmetic would wrap', () => {
    const size = 2 ** 33 + 3;
    expect(completeNodes({ from: 0, to: size })).toEqual([
      { level: 33, index: 0 },
      { level: 1, index: 2 ** 32 },
      { level: 0, index: 2 ** 33 + 2 },
    ]);
    const leaf = leafHash(Buffer.from('leaf'));
    const siblings = Array.from({ length: 33 }, (_, level) => hash('sha256', `s${level}`, 'buffer'));
    const left = siblings.reduce<Buffer>((at, sibling) => nodeHash(sibling, at), leaf);
    const right = hash('sha256', 'right', 'buffer');
    const claim = { leaf, index: 2 ** 33 - 1, size, root: nodeHash(left, right), proof: [...siblings, right] };
    expect(inclusionHolds(claim)).toBe(true);
    expect(inclusionSpans(2 ** 33 - 1, size)).toHaveLength(34);
  });
});
