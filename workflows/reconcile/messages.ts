/** The workflow's type, which the schedule starts. */
export const RECONCILE = 'reconcile';
