import pino from 'pino';
import 'reflect-metadata';
import { readLiteConfig } from '../config/lite.js';
import { startLite, type Lite } from '../lite/serve.js';
import { answerQuestions, ownCpuMs, ownMemory, type OwnMemory } from './child.js';

/** The lite edition as the command starts it, in a process of its own. */
let running: Lite | undefined;
const answers = {
  async start({
    upstream,
    ledger,
    env = {},
  }: {
    upstream: string;
    ledger: string;
    env?: Record<string, string>;
  }): Promise<string> {
    const config = readLiteConfig({
      GATE_LITE_PORT: '0',
      GATE_LITE_LEDGER: ledger,
      GATE_LITE_UPSTREAM_URL: upstream,
      GATE_LITE_UPSTREAM_ADAPTER: 'raw-json',
      GATE_LITE_VELOCITY_LIMIT: '0',
      GATE_LITE_MAX_PARKED_CALLS: '1000000',
      GATE_LITE_MAX_PARKED_BYTES: '10000000000',
      ...env,
    });
    running = await startLite({ config, logger: pino({ level: 'silent' }) });
    return running.url;
  },
  cpuMs: async (): Promise<number> => ownCpuMs(),
  memory: async (): Promise<OwnMemory> => ownMemory(),
};
export type LiteGateQuestions = typeof answers;

answerQuestions(answers, async () => running?.close());
