/** A failed start that the operator can fix: printed as one line, without a stack. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
