import { setTimeout as sleep } from 'node:timers/promises';
import { type CallToolResult, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { errorText } from '../../domain/errors.js';
import { type EffectLog, money } from './effects.js';
import type { Workspace } from './workspace.js';

export interface ToolsOptions {
  readonly effects: EffectLog;
  readonly workspace: Workspace;
  /** Destroys the connection that brought the call being handled. */
  readonly dropConnection: () => void;
}

const text = (content: string): CallToolResult => ({ content: [{ type: 'text', text: content }] });
const failure = (content: string): CallToolResult => ({ ...text(content), isError: true });

const path = z.string().min(1).max(1_024).describe('Path inside the workspace, such as notes/todo.txt');
const account = z.string().min(1).max(64).describe('operating, payroll, savings or vendor');
const reference = z
  .string()
  .min(1)
  .max(64)
  .describe('The caller’s own name for this order, by which it can be found again');
const MAX_RESULT_BYTES = 32 * 1024 * 1024;

/**
 * One MCP server with the demonstration tools; one per session, all over the same
 * effects and workspace.
 */
export function createDemoServer({ effects, workspace, dropConnection }: ToolsOptions): McpServer {
  const server = new McpServer({ name: 'gate-demo-upstream', version: '1.0.0' });

  server.registerTool(
    'list_files',
    {
      description: 'Lists the files of the workspace.',
      inputSchema: z.object({ folder: path.optional() }),
      annotations: { readOnlyHint: true },
    },
    ({ folder }) =>
      onFiles('list_files', { folder }, () => {
        const list = workspace.list(folder);
        return () => list().join('\n');
      }),
  );
  server.registerTool(
    'read_file',
    {
      description: 'Reads one file of the workspace.',
      inputSchema: z.object({ path }),
      annotations: { readOnlyHint: true },
    },
    (args) => onFiles('read_file', args, () => workspace.read(args.path)),
  );
  server.registerTool(
    'write_file',
    { description: 'Writes one file of the workspace.', inputSchema: z.object({ path, content: z.string() }) },
    (args) =>
      onFiles('write_file', args, () => {
        const write = workspace.write(args.path, args.content);
        return () => {
          write();
          return `wrote ${Buffer.byteLength(args.content)} bytes to ${args.path}`;
        };
      }),
  );
  server.registerTool(
    'delete_file',
    {
      description: 'Deletes one file of the workspace.',
      inputSchema: z.object({ path }),
      annotations: { destructiveHint: true },
    },
    (args) =>
      onFiles('delete_file', args, () => {
        const remove = workspace.remove(args.path);
        return () => {
          remove();
          return `deleted ${args.path}`;
        };
      }),
  );
  server.registerTool(
    'get_balance',
    {
      description: 'Tells the balance of one account, or of all.',
      inputSchema: z.object({ account: account.optional() }),
      annotations: { readOnlyHint: true },
    },
    ({ account: one }) => {
      if (one !== undefined && !Object.hasOwn(effects.balances, one)) return failure(`there is no account ${one}`);
      effects.record('get_balance', { account: one });
      const names = one === undefined ? Object.keys(effects.balances) : [one];
      return text(names.map((name) => `${name}: ${money(effects.balances[name] as number)}`).join('\n'));
    },
  );
  server.registerTool(
    'wire_transfer',
    {
      description: 'Moves money from one account to another.',
      inputSchema: z.object({
        from: account,
        to: account,
        amount: z.number().positive().max(1_000_000_000),
        memo: z.string().max(256).optional(),
        reference: reference.optional(),
      }),
      annotations: { destructiveHint: true, idempotentHint: false },
    },
    (args) => {
      const outcome = effects.transfer(args);
      if ('refusal' in outcome) return failure(outcome.refusal);
      return text(
        `transfer ${outcome.effect.seq}: ${args.amount.toFixed(2)} from ${args.from} to ${args.to}; ${args.from} now holds ${money(effects.balances[args.from] as number)}`,
      );
    },
  );
  server.registerTool(
    'get_reference_status',
    {
      description: 'Tells whether an order with this reference was carried out. Changes nothing.',
      inputSchema: z.object({ reference }),
      annotations: { readOnlyHint: true },
    },
    ({ reference: asked }) => {
      const found = effects.effects.find(({ arguments: given }) => given['reference'] === asked);
      const status = found ? { status: 'booked', order: found.seq, at: found.at } : { status: 'unknown' };
      return text(JSON.stringify({ reference: asked, ...status }));
    },
  );
  server.registerTool(
    'slow_task',
    {
      description: 'Takes the given number of seconds. Its effect is there from the start.',
      inputSchema: z.object({ seconds: z.number().min(0).max(60) }),
    },
    async (args, { mcpReq }) => {
      effects.record('slow_task', args);
      await sleep(args.seconds * 1_000, undefined, { signal: mcpReq.signal });
      return text(`done after ${args.seconds} s`);
    },
  );
  server.registerTool(
    'failing_tool',
    {
      description: 'Runs and fails: an answer with isError.',
      inputSchema: z.object({ reason: z.string().optional() }),
    },
    (args) => {
      effects.record('failing_tool', args);
      return failure(args.reason ?? 'this tool always fails');
    },
  );
  server.registerTool(
    'drop_connection',
    {
      description: 'Does its effect, then closes the connection without an answer.',
      inputSchema: z.object({ note: z.string().max(256).optional(), reference: reference.optional() }),
    },
    (args) => {
      effects.record('drop_connection', args);
      dropConnection();
      return text('nobody reads this');
    },
  );
  server.registerTool(
    'big_result',
    {
      description: 'Answers with that many bytes.',
      inputSchema: z.object({ bytes: z.number().int().min(0).max(MAX_RESULT_BYTES) }),
      annotations: { readOnlyHint: true },
    },
    (args) => {
      effects.record('big_result', args);
      return text('x'.repeat(args.bytes));
    },
  );
  return server;

  /** What the workspace refuses is no effect and is not recorded; what it takes is recorded, then done. */
  function onFiles(tool: string, args: Record<string, unknown>, prepare: () => () => string): CallToolResult {
    let act: () => string;
    try {
      act = prepare();
    } catch (error) {
      return failure(errorText(error));
    }
    effects.record(tool, args);
    return text(act());
  }
}
