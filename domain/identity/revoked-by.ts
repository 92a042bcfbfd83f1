/** Who takes something back or gives it again, why and when. */
export interface RevokedBy {
  readonly by: string;
  readonly reason: string | null;
  readonly nowMs: number;
}
