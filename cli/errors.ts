/** What a command could not do, in one line, with the exit code that says which kind of failure it was. */
export class CliError extends Error {
  constructor(
    message: string,
    readonly exitCode: number = 1,
  ) {
    super(message);
  }
}
