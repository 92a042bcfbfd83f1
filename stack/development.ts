import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig, type Env } from '../config/env.js';
import { SHARED_SETTINGS } from '../config/shared.js';
import { errorText } from '../domain/errors.js';
import { isLoopback } from '../domain/outbound/loopback.js';
import { tightenFile } from '../adapters/store/durable-file.js';
import { diskFault, nearestThere, writeIn } from '../adapters/store/writable.js';
import {
  DEMO_AGENTS,
  DEVELOPMENT_TENANT,
  ensureDevelopmentPki,
  ensureDevelopmentSecrets,
} from './certificates/dev-pki.js';
import { ensureTokenIssuer } from './certificates/token-issuer.js';
import { madeEnvironment } from './certificates/made-secrets.js';
import { unknownSettings } from './unknown-settings.js';
import type { Stack } from './development-file.js';
import type { Demonstration } from './bring-up.js';
import { startEngine } from './engine-process.js';
import { readStartConfig } from './process-settings.js';
import { refuseSecondStart } from './second-start.js';
import { claimStateFolder, pidFileOf } from './single-instance.js';
import { StartError } from '../config/start-error.js';
import { createVoice } from './voice.js';

export interface StackOptions {
  readonly demonstration: Demonstration;
  readonly env: Env;
  /** Progress lines for the person who waits. */
  readonly progress: (line: string) => void;
  /** Aborts the start: what it did is undone, and it throws. */
  readonly signal?: AbortSignal;
}

/**
 * Starts the whole stack on this machine (docs/architecture/identity-and-routes.md#development). Throws StartError or ConfigError with one
 * clear message.
 */
export async function startDevelopment({ demonstration, env, progress, signal }: StackOptions): Promise<Stack> {
  await refuseSecondStart(env);
  const shared = readConfig('gate', SHARED_SETTINGS, env);
  const stateDir = resolve(shared.stateDir);
  await assertStateFolder(stateDir);
  for (const line of unknownSettings(env)) progress(line);
  for (const folder of ['data', 'keys', 'secrets', 'pki', 'logs', 'run', 'demo']) {
    mkdirSync(join(stateDir, folder), { recursive: true, mode: 0o700 });
    // Also tightens folders that an earlier Gate left open to others.
    tightenFile(join(stateDir, folder), 0o700);
  }
  const pki = await ensureDevelopmentPki({ stateDir, trustDomain: shared.trustDomain });
  const secrets = await ensureDevelopmentSecrets({ stateDir });
  const tokenIssuer = await ensureTokenIssuer({ stateDir, env });
  const config = readStartConfig({
    ...madeEnvironment({ ...secrets, ...pki }),
    GATE_DEPLOYMENT_TENANT: DEVELOPMENT_TENANT,
    ...consoleAddress(env),
    ...workflowPages(env),
    ...tokenIssuer?.settings,
    GATE_LEDGER_EXPORT_DIR: join(stateDir, 'data', 'cold'),
    // An operator with his own tools also has his own calls, so no demonstration calls are printed.
    ...(env.GATE_UPSTREAM_URL === undefined &&
      env.GATE_UPSTREAMS === undefined && {
        GATE_DEMO_AGENTS: DEMO_AGENTS.join(','),
        // Its tools can be asked what became of an order.
        GATE_PROBES: demonstration.probesFile,
      }),
    ...env,
    GATE_STATE_DIR: stateDir,
  });
  const release = claimStateFolder(pidFileOf(stateDir), stateDir);
  const voice = createVoice(progress);
  const starting = startEngine({
    engine: config.engine,
    ports: config.development,
    stateDir,
    voice,
    progress,
    signal,
  });
  try {
    // Loading the rest of Gate keeps this thread busy for a second, so the engine's process is started first.
    await Promise.race([starting.launched, sleep(HEAD_START_LIMIT_MS)]);
    const { bringUp } = await import('./bring-up.js');
    const { operatorToken, secondOperatorToken } = secrets;
    return await bringUp({
      config,
      stateDir,
      pki,
      operatorToken,
      secondOperatorToken,
      tokenIssuer: tokenIssuer?.named,
      starting,
      voice,
      demonstration,
      env,
      release,
      signal,
    });
  } catch (error) {
    starting.giveUp(error);
    release();
    throw error;
  }
}

/** Browsers on this machine reach the console here, and so do links to decisions. None where any free port will do. */
function consoleAddress({ GATE_CONSOLE_PORT: port = '8085', GATE_CONSOLE_HOST: host = '127.0.0.1', ...env }: Env): Env {
  const known = /^\d{1,5}$/.test(port) && port !== '0' && isLoopback(host) && env.GATE_CONSOLE_CERT_FILE === undefined;
  return known ? { GATE_CONSOLE_URL: `http://localhost:${port}` } : {};
}

/**
 * A call's page at the console leads to its run in the pages of this stack's engine, which ask for the operator's token themselves. None where
 * any free port will do, or somebody else runs the engine.
 */
export function workflowPages({
  GATE_WORKFLOW_PAGES_PORT: port = '8234',
  GATE_TEMPORAL_NAMESPACE: namespace = 'gate',
  GATE_TEMPORAL_ADDRESS: foreign,
}: Env): Env {
  const known = /^\d{1,5}$/.test(port) && port !== '0' && !foreign;
  return known
    ? {
        GATE_CONSOLE_WORKFLOW_PAGES_URL: `http://127.0.0.1:${port}/namespaces/${encodeURIComponent(namespace)}/workflows`,
      }
    : {};
}

/** Keys, stores and logs are there: without write access nothing can start. */
async function assertStateFolder(stateDir: string): Promise<void> {
  try {
    // Below a folder like /proc, creating folders would never end.
    await writeIn(nearestThere(stateDir));
    mkdirSync(stateDir, { recursive: true, mode: 0o700 });
    await writeIn(stateDir);
  } catch (error) {
    throw new StartError(
      `${stateDir} cannot be written: ${diskFault(error) ?? errorText(error)}; mend that, or set GATE_STATE_DIR to another folder`,
      { cause: error },
    );
  }
}

/** An engine that has to be built first does not delay the report of faults in the settings. */
const HEAD_START_LIMIT_MS = 500;
