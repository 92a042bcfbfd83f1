import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { readConfig } from '../config/env.js';
import { ENGINE_SETTINGS } from '../config/shared.js';
import { type KeyRing, parseKeyRing } from '../domain/crypto/key-ring.js';
import { errorText } from '../domain/errors.js';
import { oneLine } from '../domain/printable.js';
import { hasUuidForm } from '../domain/uuid.js';
import { PRIVATE_FILE, readIfPresent } from '../adapters/store/durable-file.js';
import type { HistoryRun } from '../workers/history.js';
import { CliError } from './errors.js';
import { json, print } from './output.js';
import { table } from './table.js';
import { ledgerPath } from './target.js';
import { why } from './answers.js';
import { developmentFile } from './stack-target.js';

/** `gate history`: what a call's workflow did, as the engine recorded it. */
export function registerHistory(program: Command): void {
  program
    .command('history')
    .description("tell what the workflow of a call did, step by step, from the engine's own history")
    .argument('[id]', 'a call, by its correlation id')
    .addOption(json())
    .option('--link', "print an address that opens the engine's pages in clear, once; with an id, those of that call")
    .addHelpText(
      'after',
      `
The engine is that of the running stack of this folder, or the one that GATE_TEMPORAL_ADDRESS names (with GATE_TEMPORAL_NAMESPACE and the
GATE_TEMPORAL_TLS_* files). Outcomes are shown where this machine has the keys: GATE_PAYLOAD_KEYS, or those of the state folder; else
as (sealed). No request and no result of a tool is in a history. How to read one: docs/how-to/read-a-history.md`,
    )
    .action(async (id: string | undefined, { json: asJson, link }: { json?: boolean; link?: boolean }) => {
      if (id === undefined && !link)
        throw new CliError('which call? Give its correlation id, or --link for the pages', 2);
      if (id !== undefined && !hasUuidForm(id))
        throw new CliError(`${id} is not a correlation id; \`gate pending\` and \`gate audit\` show them`, 2);
      if (id === undefined || link) return printLink(id);
      const runs = await runsOf(id);
      if (runs.length === 0)
        throw new CliError(
          `the engine has no history of ${id}; it keeps those of closed calls for a while only, and \`gate audit ${id}\` tells what the ledger has`,
          4,
        );
      if (asJson) print(runs);
      else process.stdout.write(historyPage(runs));
    });
}

async function printLink(id: string | undefined): Promise<void> {
  const {
    temporal: { pages_url: pages },
    operator_token: token,
  } = stackWithEngine();
  if (!pages)
    throw new CliError(
      'this stack runs no engine of its own, so it has no pages; `gate history <id>` tells what one did',
    );
  let answer: Response;
  try {
    answer = await fetch(new URL('/sign-in/link', pages), {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    });
  } catch (error) {
    throw new CliError(
      `the workflow pages at ${pages} do not answer (${oneLine(await why(error))}); is Gate started?`,
      5,
    );
  }
  if (!answer.ok) throw new CliError(`the workflow pages at ${pages} refused (${answer.status})`);
  const { path, expires_in_secs: secs } = (await answer.json()) as { path: string; expires_in_secs: number };
  const url = new URL(path, pages);
  if (id !== undefined) url.searchParams.set('call', id);
  process.stdout.write(`${url.href}\n`);
  process.stderr.write(`good once, for ${Math.round(secs / 60)} minutes\n`);
}

/** The running stack; where there is only a lite, which has no engine, it says what there is instead. */
function stackWithEngine(): ReturnType<typeof developmentFile> {
  try {
    return developmentFile(['temporal', 'operator_token']);
  } catch (error) {
    const file = ledgerPath(process.env.GATE_LITE_LEDGER || undefined);
    if (file === null) throw error;
    throw new CliError(
      `${file} is the ledger of a lite, which has no workflow engine and so no histories; \`gate audit <id> --ledger ${file}\` tells what it has of a call`,
    );
  }
}

