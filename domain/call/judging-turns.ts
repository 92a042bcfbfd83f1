/** How many calls are judged at once. */
export interface JudgedAtOnce {
  /** Of all agents. */
  readonly together: number;
  /** Of one agent. */
  readonly each: number;
  /** How many more of one agent may wait for their turn. */
  readonly waiting: number;
}

/** Gives a turn back; called again it does nothing. */
export type GiveBack = () => void;

export interface JudgingTurns {
  /**
   * A turn of this agent. `full` at once where too many of its calls wait already; `late` where the turn does not come within that time.
   */
  take(agent: string, withinMs: number): Promise<GiveBack | 'full' | 'late'>;
  /** Calls that have a turn. */
  underWay(): number;
  /** Calls that wait for one. */
  waiting(): number;
}

interface Waiter {
  readonly begin: (giveBack: GiveBack) => void;
}

/**
 * Who is judged next. Agents take turns: one whose call had a turn goes behind all agents that wait, so a burst of one agent stands behind
 * itself and not before a single call of another. The calls of one agent keep their order.
 */
export function createJudgingTurns({ together, each, waiting: most }: JudgedAtOnce): JudgingTurns {
  /** By agent, in the order of the agents' turns. */
  const lines = new Map<string, Set<Waiter>>();
  const taken = new Map<string, number>();
  let all = 0;
  let waiting = 0;

  const hasRoom = (agent: string) => (taken.get(agent) ?? 0) < each;

  function begun(agent: string): GiveBack {
    all += 1;
    taken.set(agent, (taken.get(agent) ?? 0) + 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      all -= 1;
      const left = (taken.get(agent) ?? 0) - 1;
      if (left > 0) taken.set(agent, left);
      else taken.delete(agent);
      beginNext();
    };
  }

  function leaves(agent: string, waiter: Waiter): void {
    const line = lines.get(agent);
    if (!line?.delete(waiter)) return;
    waiting -= 1;
    if (line.size === 0) lines.delete(agent);
  }

  function beginNext(): void {
    while (all < together) {
      const next = [...lines].find(([agent]) => hasRoom(agent));
      if (!next) return;
      const [agent, line] = next;
      const [waiter] = line;
      if (!waiter) return;
      leaves(agent, waiter);
      if (lines.delete(agent)) lines.set(agent, line);
      waiter.begin(begun(agent));
    }
  }

  return {
    take(agent, withinMs) {
      const line = lines.get(agent);
      if (!line && all < together && hasRoom(agent)) return Promise.resolve(begun(agent));
      if ((line?.size ?? 0) >= most) return Promise.resolve('full');
      return new Promise((resolve) => {
        const late = setTimeout(() => {
          leaves(agent, waiter);
          resolve('late');
        }, withinMs).unref();
        const waiter: Waiter = {
          begin(giveBack) {
            clearTimeout(late);
            resolve(giveBack);
          },
        };
        lines.set(agent, (line ?? new Set()).add(waiter));
        waiting += 1;
      });
    },
    underWay: () => all,
    waiting: () => waiting,
  };
}
