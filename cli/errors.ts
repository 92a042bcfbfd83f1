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
