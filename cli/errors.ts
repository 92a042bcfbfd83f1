/** The exit code where Gate has no such thing, or none that the caller may see. */
export const NO_SUCH_THING = 4;

/** Why a command failed, in one line, with the exit code for this kind of failure and, where Gate refused, the code of its refusal. */
export class CliError extends Error {
  constructor(
    message: string,
    readonly exitCode: number = 1,
    readonly code?: string,
  ) {
    super(message);
  }
}
