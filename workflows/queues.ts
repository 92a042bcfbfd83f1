const PARKED = '-parked';

/** The queue on which parked calls wait, so that a thousand deadlines at once do not delay new calls. */
export const parkedQueueOf = (taskQueue: string): string => `${taskQueue}${PARKED}`;

/**
 * The queue of rows that the ledger did not take at once, for runs on either queue: when a ledger comes back, the rows of all calls since
 * are due together, and new calls must not stand behind them.
 */
export const owedQueueOf = (taskQueue: string): string => `${callsQueueOf(taskQueue)}-owed`;

/** The queue of inspections by models: they take seconds, and must not take the places of attempts at tools. */
export const inspectionQueueOf = (taskQueue: string): string => `${callsQueueOf(taskQueue)}-inspect`;

function callsQueueOf(taskQueue: string): string {
  let calls = taskQueue;
  while (calls.endsWith(PARKED)) calls = calls.slice(0, -PARKED.length);
  return calls;
}