/** Somebody waits at a terminal for the engine of this machine, which has long been started, or is not. */
const CONNECT_LIMIT = '4s';

/** The runs of a call, and of what it began. */
async function runsOf(id: string): Promise<HistoryRun[]> {
  const [{ Client, isGrpcServiceError }, { connectEngine }, { historyOf }, { engineAddress, engineTlsFault }] =
    await Promise.all([
      import('@temporalio/client'),
      import('../workers/client.js'),
      import('../workers/history.js'),
      import('../stack/engine-address.js'),
    ]);
  const { payloadKeys: _keys, taskQueue: _queue, park: _park, ...settings } = ENGINE_SETTINGS;
  const config = readConfig('gate history', settings, process.env);
  const fault = engineTlsFault(config);
  if (fault) throw new CliError(fault);
  const known = config.address === undefined ? stackWithEngine().temporal : null;
  const address = config.address ?? known?.address ?? '';
  const namespace = known?.namespace ?? config.namespace;
  let connection: Awaited<ReturnType<typeof connectEngine>> | undefined;
  try {
    const own = known === null ? {} : ({ connectTimeout: CONNECT_LIMIT } as const);
    connection = await connectEngine(engineAddress({ ...config, namespace }, address), own);
    const client = new Client({ connection, namespace });
    const keys = keysHere();
    const runs = await historyOf(client, id, keys);
    for (const child of runs.flatMap(({ children }) => children)) runs.push(...(await historyOf(client, child, keys)));
    return runs;
  } catch (error) {
    // One that is reached and refuses, as for a namespace it does not have, is not away.
    const refused = connection !== undefined && isGrpcServiceError(error) && !AWAY.has(error.code);
    throw new CliError(
      refused
        ? `the workflow engine at ${address} refused: ${oneLine(error.details)} (namespace ${namespace}; GATE_TEMPORAL_NAMESPACE names another)`
        : `the workflow engine at ${address} does not answer (${oneLine(errorText(error))}); is Gate started?`,
      refused ? 1 : 5,
    );
  } finally {
    await connection?.close();
  }
}

/** What gRPC calls a server that cannot be reached, or not in time: DEADLINE_EXCEEDED, UNAVAILABLE. */
const AWAY: ReadonlySet<number> = new Set([4, 14]);

/** The keys that this machine has for histories; `null` where it has none. */
function keysHere(): KeyRing | null {
  if (process.env.GATE_PAYLOAD_KEYS || process.env.GATE_PAYLOAD_KEYS_FILE)
    return readConfig('gate history', { payloadKeys: ENGINE_SETTINGS.payloadKeys }, process.env).payloadKeys;
  const file = join(resolve(process.env.GATE_STATE_DIR ?? '.gate'), 'secrets', 'payload-keys');
  const kept = existsSync(file) ? readIfPresent(file, PRIVATE_FILE)?.trim() : undefined;
  return kept === undefined ? null : parseKeyRing(kept);
}

/** A call's runs as a page: a heading for each, and a line for each step. */
export function historyPage(runs: readonly HistoryRun[], width?: number): string {
  const pages = runs.map(({ workflow, run_id, status, task_queue, steps }) => {
    const shown = table(
      [{ head: 'time (UTC)' }, { head: 'step' }, { head: 'outcome' }, { head: 'what it is' }],
      steps.map(({ at, step, outcome, summary }) => [at.slice(11, 23), step, outcome ?? '', summary ?? '']),
      width,
    );
    const day = steps[0]?.at.slice(0, 10) ?? '';
    return `${oneLine(`${workflow}, ${status}`)}\nrun ${oneLine(run_id)} on ${oneLine(task_queue)}, ${day}\n${shown}\n`;
  });
  const sealed = runs.some(({ steps }) => steps.some(({ outcome }) => outcome === '(sealed)'));
  return `${pages.join('\n')}${sealed ? '\n(sealed): this machine has no key that opens it; GATE_PAYLOAD_KEYS names it\n' : ''}`;
}
