import { LITE_COMMANDS, OPERATOR_COMMANDS } from './file-commands.js';
import { runCommand } from './program.js';

/** `gate` as one executable: the lite edition and the commands for its file; no engine and no services. */
void runCommand(process.argv, { ...OPERATOR_COMMANDS, ...LITE_COMMANDS }).then((code) => {
  process.exitCode = code;
});
