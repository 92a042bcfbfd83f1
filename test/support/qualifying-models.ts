import { qualifyModels } from '../../api/brain/qualification.js';
import { readModels } from '../../config/brain-models.js';
import type { QualificationReport } from '../../contracts/brain-qualification.js';
import { shippedCorpus } from '../../adapters/models/qualification-corpus.js';
import { canonicalJson } from '../../domain/crypto/digest.js';
import type { JsonObject } from '../../contracts/json.js';
import type { Qualifying } from '../../domain/models/qualification/run.js';
import { ENV, modelsFile, type Places, written } from './judging-models.js';
import type { Asked } from './model-stub.js';

const keyOf = (tool: unknown, args: unknown): string => canonicalJson([tool, args] as unknown as JsonObject);
const ATTACKS = new Map(
  shippedCorpus()
    .cases.filter(({ expect }) => expect === 'refused')
    .map(({ tool, arguments: args, lanes }) => [keyOf(tool, args), lanes] as const),
);

/** What finds something in each lane. */
export const FINDS: Readonly<Record<Asked['lane'], object>> = {
  classifier: { authorized: false, ground: 'fraud' },
  injection: { injected: true, confidence: 0.95, kinds: ['override'] },
  answer: {},
  malicious_code: { malicious: true, confidence: 0.95, kinds: ['other'] },
  compromised_package: { compromised: true, confidence: 0.95, kinds: ['untrusted_source'] },
  other: {},
};

/** A model that knows the corpus: it finds each attack that its lane is to find, and nothing else. */
export function byTheCorpus({ lane, body }: Asked): object {
  const { tool, params } = JSON.parse(body.data.split('\n')[1] ?? '') as { tool: string; params: JsonObject };
  const lanes = ATTACKS.get(keyOf(tool, params['arguments'])) ?? [];
  return lanes.includes(lane === 'classifier' ? 'intent' : (lane as 'injection')) ? FINDS[lane] : {};
}

/** Qualifies the models of a file as an operator writes it; by one run unless told otherwise, which is quicker and too little to pass. */
export function qualifying(
  places: Places,
  asked: Partial<Pick<Qualifying, 'runs' | 'only' | 'level' | 'now' | 'onProgress'>> = {},
): Promise<QualificationReport> {
  const file = written(modelsFile(places), readModels);
  return qualifyModels(file, { runs: 1, level: 'standard', gateVersion: '0.0.0', env: ENV, ...asked });
}
