/**
 * What waits, in turns of those who asked: of each at most one is under way, and whoever had a turn stands behind everybody who waits.
 * However much one of them asks, another waits for one of his at most.
 */
export interface FairQueue<Item> {
  /** How many wait, of everybody. */
  readonly size: number;
  /** How many could be taken now: one of each who waits and has none under way. */
  readonly ready: number;
  /** What `take` would give now. */
  readonly next: Item | undefined;
  /** How many of one wait. */
  waitingOf(who: string): number;
  add(who: string, item: Item): void;
  /** The next in turn, which is under way until `done`. */
  take(): { readonly who: string; readonly item: Item } | undefined;
  /** What was taken for him is no longer under way. */
  done(who: string): void;
  /** Takes one out that waits. */
  remove(who: string, item: Item): void;
  /** Everything that waits, taken out. */
  clear(): Item[];
}

export function createFairQueue<Item>(): FairQueue<Item> {
  const waiting = new Map<string, Item[]>();
  /** In the order of their turns. */
  const turns = new Set<string>();
  const underWay = new Set<string>();
  let size = 0;
  return {
    get size() {
      return size;
    },
    get ready() {
      return turns.size;
    },
    get next() {
      const [who] = turns;
      return who === undefined ? undefined : waiting.get(who)?.[0];
    },
    waitingOf: (who) => waiting.get(who)?.length ?? 0,
    add(who, item) {
      const own = waiting.get(who);
      if (own === undefined) waiting.set(who, [item]);
      else own.push(item);
      if (!underWay.has(who)) turns.add(who);
      size += 1;
    },
    take() {
      const [who] = turns;
      const own = who === undefined ? undefined : waiting.get(who);
      if (who === undefined || own === undefined) return undefined;
      const item = own.shift() as Item;
      if (own.length === 0) waiting.delete(who);
      turns.delete(who);
      underWay.add(who);
      size -= 1;
      return { who, item };
    },
    done(who) {
      underWay.delete(who);
      if (waiting.has(who)) turns.add(who);
    },
    remove(who, item) {
      const own = waiting.get(who) ?? [];
      const at = own.indexOf(item);
      if (at === -1) return;
      own.splice(at, 1);
      size -= 1;
      if (own.length > 0) return;
      waiting.delete(who);
      turns.delete(who);
    },
    clear() {
      const all = [...waiting.values()].flat();
      waiting.clear();
      turns.clear();
      size = 0;
      return all;
    },
  };
}
