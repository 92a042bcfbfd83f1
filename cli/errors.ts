/** Why a command failed, in one line, with the exit code for this kind of failure. */
export class CliError extends Error {
  constructor(
    message: string,
    readonly exitCode: number = 1,
  ) {
    super(message);
  }
}
