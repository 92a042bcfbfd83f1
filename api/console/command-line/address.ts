/** Where everything is that a command line asks. */
export const COMMAND_LINE = '/command-line';
