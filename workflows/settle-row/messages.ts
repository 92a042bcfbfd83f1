/** The workflow's type. */
export const SETTLE_ROW = 'settleRow';
