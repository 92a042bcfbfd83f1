import type { ReachedRecord } from '../../contracts/call.js';

/** How a runner appends rows to the ledger. */
export interface RowSteps {
  /** Whether the ledger accepted every due row at once. Never throws. `reached` is the record as the previous step left it. */
  now(reached: ReachedRecord): Promise<boolean>;
  /** The same, however long it takes; `false` when it was given up, and the record says that rows are due. */
  later(): Promise<boolean>;
}

/** The rows of one call: now if the ledger accepts them, otherwise later. The call never waits for the ledger before it answers. */
export interface RowAppender {
  /** A step has tried the rows itself and says whether the ledger accepted them, so the next `append` need not try. */
  tried(taken: boolean): void;
  append(reached: ReachedRecord): Promise<void>;
  /** The ledger has everything that was handed over: nothing is in progress, and nothing was given up. */
  allTaken(): boolean;
  drained(): Promise<void>;
}

/** Only the order of the two ways; free of clocks and I/O, so that a workflow can replay it. */
export function rowAppender({ now, later }: RowSteps): RowAppender {
  /** The retrying append, while it is running. */
  let background: Promise<void> | null = null;
  /** More rows became due after it began. */
  let again = false;
  /** It gave up; the record says that rows are still due. */
  let owed = false;
  let triedByStep = false;
  let takenByStep = false;

  const appendLater = async () => {
    do {
      again = false;
      owed = !(await later());
    } while (again);
    background = null;
  };
  return {
    tried(taken) {
      triedByStep = true;
      takenByStep = taken;
    },
    async append(reached) {
      const tried = triedByStep;
      triedByStep = false;
      if (tried && takenByStep) return;
      if (background) {
        again = true;
        return;
      }
      const appended = !tried && (await now(reached));
      if (!appended) background = appendLater();
    },
    allTaken: () => background === null && !owed,
    async drained() {
      while (background) await background;
    },
  };
}
