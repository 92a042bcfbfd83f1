import type { ChannelTurns, DueNotice, Turn } from './ports.js';

const lineOf = ({ urgent }: Turn): string => (urgent ? 'escalations' : 'others');
const ownerOf = (turn: Turn): string => JSON.stringify([lineOf(turn), ...turn.who]);
const earlier = (one: DueNotice, other: DueNotice): number =>
  one.dueMs - other.dueMs || (one.notification_id < other.notification_id ? -1 : 1);

export function createChannelTurns(): ChannelTurns {
  /** The number of the last turn of each line, and of each agent in its line; who is not here had none. */
  const last = new Map<string, number>();
  let count = 0;

  /** Whoever waits no more, and would be before all who wait: having had no turn says the same of them. */
  function forget(waiting: ReadonlySet<string>): void {
    let first = Number.POSITIVE_INFINITY;
    for (const owner of waiting) first = Math.min(first, last.get(owner) ?? 0);
    for (const [owner, turn] of last) if (turn < first && !waiting.has(owner)) last.delete(owner);
  }

  return {
    next(due, limit) {
      const lines = new Map<string, Map<string, DueNotice[]>>();
      // Where neither line had a turn, that of escalations is first.
      for (const one of due.toSorted(
        (each, other) => Number(other.urgent) - Number(each.urgent) || earlier(each, other),
      )) {
        const owners = lines.get(lineOf(one)) ?? new Map<string, DueNotice[]>();
        lines.set(lineOf(one), owners);
        const own = owners.get(ownerOf(one)) ?? [];
        owners.set(ownerOf(one), own);
        own.push(one);
      }
      forget(new Set([...lines].flatMap(([line, owners]) => [line, ...owners.keys()])));
      const turns = new Map(last);
      const firstOf = (names: Iterable<string>): string | undefined =>
        [...names].reduce<string | undefined>(
          (first, name) => (first === undefined || (turns.get(name) ?? 0) < (turns.get(first) ?? 0) ? name : first),
          undefined,
        );
      const chosen: DueNotice[] = [];
      while (chosen.length < limit) {
        const line = firstOf(lines.keys());
        const owners = line === undefined ? undefined : lines.get(line);
        const owner = owners && firstOf(owners.keys());
        const one = owner === undefined ? undefined : owners?.get(owner)?.shift();
        if (line === undefined || owners === undefined || owner === undefined || one === undefined) break;
        chosen.push(one);
        turns.set(line, count + chosen.length).set(owner, count + chosen.length);
        if (owners.get(owner)?.length === 0) owners.delete(owner);
        if (owners.size === 0) lines.delete(line);
      }
      return chosen;
    },
    had(turn) {
      count += 1;
      last.set(lineOf(turn), count).set(ownerOf(turn), count);
    },
  };
}
