/** The position of a walk over calls: behind the last call it looked at, in the walk's order. */
export interface WalkPlace {
  readonly ms: number;
  readonly id: string;
}
export const WALK_START: WalkPlace = { ms: -1, id: '' };
