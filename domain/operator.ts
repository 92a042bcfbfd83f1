/** An operator of a tenant, on whose behalf something is done. */
export interface Operator {
  readonly tenant: string;
  readonly subject: string;
}
