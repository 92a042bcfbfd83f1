import { basename } from 'node:path';
import type { Command } from 'commander';
import { z } from 'zod';
import { BATCH_METHOD } from '../contracts/call-methods.js';
import type { JsonObject } from '../contracts/json.js';
import type { ReplayCorpus } from '../contracts/ledger-reports.js';
import { MOST_REPLAY_ROWS } from '../contracts/replay-rows.js';
import { errorText } from '../domain/errors.js';
import type { PastCall } from '../domain/inspection/persona-draft.js';
import { oneLine } from '../domain/printable.js';
import { CliError } from './errors.js';
import { textOf } from './named-file.js';
import type { ShownTools } from '../contracts/tool-pins.js';
import type { ListedTool } from '../domain/inspection/persona-draft.js';
import type { LiteFlags } from './lite-target.js';
import { askProxy } from './operators-command.js';
import { json, print, writeOut } from './output.js';
import { decideToken, endpoint, ledgerFile, ledgerTarget } from './target.js';

interface Window {
  readonly since: string;
  readonly tenant?: string;
  readonly ledger?: string;
}
interface AskedDraft extends Window, Omit<LiteFlags, 'tenant'> {
  readonly tools?: string;
  readonly pins?: boolean;
  readonly out?: string;
}
interface AskedCheck extends Window {
  readonly agent?: string;
  readonly json?: boolean;
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** `gate persona draft` and `check`: a persona from what an agent did, and what it would have said of that. */
export function registerPersona(program: Command): void {
  const persona = program
    .command('persona')
    .description('draft the persona of an agent from its recorded calls, or check one against them; changes nothing');
  persona
    .command('draft')
    .description('write a persona to start from: one example of each kind of call that was allowed, secrets masked')
    .argument('<agent>', 'the name of the agent')
    .option('--since <time>', 'calls from here on: RFC 3339, or 30m, 24h, 30d', '30d')
    .option('--tenant <name>', 'calls of this tenant')
    .option('--tools <file>', 'the answer of tools/list, as JSON: tools that no example calls are listed too')
    .option('--pins', 'the same from the running Gate: the tools as this agent was last shown them')
    .option('--out <file>', 'write it there')
    .addOption(ledgerFile())
    .addOption(endpoint())
    .addOption(decideToken())
    .action(async (agent: string, { tools, pins, out, ...window }: AskedDraft) => {
      const listed = [
        ...(tools === undefined ? [] : toolsIn(tools)),
        ...(pins ? await toolsShownTo(agent, window as LiteFlags) : []),
      ];
      const { draftPersona } = await import('../domain/inspection/persona-draft.js');
      const { calls, left } = await pastCalls(agent, window);
      const text = drafted(() => draftPersona(agent, calls, listed));
      if (out === undefined) process.stdout.write(text);
      else {
        writeOut(out, text);
        say(`wrote ${out}; say in it what the agent is for, look at each example, then \`npm run personas\``);
      }
      tellLeft(left);
    });
  persona
    .command('check')
    .description('tell which recorded calls of the agent would drift under this persona, and why')
    .argument('<persona file>', 'its .md file')
    .option('--agent <name>', 'whose calls; the name of the file if absent')
    .option('--since <time>', 'calls from here on: RFC 3339, or 30m, 24h, 30d', '7d')
    .option('--tenant <name>', 'calls of this tenant')
    .addOption(ledgerFile())
    .addOption(json())
    .action(async (file: string, { agent = basename(file, '.md'), json: asJson, ...window }: AskedCheck) => {
      const [{ checkPersona }, { embedPersona }, { offlineEmbedding }, { loadTraitsReader }] = await Promise.all([
        import('../domain/inspection/persona-draft.js'),
        import('../domain/inspection/personas.js'),
        import('../domain/inspection/embedding.js'),
        import('../adapters/inspection/traits-reader.js'),
      ]);
      const markdown = textOf('persona file', file);
      const stored = await embedPersona(markdown, offlineEmbedding, new Date()).catch((error: unknown) => {
        throw new CliError(`${file}: ${errorText(error)}`, 2);
      });
      const [{ calls, left }, readTraits] = await Promise.all([pastCalls(agent, window), loadTraitsReader()]);
      const by = { embedding: offlineEmbedding, readTraits, tenant: window.tenant ?? '' };
      const drifted = await checkPersona(stored, calls, by);
      if (asJson) return print({ agent, calls: calls.length, not_read: left, drifted });
      for (const { at, correlation_id: id, tool, would, reasons } of drifted)
        say(`${at}  ${id}  ${oneLine(tool)} would ${would}: ${reasons.map(oneLine).join('; ')}`);
      say(`${drifted.length} of ${calls.length} calls of ${oneLine(agent)} would drift under this persona`);
      tellLeft(left);
    });
}

const tellLeft = (left: number): void =>
  void (left > 0 && process.stderr.write(`${left} calls were not read: batches, or their arguments were purged\n`));

function drafted(draft: () => string): string {
  try {
    return draft();
  } catch (error) {
    throw new CliError(errorText(error), 4);
  }
}

const list = z.object({ tools: z.array(z.looseObject({ name: z.string() })) });
/** The result of `tools/list`, or the whole answer with it. */
const listing = z.union([list, z.looseObject({ result: list }).transform(({ result }) => result)]);
function toolsIn(file: string): readonly ListedTool[] {
  try {
    return listing.parse(JSON.parse(textOf('--tools', file))).tools as readonly ListedTool[];
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`${file} is no answer of tools/list: {"tools":[{"name":"…"}]}`, 2);
  }
}

