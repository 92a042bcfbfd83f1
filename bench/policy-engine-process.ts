import { pino } from 'pino';
import { Registry } from 'prom-client';
import { loadPolicySet } from '../adapters/policy/load-policy-set.js';
import { shippedPolicyDirectory } from '../adapters/policy/policy-sources.js';
import { openManagement, type PolicyManagement } from '../api/policy/management.js';
import { createPolicyService } from '../api/policy/app.js';
import type { PolicyStore } from '../domain/policy/library-ports.js';
import { type Blocks, watchedBlocks } from './blocks.js';
import { answerQuestions } from './child.js';
import { benchCompiler, NO_LEDGER, policyStoreOf } from './policy-parts.js';
import { openTemplates } from '../adapters/policy/template-files.js';

let management: PolicyManagement | undefined;
let store: PolicyStore | undefined;
let close: (() => Promise<void>) | undefined;
let watched: ReturnType<typeof watchedBlocks> | undefined;

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
    watched?.stop();
    watched = watchedBlocks();
  },
  async blocks(): Promise<Blocks | undefined> {
    return watched?.stop();
  },
};
export type PolicyEngineQuestions = typeof answers;

answerQuestions(answers, async () => {
  watched?.stop();
  await close?.();
  await management?.close();
  await store?.close();
});
