/** How much of something a key may have. Counted in this process. */
export interface Limit {
  /** Takes the amount and returns 0, or takes nothing and returns the seconds to wait. */
  take(key: string, amount: number, nowMs: number): number;
}
