/** A start that failed for a reason the operator can mend: printed as one line, without a stack. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