/** The tools as the agent was last shown them, from whoever keeps its pins. */
async function toolsShownTo(agent: string, given: LiteFlags): Promise<readonly ListedTool[]> {
  const { tools } = await askProxy<ShownTools>(given, 'GET', `/pins/${encodeURIComponent(agent)}/tools`);
  if (tools.length === 0) throw new CliError(`${oneLine(agent)} was shown no tools yet: let it list them once`, 4);
  return tools.map(({ tool, definition }) => {
    const { inputSchema } = (definition === null ? {} : JSON.parse(definition)) as JsonObject;
    return { name: tool, inputSchema };
  });
}

interface Recorded {
  readonly at: string;
  readonly correlation_id: string | null;
  readonly input: JsonObject | null;
  readonly ran: boolean;
}

/** The calls of an agent in a window, oldest first, and how many of them could not be read. */
async function pastCalls(
  agentId: string,
  { since, tenant, ledger }: Window,
): Promise<{ readonly calls: readonly PastCall[]; readonly left: number }> {
  const { sinceOf } = await import('../lite/graduation.js');
  const from = sinceOf(since);
  if (from === null) throw new CliError(`${since} is no time: RFC 3339, or 30m, 24h, 7d`, 2);
  const target = ledgerTarget(ledger);
  const recorded =
    target.kind === 'file'
      ? await target.read(async (file) => recordedIn(file, { agentId, from }))
      : corpusOf(await target.ask<ReplayCorpus>('ledger', 'GET', corpusPath(agentId, from)));
  const meant = recorded.filter(({ input }) => tenant === undefined || input?.['tenant'] === tenant);
  const calls = meant.flatMap(({ at, correlation_id, input, ran }): PastCall[] => {
    const tool = input?.['tool_type'];
    if (typeof tool !== 'string' || input?.['method'] === BATCH_METHOD) return [];
    const given = input?.['arguments'];
    const args = typeof given === 'object' && given !== null && !Array.isArray(given) ? given : {};
    return [{ at, correlation_id: correlation_id ?? '', tool, arguments: args, ran }];
  });
  return { calls, left: meant.length - calls.length };
}

async function recordedIn(
  file: Parameters<Parameters<Extract<ReturnType<typeof ledgerTarget>, { kind: 'file' }>['read']>[0]>[0],
  window: { readonly agentId: string; readonly from: string },
): Promise<readonly Recorded[]> {
  const { readReplayPage } = await import('../adapters/evidence/reports/replay-page.js');
  const found: Recorded[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const page = await readReplayPage({ db: file.db, reader: file }, { ...window, after, limit: MOST_REPLAY_ROWS });
    for (const { at, correlation_id, input, decision, people } of page.rows)
      found.push({ at, correlation_id, input, ran: decision.allow || people === 'approved' });
    after = page.next;
  }
  return found;
}

const MOST_OF_A_STACK = 5_000;
const corpusPath = (agent: string, since: string): string =>
  `/audit/replay/corpus?${new URLSearchParams({ since, agent_id: agent, limit: String(MOST_OF_A_STACK) }).toString()}`;

/** Of a running stack, what was allowed without a person: its corpus does not say what people decided. */
const corpusOf = ({ corpus }: ReplayCorpus): readonly Recorded[] =>
  corpus.map(({ captured_at: at, correlation_id, input, historical_verdict: { allow } }) => ({
    at,
    correlation_id,
    input: input as JsonObject,
    ran: allow,
  }));
