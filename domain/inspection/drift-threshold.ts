/** Strictly over it, a call is not authorised. */
export const DRIFT_THRESHOLD = 0.6;
