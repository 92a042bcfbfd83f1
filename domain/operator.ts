/** Whose word it is: an operator of this tenant. */
export interface Operator {
  readonly tenant: string;
  readonly subject: string;
}
