import { runCommand } from './program.js';

/** `gate` as one executable: the lite edition and what operators do with its file; no engine, no services. */
void runCommand(process.argv, async (program) => {
  const operator = await import('./operator.js');
  operator.registerOperatorCommands(program);
}).then((code) => {
  process.exitCode = code;
});
