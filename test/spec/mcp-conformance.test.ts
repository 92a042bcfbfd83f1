import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ConformanceUpstream, startConformanceUpstream } from '../support/conformance-upstream.js';
import { type LiteFixture, openLite } from '../support/lite.js';
import { needs } from '../support/needs.js';
import { HAS_NODE_24, NODE_24 } from '../support/node24.js';

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

const OPERATOR = 'the-token-of-an-operator-of-this-test';

/** Which scenarios passed. A warning is no failure, as for the suite itself. */
async function run(url: string): Promise<ReadonlyMap<string, boolean>> {
  const folder = mkdtempSync(join(tmpdir(), 'gate-conformance-'));
  const child = spawn(NODE_24, [PROGRAM, 'server', '--url', url, '--suite', 'active'], { cwd: folder });
  let out = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (out += chunk.toString()));
  await new Promise((ended) => child.on('exit', ended));
  rmSync(folder, { recursive: true, force: true });
  const summary = out.slice(out.indexOf('=== SUMMARY ==='));
  return new Map(
    [...summary.matchAll(/^(✓|✗) ([a-z0-9-]+):/gmu)].map(([, sign, scenario]) => [scenario as string, sign === '✓']),
  );
}

describe(`the conformance suite of MCP${needs('node24', HAS_NODE_24)}`, () => {
  let upstream: ConformanceUpstream;
  let gate: LiteFixture;
  beforeAll(async () => {
    upstream = await startConformanceUpstream();
    gate = await openLite({
      GATE_LITE_UPSTREAM_URL: upstream.url,
      GATE_LITE_UPSTREAM_ADAPTER: 'mcp-jsonrpc-v1',
      GATE_LITE_DECIDE_TOKEN: OPERATOR,
    });
    await gate.send('POST', '/mcp', { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } });
    for (const tool of CLASSED) {
      const body = { tool, class: 'read', reason: 'conformance' };
      const headers = { authorization: `Bearer ${OPERATOR}` };
      expect((await gate.send('POST', '/tools/class', { body, headers })).status).toBe(200);
    }
  });
  afterAll(async () => {
    await gate?.close();
    await upstream?.close();
  });

  (HAS_NODE_24 ? it : it.skip)(
    'loses no scenario through Gate that its upstream passes',
    async () => {
      // Its upstream passes all of them: what is missing here is looked for there by running the suite against `upstream.url`.
      const through = await run(`${gate.lite.url}/mcp`);
      expect([...through].filter(([, passed]) => !passed)).toEqual([]);
      expect([...through.keys()].toSorted()).toEqual(SCENARIOS.toSorted());
    },
    240_000,
  );
});
