import type { Config } from '../config/env.js';
import type { DEVELOPMENT_SETTINGS } from '../config/development.js';
import type { ENGINE_SETTINGS } from '../config/shared.js';
import { untilThereIsRoom } from '../adapters/store/writable.js';
import { errorText } from '../domain/errors.js';
import { findTemporal } from './programs/find-program.js';
import { freePort } from './programs/free-port.js';
import { startTemporal, type TemporalServer } from './programs/temporal-server.js';
import { type EngineNews, engineNews } from './engine-news.js';
import { StartError } from '../config/start-error.js';
import { supervise, type Supervised } from '../workers/supervisor.js';
import type { Voice } from './voice.js';

/*
 * Loads little on purpose: the engine's process is begun before the rest of Gate is read from disk, and comes up meanwhile
 * (docs/architecture/start.md).
 */

/** The engine behind the calls: one that this stack runs and keeps running, or one that somebody else runs. */
export interface Engine {
  readonly address: string;
  readonly uiUrl: string | null;
  readonly own: Supervised<TemporalServer> | null;
  readonly finished: Promise<void>;
  onLost(listener: (how: string) => void): void;
  stopNow(): Promise<void>;
}

const foreignEngine = (address: string): Engine => ({
  address,
  uiUrl: null,
  own: null,
  finished: new Promise(() => undefined),
  onLost: () => undefined,
  stopNow: () => Promise.resolve(),
});

/** An engine that is being started. */
export interface EngineStart {
  /** Resolves when its process runs, or when there is none to wait for; never rejects. */
  readonly launched: Promise<void>;
  readonly up: Promise<Engine>;
  readonly news: EngineNews;
  /** Aborts a start, and ends the engine of this stack when it is up. */
  giveUp(why: unknown): void;
}

export interface EngineStartOptions {
  readonly engine: Config<typeof ENGINE_SETTINGS>;
  readonly ports: Pick<Config<typeof DEVELOPMENT_SETTINGS>, 'temporalPort' | 'temporalUiPort'>;
  readonly stateDir: string;
  readonly voice: Voice;
  readonly progress: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
}

/** Starts the engine, unless somebody else runs it. `up` throws StartError with what an operator can fix. */
export function startEngine({
  engine: config,
  ports,
  stateDir,
  voice,
  progress,
  signal,
}: EngineStartOptions): EngineStart {
  let own: Supervised<TemporalServer> | null = null;
  let launched: () => void = () => undefined;
  const launch = new Promise<void>((resolve) => (launched = resolve));
  const givenUp = new AbortController();
  const ended = AbortSignal.any([givenUp.signal, ...(signal ? [signal] : [])]);
  const news = engineNews({
    say: voice.say,
    log: voice.log,
    ...(!config.address && { engine: () => own }),
  });
  const up = bringUp();
  up.then(launched, launched);
  return { launched: launch, up, news, giveUp: (why) => givenUp.abort(why) };

  async function bringUp(): Promise<Engine> {
    if (config.address) return foreignEngine(config.address);
    let lost: (how: string) => void = () => undefined;
    own = await mendable('set GATE_TEMPORAL_PORT / GATE_TEMPORAL_UI_PORT to move the engine', async () => {
      const binary = await unlessAborted(findTemporal({ onProgress: progress }), ended);
      progress('engine: starting the Temporal server');
      const where = {
        port: ports.temporalPort || (await freePort()),
        uiPort: ports.temporalUiPort || (await freePort()),
      };
      let first = true;
      return supervise({
        name: 'the workflow engine',
        say: news.supervisor,
        onLost: (how) => lost(how),
        // On a full disk every life is short, and none is its fault.
        ready: (given) => untilThereIsRoom(stateDir, AbortSignal.any([given, ended])),
        async start(given) {
          const server = await startTemporal({
            binary,
            stateDir,
            ...where,
            namespace: config.namespace,
            // A start that a person waits for is reported step by step; later ones in one line.
            ...(first && { onProgress: progress }),
            onLaunched: launched,
            signal: AbortSignal.any([given, ended]),
          });
          first = false;
          return { handle: server, ended: server.exited, stop: (limitMs) => server.stop(limitMs) };
        },
      });
    });
    const engine = own;
    const server = engine.current();
    if (!server) throw new StartError('the workflow engine ended as soon as it was up');
    return {
      address: server.address,
      uiUrl: server.uiUrl,
      own: engine,
      finished: engine.finished,
      onLost: (listener) => (lost = listener),
      stopNow: async () => {
        await engine.current()?.stop(QUICK_STOP_LIMIT_MS);
      },
    };
  }
}

/** For an engine that does not answer when the stop begins, and for a stop that was requested twice. */
export const QUICK_STOP_LIMIT_MS = 1_000;

/** Building or downloading a program takes minutes, and ends by itself when this process does. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  work.catch(() => undefined);
  signal.throwIfAborted();
  return Promise.race([
    work,
    new Promise<never>((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
    ),
  ]);
}

/**
 * Imports little on purpose: the engine's process is started before the rest of Gate is loaded, and comes up meanwhile
 * (docs/architecture/start.md).
 */
/**
 * A fault that an operator can fix is printed in one line, without a stack; a port in use is printed with the setting that names another
 * one.
 */
export async function mendable<Started>(hint: string, start: () => Promise<Started>): Promise<Started> {
  try {
    return await start();
  } catch (error) {
    const text = errorText(error);
    throw new StartError(/another program/.test(text) ? `${text} (${hint})` : text, { cause: error });
  }
}
