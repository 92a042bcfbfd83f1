/** A call with more drift than this is not authorised. */
export const DRIFT_THRESHOLD = 0.6;
