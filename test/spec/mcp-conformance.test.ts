import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { issueAgent } from '../../stack/certificates/dev-pki.js';
import {
  type ConformanceUpstream,
  startConformanceUpstream,
  startStatelessUpstream,
} from '../support/conformance-upstream.js';
import { openLite } from '../support/lite.js';
import { needs } from '../support/needs.js';
import { CONFORMANCE, HAS_CONFORMANCE, HAS_NODE_24, NODE_24 } from '../support/node24.js';
import { plainAddress } from '../support/plain-address.js';
import { startStack } from '../support/stack.js';

const PROGRAM = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')),
  'dist/index.js',
);

/** The scenarios of this version of the suite for servers with sessions. A new version that has another one fails here. */
const SCENARIOS = [
  'server-initialize',
  'logging-set-level',
  'ping',
  'completion-complete',
  'tools-list',
  'tools-call-simple-text',
  'tools-call-image',
  'tools-call-audio',
  'tools-call-embedded-resource',
  'tools-call-mixed-content',
  'tools-call-with-logging',
  'tools-call-error',
  'tools-call-with-progress',
  'tools-call-sampling',
  'tools-call-elicitation',
  'elicitation-sep1034-defaults',
  'server-sse-multiple-streams',
  'elicitation-sep1330-enums',
  'resources-list',
  'resources-read-text',
  'resources-read-binary',
  'resources-templates-read',
  'resources-subscribe',
  'resources-unsubscribe',
  'prompts-list',
  'prompts-get-simple',
  'prompts-get-with-args',
  'prompts-get-embedded-resource',
  'prompts-get-with-image',
  'dns-rebinding-protection',
] as const;

/** Without these an operator would be asked about each of them: their names say nothing. */
const CLASSED = [
  'test_simple_text',
  'test_image_content',
  'test_audio_content',
  'test_embedded_resource',
  'test_multiple_content_types',
  'test_tool_with_logging',
  'test_error_handling',
  'test_tool_with_progress',
  'test_sampling',
  'test_elicitation',
  'test_elicitation_sep1034_defaults',
  'test_elicitation_sep1330_enums',
];

/** What a version of the suite said, and its exit code, in a folder of its own for what it writes. */
async function said(
  program: string,
  args: readonly string[],
): Promise<{ readonly code: number; readonly out: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'gate-conformance-'));
  const child = spawn(NODE_24, [program, 'server', ...args], { cwd: folder });
  let out = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (out += chunk.toString()));
  const code = await new Promise<number>((ended) => child.on('close', ended));
  rmSync(folder, { recursive: true, force: true });
  return { code, out };
}

/** Which scenarios passed. A warning is no failure, as for the suite itself. */
function passedOf(out: string): Map<string, boolean> {
  const summary = out.slice(out.indexOf('=== SUMMARY ==='));
  return new Map(
    [...summary.matchAll(/^(✓|✗) ([a-z0-9-]+):/gmu)].map(([, sign, scenario]) => [scenario as string, sign === '✓']),
  );
}

interface Door {
  readonly url: string;
  readonly stop: () => Promise<unknown>;
}

async function liteDoor(upstreamUrl: string, classed: readonly string[] = CLASSED): Promise<Door> {
  const operator = 'the-token-of-an-operator-of-this-test';
  const gate = await openLite({
    GATE_LITE_UPSTREAM_URL: upstreamUrl,
    GATE_LITE_UPSTREAM_ADAPTER: 'mcp-jsonrpc-v1',
    GATE_LITE_DECIDE_TOKEN: operator,
  });
  await gate.send('POST', '/mcp', { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } });
  for (const tool of classed) {
    const body = { tool, class: 'read', reason: 'conformance' };
    const headers = { authorization: `Bearer ${operator}` };
    expect((await gate.send('POST', '/tools/class', { body, headers })).status).toBe(200);
  }
  return { url: `${gate.lite.url}/mcp`, stop: () => gate.close() };
}

