import 'reflect-metadata';
import { runCommand } from './program.js';

process.exitCode = await runCommand(process.argv, async (program) => {
  const [processes, operator] = await Promise.all([import('./processes.js'), import('./operator.js')]);
  processes.registerProcessCommands(program);
  operator.registerOperatorCommands(program);
});
