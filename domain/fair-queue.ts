/**
 * A queue with turns: each owner has at most one item in progress, and after a turn goes behind all owners who wait. However much one owner
 * adds, another waits for at most one of its items. Owners may belong to groups, of which a limited number of items is in progress.
 */
export interface FairQueue<Item> {
  /** The number of waiting items of all owners. */
  readonly size: number;
  /** How many items could be taken now: one of each owner who waits and has none in progress, as far as their groups allow. */
  readonly ready: number;
  /** The item that `take` would return now. */
  readonly next: Item | undefined;
  /** The next item of a group whose limit alone keeps it waiting. */
  heldBack(group: string): Item | undefined;
  /** The number of waiting items of all owners of a group. */
  waitingIn(group: string): number;
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

export interface Groups {
  readonly of: (who: string) => string;
  /** How many items of one group may be in progress. */
  readonly most: number;
}
const NO_GROUPS: Groups = { of: (who) => who, most: Number.POSITIVE_INFINITY };

export function createFairQueue<Item>(groups: Groups = NO_GROUPS): FairQueue<Item> {
  const waiting = new Map<string, Item[]>();
  /** The owners in the order of their turns. */
  const turns = new Set<string>();
  const underWay = new Set<string>();
  let size = 0;
  const leftIn = (group: string): number =>
    groups.most === Number.POSITIVE_INFINITY
      ? groups.most
      : groups.most - [...underWay].filter((who) => groups.of(who) === group).length;
  const nextOwner = (): string | undefined => {
    for (const who of turns) if (leftIn(groups.of(who)) > 0) return who;
    return undefined;
  };
  return {
    get size() {
      return size;
    },
    get ready() {
      if (groups.most === Number.POSITIVE_INFINITY) return turns.size;
      const byGroup = new Map<string, number>();
      for (const who of turns) byGroup.set(groups.of(who), (byGroup.get(groups.of(who)) ?? 0) + 1);
      return [...byGroup].reduce((all, [group, count]) => all + Math.min(count, Math.max(0, leftIn(group))), 0);
    },
    get next() {
      const who = nextOwner();
      return who === undefined ? undefined : waiting.get(who)?.[0];
    },
    heldBack(group) {
      if (leftIn(group) > 0) return undefined;
      const who = [...turns].find((one) => groups.of(one) === group);
      return who === undefined ? undefined : waiting.get(who)?.[0];
    },
    waitingIn: (group) =>
      [...waiting].reduce((all, [who, own]) => all + (groups.of(who) === group ? own.length : 0), 0),
    waitingOf: (who) => waiting.get(who)?.length ?? 0,
    add(who, item) {
      const own = waiting.get(who);
      if (own === undefined) waiting.set(who, [item]);
      else own.push(item);
      if (!underWay.has(who)) turns.add(who);
      size += 1;
    },
    take() {
      const who = nextOwner();
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
