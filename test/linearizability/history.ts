/** What was asked of one review, by whom, when, and what was answered, for the checker in `checker/`. */
export interface Operation {
  readonly client: number;
  /** Nanoseconds of this process's monotonic clock. */
  readonly call: number;
  /** `null`: no answer came, or one that leaves open whether anything happened. */
  readonly return: number | null;
  readonly input: {
    /** `read`: the row. `link`: whether a decision link still leads to something that waits. `end`: what an answer to something else says of the end. `final`: the row when all is over. */
    readonly kind: 'approve' | 'deny' | 'modify' | 'expire' | 'assign' | 'incident' | 'read' | 'link' | 'end' | 'final';
    readonly subject?: string;
    readonly request?: string;
    readonly value?: string;
    readonly required: number;
  };
  readonly output: {
    readonly known: boolean;
    /** The code of a refusal. */
    readonly refused?: string;
    /** Of a review; of an approval also `counted`. */
    readonly status?: string;
    readonly by?: string;
    readonly approvals?: readonly string[];
    readonly assigned?: string;
    readonly incident?: string;
  };
}

export interface History {
  readonly id: string;
  readonly operations: Operation[];
}

/** A history as somebody reads it: milliseconds from its first operation, who asked what, what was answered. */
export function linesOf({ id, operations }: History): readonly string[] {
  const sorted = operations.toSorted((one, other) => one.call - other.call);
  const first = sorted[0]?.call ?? 0;
  const ms = (at: number | null) => (at === null ? 'never' : Math.round((at - first) / 1e6));
  const said = (of: object) =>
    Object.entries(of)
      .filter(([name, value]) => name !== 'known' && name !== 'required' && value !== '' && String(value) !== '')
      .map(([name, value]) => `${name} ${String(value)}`)
      .join(', ');
  return [
    id,
    ...sorted.map(
      ({ call, return: ended, input, output }) => `${ms(call)} to ${ms(ended)}: ${said(input)} => ${said(output)}`,
    ),
  ];
}
