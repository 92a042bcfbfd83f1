import { hash } from 'node:crypto';

/** SHA-256 of no bytes: the root of an empty tree (RFC 6962 section 2.1). */
export const EMPTY_ROOT: Buffer = hash('sha256', '', 'buffer');
export const HASH_BYTES = 32;

/** RFC 6962 section 2.1: the hash of one leaf's data. */
export function leafHash(data: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(data.length + 1);
  bytes[0] = 0;
  bytes.set(data, 1);
  return hash('sha256', bytes, 'buffer');
}

const pair = Buffer.alloc(1 + 2 * HASH_BYTES, 1);

/** RFC 6962 section 2.1: the hash of two child nodes. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  pair.set(left, 1);
  pair.set(right, 1 + HASH_BYTES);
  return hash('sha256', pair, 'buffer');
}

/** The root over adjacent complete subtrees of equal height. Their number must be a power of two. */
export function completeRoot(nodes: readonly Uint8Array[]): Buffer {
  let level: Uint8Array[] = [...nodes];
  while (level.length > 1) {
    const above: Uint8Array[] = [];
    for (let index = 0; index < level.length; index += 2)
      above.push(nodeHash(level[index] as Uint8Array, level[index + 1] as Uint8Array));
    level = above;
  }
  return Buffer.from(level[0] as Uint8Array);
}

/** A complete subtree: node `index` of `level` covers the `2^level` leaves from `index * 2^level` on. */
export interface TreeNode {
  readonly level: number;
  readonly index: number;
}

/** The leaves from `from` (inclusive) to `to` (exclusive). */
interface Span {
  readonly from: number;
  readonly to: number;
}

/** The complete subtrees that make up the span, from left to right. `from` must be where the subtree over `span` can begin. */
export function completeNodes({ from, to }: Span): TreeNode[] {
  const nodes: TreeNode[] = [];
  let at = from;
  while (at < to) {
    let level = 0;
    let width = 1;
    while (at % (width * 2) === 0 && at + width * 2 <= to) {
      level += 1;
      width *= 2;
    }
    nodes.push({ level, index: at / width });
    at += width;
  }
  return nodes;
}

/** The root over a span, from its complete subtrees from left to right (RFC 6962: the right subtree is never the larger one). */
export function spanRoot(hashes: readonly Uint8Array[]): Buffer {
  let root: Uint8Array | undefined;
  for (const left of hashes.toReversed()) root = root === undefined ? left : nodeHash(left, root);
  return root === undefined ? EMPTY_ROOT : Buffer.from(root);
}

/** The largest power of two below `width`. */
function split(width: number): number {
  let left = 1;
  while (left * 2 < width) left *= 2;
  return left;
}

/** RFC 6962 section 2.1.1: the spans whose roots prove leaf `index` in a tree of `size` leaves, from the leaf upwards. */
export function inclusionSpans(index: number, size: number): Span[] {
  const spans: Span[] = [];
  let [from, to] = [0, size];
  while (to - from > 1) {
    const middle = from + split(to - from);
    if (index < middle) {
      spans.push({ from: middle, to });
      to = middle;
    } else {
      spans.push({ from, to: middle });
      from = middle;
    }
  }
  return spans.toReversed();
}

/** RFC 6962 section 2.1.2: the spans whose roots prove that the tree of `size` leaves begins with the tree of `old` leaves. */
export function consistencySpans(old: number, size: number): Span[] {
  if (old === 0 || old === size) return [];
  const spans: Span[] = [];
  let [from, to] = [0, size];
  let whole = true;
  while (old !== to) {
    const middle = from + split(to - from);
    if (old <= middle) {
      spans.push({ from: middle, to });
      to = middle;
    } else {
      spans.push({ from, to: middle });
      from = middle;
      whole = false;
    }
  }
  return (whole ? spans : [...spans, { from, to }]).toReversed();
}

export interface InclusionClaim {
  readonly leaf: Uint8Array;
  readonly index: number;
  readonly size: number;
  readonly root: Uint8Array;
  readonly proof: readonly Uint8Array[];
}

/** RFC 9162 section 2.1.3.2: whether `proof` leads from the leaf hash at `index` to the root. Never throws. */
export function inclusionHolds({ leaf, index, size, root, proof }: InclusionClaim): boolean {
  if (!isCount(index) || !isCount(size) || index >= size) return false;
  let [fn, sn] = [index, size - 1];
  let at: Uint8Array = leaf;
  for (const node of proof) {
    if (sn === 0 || node.length !== HASH_BYTES) return false;
    if (fn % 2 === 1 || fn === sn) {
      at = nodeHash(node, at);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [half(fn), half(sn)];
    } else {
      at = nodeHash(at, node);
    }
    [fn, sn] = [half(fn), half(sn)];
  }
  return sn === 0 && same(at, root);
}

export interface ConsistencyClaim {
  readonly old: number;
  readonly oldRoot: Uint8Array;
  readonly size: number;
  readonly root: Uint8Array;
  readonly proof: readonly Uint8Array[];
}

/** RFC 9162 section 2.1.4.2: whether the tree of `size` leaves begins with the tree of `old` leaves. Never throws. */
export function consistencyHolds({ old, oldRoot, size, root, proof }: ConsistencyClaim): boolean {
  if (!isCount(old) || !isCount(size) || old > size) return false;
  if (old === size) return proof.length === 0 && same(oldRoot, root);
  // Every tree begins with the empty tree.
  if (old === 0) return proof.length === 0 && same(oldRoot, EMPTY_ROOT);
  const path = isPowerOfTwo(old) ? [oldRoot, ...proof] : proof;
  const [first, ...rest] = path;
  if (first === undefined || path.some((node) => node.length !== HASH_BYTES)) return false;
  let [fn, sn] = [old - 1, size - 1];
  while (fn % 2 === 1) [fn, sn] = [half(fn), half(sn)];
  let [fr, sr] = [first, first];
  for (const node of rest) {
    if (sn === 0) return false;
    if (fn % 2 === 1 || fn === sn) {
      fr = nodeHash(node, fr);
      sr = nodeHash(node, sr);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [half(fn), half(sn)];
    } else {
      sr = nodeHash(sr, node);
    }
    [fn, sn] = [half(fn), half(sn)];
  }
  return sn === 0 && same(fr, oldRoot) && same(sr, root);
}

// Division instead of bit operators, which wrap above 2^31.
const half = (value: number): number => Math.floor(value / 2);
const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;
const isPowerOfTwo = (value: number): boolean => split(value * 2) === value;
const same = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0;
