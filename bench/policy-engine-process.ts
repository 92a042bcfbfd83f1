import { readFileSync } from 'node:fs';
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { loadPolicySet } from '../adapters/policy/load-policy-set.js';
import { shippedPolicyDirectory } from '../adapters/policy/policy-sources.js';
import { openManagement, type PolicyManagement } from '../api/policy/management.js';
import { createPolicyService } from '../api/policy/app.js';
import type { PolicyStore } from '../domain/policy/library-ports.js';
import { answerQuestions } from './child.js';
import { benchCompiler, NO_LEDGER, policyStoreOf } from './policy-parts.js';
import { openTemplates } from '../adapters/policy/template-files.js';

let management: PolicyManagement | undefined;
let store: PolicyStore | undefined;
let close: (() => Promise<void>) | undefined;
let delay: IntervalHistogram | undefined;
let ticks: NodeJS.Timeout | undefined;
let longestWorkMs = 0;

/** What the first thread of this process has worked; null where the system does not say it. */
function workedMs(): number | null {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'latin1').split(' ', 1)[0]) / 1e6;
  } catch {
    return null;
  }
}

/** A policy engine of its own over a store that others change, too. It speaks plain HTTP to one caller. */
const answers = {
  async start({ file }: { file: string }): Promise<string> {
    const floor = await loadPolicySet({ directory: shippedPolicyDirectory() });
    store = await policyStoreOf(file);
    management = await openManagement({
      floor,
      store,
      templates: openTemplates(),
      compiler: benchCompiler(),
      ledger: NO_LEDGER,
      log: pino({ level: 'silent' }),
    });
    management.begin();
    const service = createPolicyService({
      policies: floor,
      management,
      registry: new Registry(),
      logger: pino({ level: 'silent' }),
      trustDomain: 'gate.local',
      resolveCaller: () => ({
        kind: 'service',
        spiffe: 'spiffe://gate.local/service/console',
        callerId: 'service-console',
        fingerprint: 'f'.repeat(64),
      }),
    });
    const { port } = await service.listen({ host: '127.0.0.1', port: 0, healthHost: '127.0.0.1', healthPort: 0 });
    close = () => service.close();
    return `http://127.0.0.1:${port}`;
  },
  async watchBlocks(): Promise<void> {
    delay?.disable();
    delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    clearInterval(ticks);
    longestWorkMs = 0;
    let last = workedMs();
    ticks = setInterval(() => {
      const now = workedMs();
      if (now !== null && last !== null) longestWorkMs = Math.max(longestWorkMs, now - last);
      last = now;
    }, 1);
  },
  /** The longest time in which nothing else ran here, milliseconds. */
  async longestBlockMs(): Promise<number> {
    delay?.disable();
    return (delay?.max ?? 0) / 1e6;
  },
  /** The most that was worked here between two ticks of a millisecond: other work on the machine adds nothing to it. 0 where it is not known. */
  async longestWorkMs(): Promise<number> {
    clearInterval(ticks);
    return longestWorkMs;
  },
};
export type PolicyEngineQuestions = typeof answers;

answerQuestions(answers, async () => {
  clearInterval(ticks);
  await close?.();
  await management?.close();
  await store?.close();
});
