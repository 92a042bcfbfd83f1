import { DEMONSTRATION } from '../demo/demonstration.js';
import type { DevelopmentFile, Stack } from '../stack/development-file.js';
import { startDevelopment } from '../stack/development.js';
import { answerQuestions, ownCpuMs, ownMemory, type OwnMemory } from './child.js';

/** Gate's side: the whole stack as `gate start` brings it up, settings from the environment. */
const answers = {
  async start(): Promise<DevelopmentFile> {
    stack = await startDevelopment({
      demonstration: DEMONSTRATION,
      env: process.env,
      progress: () => undefined,
    });
    return stack.development;
  },
  cpuMs: async (): Promise<number> => ownCpuMs(),
  memory: async (): Promise<OwnMemory> => ownMemory(),
};
export type GateQuestions = typeof answers;

let stack: Stack | undefined;

answerQuestions(answers, async () => {
  await stack?.stop();
});
