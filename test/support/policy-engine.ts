import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { loadPolicySet } from '../../adapters/policy/load-policy-set.js';
import { opaCompiler } from '../../adapters/policy/opa-compiler.js';
import { shippedPolicyDirectory } from '../../adapters/policy/policy-sources.js';
import { openPolicyStore } from '../../adapters/policy/policy-store.js';
import { openTemplates } from '../../adapters/policy/template-files.js';
import type { Over } from '../../api/plugins/declaration.js';
import { overInProcess } from '../../api/plugins/over-in-process.js';
import { createPolicyService } from '../../api/policy/app.js';
import { openManagement, type PolicyManagement } from '../../api/policy/management.js';
import type { DecisionSource } from '../../contracts/decided-calls.js';
import type { ReplayRow, ReplaySource } from '../../contracts/replay-rows.js';
import { findOpa } from '../../stack/programs/find-program.js';
import { POLICY_KEYS } from './policy-keys.js';
import { takingLedger } from './taking-ledger.js';

export interface TestPolicyEngine {
  readonly management: PolicyManagement;
  /** Its store, for who edits it. */
  readonly file: string;
  /** As the console reaches it, without a socket. */
  readonly over: Over;
  close(): Promise<void>;
}

/** The policy engine over a store of its own, with OPA; what was recorded is what the test says, of any tenant, and so is what people decided. */
export async function policyEngine(
  rows: readonly ReplayRow[] = [],
  decisions: DecisionSource | null = null,
): Promise<TestPolicyEngine> {
  const folder = mkdtempSync(join(tmpdir(), 'gate-policy-engine-'));
  const directory = shippedPolicyDirectory();
  const floor = await loadPolicySet({ directory });
  const file = join(folder, 'policies.db');
  const store = await openPolicyStore({ file }, POLICY_KEYS);
  const recorded: ReplaySource = {
    replayPage({ after = 0 }) {
      const left = rows.filter(({ seq }) => seq > after);
      return Promise.resolve({ rows: left, next: left.at(-1)?.seq ?? null });
    },
  };
  const management = await openManagement({
    floor,
    store,
    templates: openTemplates(),
    compiler: opaCompiler({ find: () => findOpa({ onProgress: () => undefined }), directory }),
    ledger: takingLedger(),
    recorded,
    decisions,
    log: pino({ level: 'silent' }),
  });
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
  await service.app.ready();
  return {
    management,
    file,
    over: overInProcess(service.app),
    async close() {
      await service.close();
      await management.close();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