/** The suite has no certificate to show: what it sends is handed on as it is, over mutual TLS. */
async function stackDoor(upstreamUrl: string, classed: readonly string[] = CLASSED): Promise<Door> {
  const folder = mkdtempSync(join(tmpdir(), 'gate-conformance-stack-'));
  const stateDir = join(folder, 'state');
  const stack = await startStack({ stateDir, env: { GATE_UPSTREAM_URL: upstreamUrl, GATE_UPSTREAM_NAME: 'demo' } });
  const leaf = await issueAgent({ stateDir, trustDomain: 'gate.local' }, 'acme', 'conformance');
  const { url } = stack.development.proxy;
  const door = await plainAddress(url, leaf);
  const own = `${door.url}/mcp`;
  const listed = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  await fetch(own, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(listed) });
  const atProxy = stack.consoleAtProxy();
  const headers = { authorization: `Bearer ${stack.development.operator_token}` };
  for (const tool of classed) {
    const body = { tool, class: 'read', reason: 'conformance' };
    expect((await atProxy.request('POST', '/tools/class', { headers, body })).status).toBe(200);
  }
  return {
    url: own,
    async stop() {
      door.close();
      await stack.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** What the upstream passes directly is passed through each edition. */
function losesNone({
  started,
  ran,
  scenarios,
  classed,
  limitMs,
}: {
  readonly started: () => Promise<ConformanceUpstream>;
  readonly ran: (url: string) => Promise<ReadonlyMap<string, boolean>>;
  readonly scenarios: readonly string[];
  readonly classed?: readonly string[];
  readonly limitMs: number;
}): void {
  let upstream: ConformanceUpstream;
  let directly: ReadonlyMap<string, boolean>;
  let door: Door | undefined;
  beforeAll(async () => {
    upstream = await started();
    directly = await ran(upstream.url);
  }, limitMs);
  afterEach(async () => {
    await door?.stop();
    door = undefined;
  }, 60_000);
  afterAll(() => upstream?.close());

  it('is passed by the upstream, for which it is asked', () => {
    expect([...directly].filter(([, passed]) => !passed)).toEqual([]);
    expect([...directly.keys()].toSorted()).toEqual(scenarios.toSorted());
  });

  it.each([
    ['lite', liteDoor],
    ['the full edition', stackDoor],
  ])(
    'loses no scenario through %s',
    async (_edition, open) => {
      door = await open(upstream.url, classed);
      const through = await ran(door.url);
      expect([...through].filter(([scenario, passed]) => !passed && directly.get(scenario))).toEqual([]);
      expect([...through.keys()].toSorted()).toEqual([...directly.keys()].toSorted());
    },
    limitMs,
  );
}

const suite = HAS_NODE_24 ? describe : describe.skip;
suite(`the conformance suite of MCP${needs('node24', HAS_NODE_24)}`, () => {
  const runs = async (url: string) => passedOf((await said(PROGRAM, ['--url', url, '--suite', 'active'])).out);
  losesNone({ started: () => startConformanceUpstream(), ran: runs, scenarios: SCENARIOS, limitMs: 400_000 });
});

/** The scenarios of this version of the suite for servers without sessions. */
const STATELESS_SCENARIOS = [
  'server-stateless',
  'completion-complete',
  'tools-list',
  'tools-call-simple-text',
  'tools-call-image',
  'tools-call-audio',
  'tools-call-embedded-resource',
  'tools-call-mixed-content',
  'tools-call-error',
  'tools-call-with-progress',
  'server-sse-multiple-streams',
  'resources-list',
  'resources-read-text',
  'resources-read-binary',
  'resources-templates-read',
  'sep-2164-resource-not-found',
  'prompts-list',
  'prompts-get-simple',
  'prompts-get-with-args',
  'prompts-get-embedded-resource',
  'prompts-get-with-image',
  'dns-rebinding-protection',
  'caching',
  'input-required-result-basic-elicitation',
  'input-required-result-basic-sampling',
  'input-required-result-basic-list-roots',
  'input-required-result-request-state',
  'input-required-result-multiple-input-requests',
  'input-required-result-multi-round',
  'input-required-result-missing-input-response',
  'input-required-result-non-tool-request',
  'input-required-result-result-type',
  'input-required-result-unsupported-methods',
  'input-required-result-tampered-state',
  'input-required-result-capability-check',
  'input-required-result-ignore-extra-params',
  'input-required-result-validate-input',
  'json-schema-2020-12',
  'http-header-validation',
  'http-custom-header-server-validation',
] as const;

const STATELESS_CLASSED = [
  ...CLASSED.filter((tool) => !/sampling|elicitation|logging/.test(tool)),
  'test_input_required_result_elicitation',
  'test_input_required_result_sampling',
  'test_input_required_result_list_roots',
  'test_input_required_result_request_state',
  'test_input_required_result_tampered_state',
  'test_input_required_result_multiple_inputs',
  'test_input_required_result_multi_round',
  'test_input_required_result_capabilities',
  'test_missing_capability',
  'test_streaming_elicitation',
  'test_logging_tool',
  'test_mirrored_region',
  'test_trigger_tool_change',
  'test_trigger_prompt_change',
];

const TRIES = 4;
const statelessSuite = HAS_CONFORMANCE ? describe : describe.skip;
statelessSuite(`the conformance suite of MCP 2026-07-28${needs('mcp-conformance', HAS_CONFORMANCE)}`, () => {
  const ran = (url: string, ...args: readonly string[]) =>
    said(CONFORMANCE, ['--url', url, ...args, '--spec-version', '2026-07-28']);
  /** Some answers it awaits for half a second, whatever else the machine does: a scenario that fails is tried again, alone. */
  async function passesAlone(url: string, scenario: string): Promise<boolean> {
    for (let tried = 1; tried < TRIES; tried += 1) if ((await ran(url, '--scenario', scenario)).code === 0) return true;
    return false;
  }
  /** All of them in one process: each has one to itself only where it fails beside the others. */
  async function runs(url: string): Promise<ReadonlyMap<string, boolean>> {
    const passed = passedOf((await ran(url, '--suite', 'all')).out);
    for (const [scenario, itPassed] of passed) if (!itPassed) passed.set(scenario, await passesAlone(url, scenario));
    return passed;
  }
  losesNone({
    started: () => startStatelessUpstream(),
    ran: runs,
    scenarios: STATELESS_SCENARIOS,
    classed: STATELESS_CLASSED,
    limitMs: 600_000,
  });
});
