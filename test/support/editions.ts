import { join } from 'node:path';
import type { JsonObject } from '../../contracts/json.js';
import { type AgentClient, createAgentClient } from './agent.js';
import { consolePage } from './console-page.js';
import { openLite } from './lite.js';
import { signedInAt } from './lite-browser.js';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from './stack.js';

/** What an edition is opened over: the tools, where it keeps its state, and whether it hands on lists that changed. */
export interface EditionOptions {
  readonly url?: string;
  /** A file of several upstreams, instead of the address of one, and where its secrets are. */
  readonly upstreams?: string;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly folder: string;
  /** The agent's name in the full stack; lite's is nobody's. */
  readonly agent: string;
  readonly blocks?: boolean;
  /** More settings, by what stands behind `GATE_PROXY_` or `GATE_LITE_`. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** One edition of Gate before some tools, as an agent and an operator meet it. */
export interface Edition {
  readonly bot: AgentClient;
  /** Another agent, and the name that rows have for it; in lite there is one agent, whatever its name. */
  agent(name: string): Promise<{ readonly bot: AgentClient; readonly id: string }>;
  readonly ledgerFile: string;
  /** Where it is the full stack: what that has besides. */
  readonly stack?: TestStack;
  approve(correlationId: string): Promise<number>;
  /** What the readiness of the front door says. */
  ready(): Promise<JsonObject>;
  /** The console's page of health. */
  health(): Promise<string>;
  /** What the operator is told to look at. */
  reasons(correlationId: string): Promise<readonly string[]>;
  stop(): Promise<void>;
}

const under = (prefix: string, settings: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(settings).map(([name, value]) => [prefix + name, value]));

async function openStack(options: EditionOptions): Promise<Edition> {
  const { url, upstreams, secrets, folder: stateDir, agent, blocks, settings } = options;
  const env = {
    ...(url !== undefined && { GATE_UPSTREAM_URL: url }),
    ...(upstreams !== undefined && { GATE_UPSTREAMS: upstreams }),
    ...secrets,
    ...(blocks && { GATE_PROXY_BLOCK_POISONED_DEFINITIONS: 'true' }),
    ...under('GATE_PROXY_', settings),
  };
  const stack = await startStack({ env, stateDir });
  return {
    bot: await stack.agent(agent),
    agent: async (name) => ({ bot: await stack.agent(name), id: name }),
    ready: async () => JSON.parse((await stack.health('proxy', '/readyz')).text) as JsonObject,
    health: () => consolePage(stack.development, '/health-of-services'),
    stack,
    ledgerFile: join(stateDir, 'data', 'ledger.db'),
    approve: async (id) => (await stack.operator.decide(id, 'approve')).status,
    reasons: async (id) => (await stack.operator.rowOf(id)).review_reasons,
    stop: () => stack.stop(),
  };
}

async function openLiteEdition(options: EditionOptions): Promise<Edition> {
  const { url, upstreams, secrets, folder, blocks, settings } = options;
  const gate = await openLite(
    {
      ...(url !== undefined && { GATE_LITE_UPSTREAM_URL: url }),
      ...(upstreams !== undefined && { GATE_UPSTREAMS: upstreams }),
      GATE_LITE_UPSTREAM_ADAPTER: 'mcp-jsonrpc-v1',
      ...(blocks && { GATE_LITE_BLOCK_POISONED_DEFINITIONS: 'true' }),
      ...under('GATE_LITE_', settings),
    },
    { folder, ...(secrets && { env: secrets }) },
  );
  const bot = createAgentClient(gate.lite.url, { ca: '' });
  const stop = async () => {
    await bot.close();
    await gate.close();
  };
  return {
    bot,
    agent: () => Promise.resolve({ bot, id: 'anonymous' }),
    ready: async () => {
      const token = gate.lite.ownDecideToken?.token ?? '';
      return (await gate.send('GET', '/readyz', { headers: { authorization: `Bearer ${token}` } })).body;
    },
    health: async () => (await (await signedInAt(gate.lite)).get('/health-of-services')).text,
    ledgerFile: gate.ledger,
    approve: async (id) => (await gate.send('POST', `/decide/${id}`, { body: { decision: 'approve' } })).status,
    reasons: async (id) => {
      const rows = (await gate.send('GET', '/pending')).body as unknown as JsonObject[];
      return (rows.find((row) => row['correlation_id'] === id)?.['review_reasons'] ?? []) as string[];
    },
    stop,
  };
}

/** Both editions, each with how long its start may take. */
export const EDITIONS = [
  ['the full stack', openStack, STACK_START_LIMIT_MS],
  ['lite', openLiteEdition, 60_000],
] as const;
