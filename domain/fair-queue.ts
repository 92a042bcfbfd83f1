/**
 * A queue with turns: each owner has at most one item in progress, and after a turn goes behind all owners who wait. However much one owner
 * adds, another waits for at most one of its items.
 */
export interface FairQueue<Item> {
  /** The number of waiting items of all owners. */
  readonly size: number;
  /** How many items could be taken now: one of each owner who waits and has none in progress. */
  readonly ready: number;
  /** The item that `take` would return now. */
  readonly next: Item | undefined;
  /** The number of waiting items of one owner. */
  waitingOf(who: string): number;
  add(who: string, item: Item): void;
  /** Takes the next item in turn, which is in progress until `done`. */
  take(): { readonly who: string; readonly item: Item } | undefined;
  /** Marks the owner's item as finished. */
  done(who: string): void;
  /** Removes a waiting item. */
  remove(who: string, item: Item): void;
  /** Removes and returns all waiting items. */
  clear(): Item[];
}

export function createFairQueue<Item>(): FairQueue<Item> {
  const waiting = new Map<string, Item[]>();
  /** The owners in the order of their turns. */
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
