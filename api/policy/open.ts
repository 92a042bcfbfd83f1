import type { Config } from '../../config/env.js';
import type { POLICY_SETTINGS } from '../../config/policy.js';
import { createLocalEvaluator } from '../../adapters/policy/local-evaluator.js';
import { opaCompiler } from '../../adapters/policy/opa-compiler.js';
import { openTemplates } from '../../adapters/policy/template-files.js';
import { openPolicyStore } from '../../adapters/policy/policy-store.js';
import { shippedPolicyDirectory } from '../../adapters/policy/policy-sources.js';
import { BRAIN } from '../brain/service.js';
import { LEDGER } from '../ledger/service.js';
import { openManagement } from './management.js';
import { listenerOf, type Opened, type Opening } from '../plugins/declaration.js';
import { needed } from '../plugins/start.js';
import { createPolicyService } from './app.js';
import type { PolicyPort } from './port.js';
import { loadPolicySet } from '../../adapters/policy/load-policy-set.js';

interface Settings {
  readonly own: Config<typeof POLICY_SETTINGS>;
}

export async function open({ config: { own }, ...parts }: Opening<Settings>): Promise<Opened<PolicyPort>> {
  const policies = await needed('policies', loadPolicySet({ directory: own.directory ?? shippedPolicyDirectory() }));
  // For services in this process. The HTTP service creates its own evaluator, which its metrics observe.
  const store = await needed(
    'the store of policies',
    openPolicyStore(parts.storeTarget('policies'), own.storeKeys, {
      onAdopted: (rows) =>
        parts.logger.warn(
          { rows },
          'policies of an earlier Gate were sealed as they are; this happens once for a store',
        ),
      onRenewed({ renewed, left }) {
        if (Object.keys(left).length === 0)
          return parts.logger.info(
            { renewed },
            'the rows of policies are under the newest key; no earlier one is needed',
          );
        parts.logger.warn(
          { renewed, left },
          'rows of policies are still under another key than the newest; keep the earlier keys until these are mended',
        );
      },
    }),
  );
  parts.onStop('stores', 'the store of policies', () => store.close());
  const { ledger, replay, decisions } = await parts.neighbour(LEDGER);
  const management = await needed(
    'the policies of operators',
    openManagement({
      floor: policies,
      store,
      templates: openTemplates(),
      ledger,
      recorded: replay,
      decisions,
      narrator: await parts.neighbour(BRAIN),
      compiler: opaCompiler({
        find: parts.opa,
        directory: shippedPolicyDirectory(),
      }),
      log: parts.logger,
    }),
  );
  parts.onStop('sweeps', 'the watch over policies', () => management.close());
  if (own.seedTemplates) await needed('the templates of policies', management.seed(own.seedTemplateState === 'active'));
  const evaluator = createLocalEvaluator(policies, undefined, {}, management.live.addedFor);
  parts.onStop('threads', 'the threads that judge', () => evaluator.close());
  return {
    port: {
      evaluate: (input) => evaluator.evaluate(input),
      judgeResponse: async (question) => policies.judgeResponse(question),
      tools: policies,
    },
    // A harmless evaluation, which compiles the rules that ship. Without a limit: what is slow on a busy machine ends no start. Rules that
    // operators added may take any time, and are evaluated in threads.
    start: async () =>
      policies.judge({
        tool_type: 'list_files',
        agent_history: { last_tool: null, recent_sequence: [] },
        intent_score: 0,
        arguments: {},
      }),
    listener: () => listenerOf(createPolicyService({ ...parts, policies, management, warm: !parts.together }), own),
    begin: () => {
      management.begin();
      if (parts.together) evaluator.warm();
    },
  };
}
