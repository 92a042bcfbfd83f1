import { durable, local, orReconciled } from './steps.js';

/** Rows now where the ledger takes them, later where it does not; the call never waits for the ledger before it answers. */
export interface Rows {
  /** A step has tried the rows itself and says whether the ledger took them, so the next `append` need not try. */
  tried(taken: boolean): void;
  append(): Promise<void>;
  /** The ledger has taken everything that was handed over: nothing is under way, and nothing was given up. */
  allTaken(): boolean;
  drained(): Promise<void>;
}

export function rowsOf(correlationId: string): Rows {
  /** The retrying activity that is under way. */
  let background: Promise<void> | null = null;
  /** More rows are due since it began. */
  let again = false;
  /** It gave up; the record says that rows are still due. */
  let owed = false;
  let triedByStep = false;
  let takenByStep = false;

  const appendLater = async () => {
    do {
      again = false;
      owed = !(await orReconciled(durable.appendRows(correlationId)));
    } while (again);
    background = null;
  };
  return {
    tried(taken) {
      triedByStep = true;
      takenByStep = taken;
    },
    async append() {
      const tried = triedByStep;
      triedByStep = false;
      if (tried && takenByStep) return;
      if (background) {
        again = true;
        return;
      }
      const appended = !tried && (await local.tryAppendRows(correlationId).catch(() => false));
      if (!appended) background = appendLater();
    },
    allTaken: () => background === null && !owed,
    async drained() {
      while (background) await background;
    },
  };
}
