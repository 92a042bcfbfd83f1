import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Json, JsonObject } from '../contracts/json.js';
import { GateError } from '../domain/errors.js';
import { parseMcpRequest } from '../domain/mcp/envelope.js';
import { siblingsOf } from '../domain/mcp/batch.js';
import type { Upstream } from '../domain/upstream/upstream.js';
import { createJsonUpstream } from './json-upstream.js';
import { createMcpUpstream } from './mcp-upstream.js';
import { createStdioUpstream } from './stdio-upstream.js';

const CALLER = { tenant: 'acme', agent: 'bot' };
const LIMIT = { timeoutMs: 20_000 };

/** An MCP server that answers each tool call with the bytes that came. Runs here and in the child, so it refers to nothing outside. */
function answer(text: string): string | null {
  const { id, method } = JSON.parse(text) as { id?: string; method: string };
  if (id === undefined) return null;
  const result =
    method === 'initialize'
      ? { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'echo', version: '1' } }
      : { content: [{ type: 'text', text }] };
  return JSON.stringify({ jsonrpc: '2.0', id, result });
}
const CHILD = `const answer = ${answer.toString()};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const said = answer(line);
  if (said) process.stdout.write(said + '\\n');
});`;

let server: Server;
const upstreams = new Map<string, Upstream>();
beforeAll(async () => {
  server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const said = request.method === 'POST' ? answer(Buffer.concat(parts).toString('utf8')) : null;
      if (said === null) return void response.writeHead(202).end();
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'one' }).end(said);
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/mcp`;
  upstreams.set('MCP over HTTP', createMcpUpstream({ url }));
  upstreams.set('raw JSON', createJsonUpstream({ url }));
  upstreams.set('stdio', createStdioUpstream({ command: process.execPath, args: ['-e', CHILD], env: {} }));
});
afterAll(async () => {
  for (const upstream of upstreams.values()) await upstream.close();
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
});

/** The bytes that a request came to at the upstream. */
async function bytesOf(upstream: Upstream, body: JsonObject): Promise<string> {
  const outcome = await upstream.callTool(CALLER, body, LIMIT);
  if (outcome.kind !== 'reply') throw new Error(outcome.reason);
  const { result } = JSON.parse(outcome.text) as { result: { content: [{ text: string }] } };
  return result.content[0].text;
}

const plain = fc
  .string({ unit: 'grapheme', maxLength: 12 })
  .filter((text) => text !== '__proto__' && !text.includes('\0'));
const value = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    plain,
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(plain, tie('value'), { maxKeys: 3 }),
  ) as fc.Arbitrary<Json>,
})).value;
const id = fc.oneof(plain, fc.integer());
const args = fc.dictionary(plain, value, { maxKeys: 4 });
/** Members that stand beside what is judged, in some places some of the time. */
const beside = fc.dictionary(
  fc.oneof(plain, fc.constantFrom('task', '_meta', 'progressToken', 'id', 'name', 'sampling', 'context', 'headers')),
  value,
  { maxKeys: 2 },
);
const sometimes = fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: beside });
const request = fc.record({
  id,
  name: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }).filter((text) => !text.includes('\0')),
  args: fc.option(args),
  method: fc.constantFrom('tools/call', 'call_tool'),
  top: sometimes,
  inParams: sometimes,
  meta: fc.option(fc.oneof(fc.record({ progressToken: id }), beside)),
});

describe.each(['MCP over HTTP', 'raw JSON', 'stdio'])('what leaves for an upstream over %s', (kind) => {
  it('is a function of the tool and the arguments that were judged, and of nothing else in the request', async () => {
    const upstream = upstreams.get(kind) as Upstream;
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(request, async ({ id, name, args, method, top, inParams, meta }) => {
        const params = { ...inParams, name, ...(args && { arguments: args }), ...(meta && { _meta: meta }) };
        const text = JSON.stringify({ ...top, jsonrpc: '2.0', id, method, params });
        let body: JsonObject;
        try {
          ({ body } = parseMcpRequest(text));
        } catch (error) {
          if (!(error instanceof GateError)) throw error;
          expect(['unjudged_field', 'invalid_mcp']).toContain(error.code);
          return;
        }
        taken += 1;
        const sent = await bytesOf(upstream, body);
        const own = (JSON.parse(sent) as { id: string }).id;
        const [judged] = siblingsOf(method, name, body);
        const built = { name: judged?.tool, arguments: judged?.arguments };
        expect(sent).toBe(JSON.stringify({ jsonrpc: '2.0', id: own, method: 'tools/call', params: built }));
        expect(own).toMatch(/^[0-9a-f-]{36}$/);
        expect(own).not.toBe(id);
      }),
      { numRuns: 150 },
    );
    // Enough of them were no refusals.
    expect(taken).toBeGreaterThan(10);
  }, 60_000);

  it('is refused with the name of a member that nothing judges, wherever it stands', () => {
    const refused = (fields: JsonObject, inParams: JsonObject) => {
      const params = { name: 'read_file', arguments: {}, ...inParams };
      try {
        parseMcpRequest(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params, ...fields }));
      } catch (error) {
        const { code, fields: said } = error as GateError;
        return [code, said['field']];
      }
      return null;
    };
    expect(refused({}, {})).toBeNull();
    expect(refused({}, { _meta: { progressToken: 'mine' } })).toBeNull();
    expect(refused({ task: {} }, {})).toEqual(['unjudged_field', 'task']);
    expect(refused({ Params: {} }, {})).toEqual(['unjudged_field', 'Params']);
    expect(refused({}, { task: { ttl: 1 } })).toEqual(['unjudged_field', 'params.task']);
    expect(refused({}, { 'arguments ': {} })).toEqual(['unjudged_field', 'params.arguments ']);
    expect(refused({}, { _meta: { 'x/y': 1 } })).toEqual(['unjudged_field', 'params._meta.x/y']);
    expect(refused({}, { _meta: { progressToken: 1, authorization: 'x' } })).toEqual([
      'unjudged_field',
      'params._meta.authorization',
    ]);
  });
});
