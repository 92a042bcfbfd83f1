import type { BRAIN_SETTINGS } from '../../config/brain.js';
import type { BrainModels } from '../../config/brain-models.js';
import type { Config } from '../../config/env.js';
import { inspectLargeInThreads } from '../../adapters/inspection/inspection-threads.js';
import { scanInThreads } from '../../adapters/inspection/scan-threads.js';
import { modelStandings, noModels } from '../../domain/models/model-standing.js';
import { noNarrator } from '../../domain/models/narrator.js';
import { NARRATING } from '../../domain/models/port.js';
import { createInspector, readByRulesAlone } from '../../domain/inspection/inspector.js';
import type { ResponseScanner } from '../../domain/inspection/response-port.js';
import type { HeuristicLevel } from '../../domain/inspection/texts.js';
import { errorText } from '../../domain/errors.js';
import { listenerOf, type Opened, type Opening } from '../plugins/declaration.js';
import { needed } from '../plugins/start.js';
import { createBrainService } from './app.js';
import type { BrainPort } from './port.js';
import { loadPersonas } from '../../adapters/inspection/persona-files.js';

interface Settings {
  readonly own: Config<typeof BRAIN_SETTINGS>;
}

/** Below the two seconds that a worker waits for Brain in a separate process. */
const LIMIT_APART_MS = 1_800;

export async function open({ config: { own }, ...parts }: Opening<Settings>): Promise<Opened<BrainPort>> {
  const { injectionLevel: level, personasDir, maskedParams, models: file, requireQualified: report } = own;
  const personas = await needed('personas', loadPersonas(personasDir ? { directory: personasDir } : {}));
  const byRules = createInspector({ level, personas, maskedParams });
  const opened = file === undefined ? null : await judgingWithModels(file, { report, level }, parts);
  const { narrator = noNarrator, standings = noModels, ...withModels } = opened ?? {};
  const inPlace = opened === null ? byRules : createInspector({ level, personas, maskedParams, ...withModels });
  const inspector = inspectLargeInThreads(inPlace, {
    level,
    personas,
    maskedParams,
    ...(opened && { ofLarge: readByRulesAlone }),
    ...(!parts.together && { limitMs: LIMIT_APART_MS }),
  });
  const threads = scanInThreads({ level });
  const scanner = { ...threads, ...opened?.readAnswers(threads) };
  parts.onStop('threads', 'the threads that inspect', async () => {
    await Promise.all([inspector.close(), threads.close()]);
  });
  return {
    port: { ...scanner, ...inspector, ...narrator },
    // A harmless request that no store sees. It compiles the detectors and loads what they load once; no model is asked for it.
    start: () =>
      byRules.inspect({
        agent_id: 'warm-up',
        method: 'tools/call',
        params: { name: 'list_files' },
        prior_requests: [],
      }),
    listener: () => listenerOf(createBrainService({ ...parts, inspector, scanner, narrator, standings }), own),
    // Starts a thread for the first large request.
    begin() {
      inspector.warm();
      scanner.warm();
    },
  };
}

/** Loaded only where a file of models is set. */
async function judgingWithModels(
  file: BrainModels,
  { report, level }: { readonly report: string | undefined; readonly level: HeuristicLevel },
  { registry, onStop, logger }: Pick<Opening<Settings>, 'registry' | 'onStop' | 'logger'>,
) {
  const [{ openModels }, { modelLanes }, { readByModel }, { createNarrator }, { modelMetrics }] = await Promise.all([
    import('./models.js'),
    import('../../domain/models/model-lanes.js'),
    import('../../domain/models/answer-reader.js'),
    import('../../domain/models/narration.js'),
    import('./metrics.js'),
  ]);
  const qualifying =
    report === undefined ? null : (await import('./qualified.js')).qualifyingReport(report, file.routing, level);
  const metrics = modelMetrics(registry);
  const { models, close } = await openModels(file, { env: process.env, metrics, log: logger });
  onStop('neighbours', 'the connections to models', close);
  const { workloads } = file.routing;
  return {
    provider: modelLanes(models, file.routing),
    readAnswers: (scanner: ResponseScanner): ResponseScanner =>
      workloads.scanResponse === undefined
        ? scanner
        : readByModel(scanner, models, {
            onError: (error) =>
              logger.error({ reason: errorText(error) }, 'a model could not be asked about what a tool answered'),
          }),
    narrator: createNarrator(models, new Set(NARRATING.filter((workload) => workloads[workload] !== undefined))),
    onSaved: metrics.saved,
    standings: modelStandings({ models, routing: file.routing, kinds: file.providers, report: qualifying }),
    qualifiedAt: qualifying?.made_at ?? null,
  };
}
